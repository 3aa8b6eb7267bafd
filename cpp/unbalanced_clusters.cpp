#include "clustering.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "cluster_sums.hpp"
#include "csr_flaw.hpp"
#include "node_examples.hpp"
#include "random.hpp"
#include "shared_rows.hpp"

namespace treetop {
namespace {

// Spherical or plain k-means of one node.
class KMeans {
public:
    explicit KMeans(const ClusterOptions& options) : options_(options) {}

    // The cluster of every item, numbered 0..m-1 without gaps, m <= k.
    std::vector<std::int32_t> run(const ClusterRows& rows, std::size_t k, std::uint64_t stream, int threads,
                                  Monitor* monitor) {
        threads_ = threads;
        scratch_.resize(static_cast<std::size_t>(threads));
        sums_.prepare(rows, k, threads);
        clusters_.assign(rows.count(), ClusterSums::kNowhere);
        pick_seeds(k, stream);
        place_centres();
        double before = 0.0;
        for (int iteration = 0; iteration < options_.iterations; ++iteration) {
            if (!assign()) break;
            const double similarity = place_centres() / static_cast<double>(rows.count());
            if (iteration > 0 && similarity - before < kLeastGain) break;
            before = similarity;
            if (monitor != nullptr) monitor->report(iteration + 1, options_.iterations);
        }
        merge_singletons();
        squeeze(k);
        return clusters_;
    }

private:
    void pick_seeds(std::size_t k, std::uint64_t stream) {
        Random random(options_.seed, stream);
        std::vector<std::int32_t> picks(clusters_.size());
        std::iota(picks.begin(), picks.end(), 0);
        random.shuffle(std::span(picks));
        TREETOP_ASSERT(k <= picks.size());
        for (std::size_t c = 0; c < k; ++c) clusters_[static_cast<std::size_t>(picks[c])] = static_cast<std::int32_t>(c);
    }

    // A centre is s / |s| (spherical) or s / n, s being the sum of its n items. Nearest is the mean c for which
    // |x - c|^2 is smallest, so <x, c> - |c|^2 / 2 largest; unit centres need no such handicap. A cluster that is
    // empty stays so. Returns the sum over all items of <x, c>, with c their own centre: sum of |s|^2 * scale.
    double place_centres() {
        sums_.update(clusters_, threads_);
        const auto& squares = sums_.squares();
        scales_.assign(squares.size(), 0.0F);
        handicaps_.assign(squares.size(), 0.0F);
        double similarity = 0.0;
        for (std::size_t c = 0; c < squares.size(); ++c) {
            const auto size = static_cast<double>(sums_.sizes()[c]);
            const double length = options_.spherical ? std::sqrt(squares[c]) : size;
            const double scale = length > 0.0 ? 1.0 / length : 0.0;
            scales_[c] = static_cast<float>(scale);
            similarity += squares[c] * scale;
            if (!options_.spherical) handicaps_[c] = static_cast<float>(-0.5 * squares[c] * scale * scale);
            if (sums_.sizes()[c] == 0) handicaps_[c] = -std::numeric_limits<float>::infinity();
        }
        return similarity;
    }

    // The best of the centres that `allowed` lets through, the smaller number first among equals (by cosine, a zero
    // vector goes to the first); -1 if there is none.
    template <typename Allowed>
    std::int32_t nearest(std::size_t item, ClusterSums::Scratch& scratch, Allowed&& allowed) const {
        sums_.multiply(item, clusters_[item], scratch);
        float highest = 0.0F;
        std::int32_t best = -1;
        for (std::size_t c = 0; c < scales_.size(); ++c) {
            const float similarity = scratch.products[c] * scales_[c] + handicaps_[c];
            if (!allowed(c) || (best >= 0 && !(similarity > highest))) continue;
            highest = similarity;
            best = static_cast<std::int32_t>(c);
        }
        return best;
    }

    // Whether any item moved to another cluster.
    bool assign() {
        next_.resize(clusters_.size());
        parallel_blocks(static_cast<std::int64_t>(clusters_.size()), 256, threads_,
                        [&](std::int64_t begin, std::int64_t end, int worker) {
                            auto& scratch = scratch_[static_cast<std::size_t>(worker)];
                            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                                next_[i] = nearest(i, scratch, [](std::size_t) { return true; });
                            }
                        });
        const bool moved = next_ != clusters_;
        clusters_.swap(next_);
        return moved;
    }

    // A cluster of one item joins the nearest of the larger ones, if there are any.
    void merge_singletons() {
        const auto& sizes = sums_.sizes();
        const auto large = [&](std::size_t c) { return sizes[c] > 1; };
        next_ = clusters_;
        for (std::size_t i = 0; i < clusters_.size(); ++i) {
            if (large(static_cast<std::size_t>(clusters_[i]))) continue;
            const auto best = nearest(i, scratch_[0], large);
            if (best >= 0) next_[i] = best;
        }
        clusters_.swap(next_);
    }

    void squeeze(std::size_t k) {
        std::vector<std::int32_t> number(k, -1);
        for (const auto cluster : clusters_) {
            TREETOP_ASSERT(0 <= cluster && static_cast<std::size_t>(cluster) < k);
            number[static_cast<std::size_t>(cluster)] = 0;
        }
        std::int32_t next = 0;
        for (auto& n : number) {
            if (n == 0) n = next++;
        }
        for (auto& cluster : clusters_) cluster = number[static_cast<std::size_t>(cluster)];
    }

    const ClusterOptions& options_;
    int threads_ = 1;
    ClusterSums sums_;
    std::vector<float> scales_, handicaps_;    // of each sum
    std::vector<std::int32_t> clusters_, next_;
    std::vector<ClusterSums::Scratch> scratch_;  // of each thread
};

struct Node {
    std::int64_t begin = 0;
    std::int64_t end = 0;                // of its items in the order
    std::vector<std::int64_t> children;  // where each ends

    std::int64_t size() const { return end - begin; }
};

// Cuts nodes; one for each thread, since memory is kept from node to node.
class Cutter {
public:
    Cutter(const SharedRows& rows, const std::vector<float>& own_squares, int branching, const ClusterOptions& options)
        : rows_(rows), own_squares_(own_squares), branching_(branching), gatherer_(rows), kmeans_(options) {}

    // Sets the node's children, and puts its part of the order in theirs.
    void cut(Node& node, std::vector<std::int32_t>& order, std::uint64_t stream, int threads, Monitor* monitor) {
        const std::span<std::int32_t> items(order.data() + node.begin, static_cast<std::size_t>(node.size()));
        const auto k = static_cast<std::size_t>(std::max<std::int64_t>(
            std::min<std::int64_t>(branching_, node.size() / 2), 2));
        const auto clusters = kmeans_.run(gathered(items), k, stream, threads, monitor);

        std::vector<std::int64_t> ends(k + 1, 0);
        for (const auto cluster : clusters) ++ends[static_cast<std::size_t>(cluster) + 1];
        for (std::size_t c = 1; c <= k; ++c) ends[c] += ends[c - 1];
        std::vector<std::int32_t> sorted(items.size());
        for (std::size_t i = 0; i < items.size(); ++i) {
            sorted[static_cast<std::size_t>(ends[static_cast<std::size_t>(clusters[i])]++)] = items[i];
        }
        std::copy(sorted.begin(), sorted.end(), items.begin());
        const auto children = static_cast<std::size_t>(*std::max_element(clusters.begin(), clusters.end())) + 1;
        for (std::size_t c = 0; c < children; ++c) node.children.push_back(node.begin + ends[c]);
    }

private:
    ClusterRows gathered(std::span<const std::int32_t> items) {
        if (static_cast<std::int64_t>(items.size()) == rows_.rows()) {  // the root, as it is
            return {rows_.indptr, rows_.indices, rows_.values, own_squares_, rows_.shared_features};
        }
        examples_.documents.assign(items.begin(), items.end());
        gatherer_.gather(examples_);
        return {examples_.indptr, examples_.indices, examples_.values, examples_.own_squares, examples_.features()};
    }

    const SharedRows& rows_;
    const std::vector<float>& own_squares_;
    int branching_;
    NodeGatherer gatherer_;
    NodeExamples examples_;
    KMeans kmeans_;
};

// A part of the work, reported as the range [done, done + size) of a whole.
class PartMonitor : public Monitor {
public:
    PartMonitor(Monitor* whole, std::int64_t done, std::int64_t size, std::int64_t total)
        : whole_(whole), done_(done), size_(size), total_(total) {}

    void report(std::int64_t done, std::int64_t total) override {
        if (whole_ != nullptr) whole_->report(done_ + size_ * done / total, total_);
    }

private:
    Monitor* whole_;
    std::int64_t done_, size_, total_;
};

}  // namespace

Clusters unbalanced_clusters(const Csr& vectors, int branching, std::int64_t leaf_size, int depth,
                             const ClusterOptions& options, Monitor* monitor) {
    TREETOP_ASSERT(sound(vectors) && (check(options), true));
    Clusters result;
    result.order.resize(static_cast<std::size_t>(vectors.rows));
    std::iota(result.order.begin(), result.order.end(), 0);
    const int threads = std::max(options.threads, 1);
    const SharedRows rows(vectors, threads);
    const std::vector<float> own_squares = rows.own_squares();
    std::vector<Cutter> cutters;
    for (int worker = 0; worker < threads; ++worker) cutters.emplace_back(rows, own_squares, branching, options);
    std::vector<std::int64_t> borders{0, vectors.rows};
    std::uint64_t stream = 0;  // names the random choices of a node

    for (int level = 0; level < depth; ++level) {
        std::vector<Node> nodes;
        std::vector<std::size_t> to_cut;
        std::int64_t items = 0;
        for (std::size_t p = 0; p + 1 < borders.size(); ++p) {
            nodes.push_back({borders[p], borders[p + 1], {}});
            if (nodes[p].size() <= std::max<std::int64_t>(leaf_size, 2)) continue;
            to_cut.push_back(p);
            items += nodes[p].size();
        }
        if (to_cut.empty()) break;

        // A node with a large share of the level is spread over all threads; the others, the larger ones first,
        // are cut side by side.
        std::stable_sort(to_cut.begin(), to_cut.end(),
                         [&](std::size_t a, std::size_t b) { return nodes[a].size() > nodes[b].size(); });
        std::int64_t done = level * vectors.rows;
        std::size_t next = 0;
        for (; next < to_cut.size() && nodes[to_cut[next]].size() * 4 * threads >= items; ++next) {
            Node& node = nodes[to_cut[next]];
            PartMonitor part(monitor, done, node.size(), depth * vectors.rows);
            cutters[0].cut(node, result.order, stream + to_cut[next], threads, &part);
            done += node.size();
        }
        PartMonitor part(monitor, done, (level + 1) * vectors.rows - done, depth * vectors.rows);
        parallel_for(
            static_cast<std::int64_t>(to_cut.size() - next), threads,
            [&](std::int64_t index, int worker) {
                const std::size_t p = to_cut[next + static_cast<std::size_t>(index)];
                cutters[static_cast<std::size_t>(worker)].cut(nodes[p], result.order, stream + p, 1, nullptr);
            },
            &part);

        std::vector<std::int64_t> offsets{0};
        borders.assign(1, 0);
        for (const Node& node : nodes) {
            borders.insert(borders.end(), node.children.begin(), node.children.end());
            if (node.children.empty()) borders.push_back(node.end);
            offsets.push_back(static_cast<std::int64_t>(borders.size()) - 1);
        }
        result.offsets.push_back(std::move(offsets));
        stream += nodes.size();
    }
    result.offsets.push_back(borders);
    return result;
}

}  // namespace treetop

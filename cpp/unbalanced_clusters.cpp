#include "clustering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "random.hpp"

namespace treetop {
namespace {

// Spherical or plain k-means on one node. Centres are kept feature-major over the features the node uses, so that
// one non-zero of an item meets all k centres in one contiguous run.
class KMeans {
public:
    KMeans(const Csr& vectors, const ClusterOptions& options, std::vector<std::int32_t>& local)
        : vectors_(vectors), options_(options), local_(local) {}

    // The cluster of every item, numbered 0..m-1 without gaps, m <= k.
    std::vector<std::int32_t> run(std::span<const std::int32_t> items, int k, std::uint64_t stream) {
        items_ = items;
        k_ = static_cast<std::size_t>(k);
        number_features();
        seed_centres(stream);
        std::vector<std::int32_t> assignment(items.size(), -1), previous;
        for (int iteration = 0; iteration < options_.iterations && assignment != previous; ++iteration) {
            previous = assignment;
            assign(assignment);
            move_centres(assignment);
        }
        merge_singletons(assignment);
        squeeze(assignment);
        for (const auto feature : used_) local_[static_cast<std::size_t>(feature)] = -1;
        return assignment;
    }

private:
    void number_features() {
        used_.clear();
        for (const auto item : items_) {
            for (const auto feature : vectors_.row(item)) {
                auto& number = local_[static_cast<std::size_t>(feature)];
                if (number < 0) {
                    number = static_cast<std::int32_t>(used_.size());
                    used_.push_back(feature);
                }
            }
        }
    }

    void seed_centres(std::uint64_t stream) {
        Random random(options_.seed, stream);
        std::vector<std::int32_t> picks(items_.begin(), items_.end());
        random.shuffle(std::span(picks));
        centres_.assign(used_.size() * k_, 0.0F);
        for (std::size_t j = 0; j < k_; ++j) add_to_centre(picks[j], j);
        set_handicaps();
    }

    // Nearest centre: |x - c|^2 is smallest where <x, c> - |c|^2 / 2 is largest. Unit centres need no handicap.
    void set_handicaps() {
        handicaps_.assign(k_, 0.0F);
        if (options_.spherical) return;
        const auto squares = squared_norms();
        for (std::size_t c = 0; c < k_; ++c) handicaps_[c] = static_cast<float>(-0.5 * squares[c]);
    }

    std::vector<double> squared_norms() const {
        std::vector<double> squares(k_, 0.0);
        for (std::size_t f = 0; f < used_.size(); ++f) {
            for (std::size_t c = 0; c < k_; ++c) squares[c] += double{centres_[f * k_ + c]} * double{centres_[f * k_ + c]};
        }
        return squares;
    }

    void add_to_centre(std::int32_t item, std::size_t centre) {
        const auto ids = vectors_.row(item);
        const auto values = vectors_.values(item);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            centres_[static_cast<std::size_t>(local_[static_cast<std::size_t>(ids[j])]) * k_ + centre] += values[j];
        }
    }

    void similarities(std::int32_t item, std::vector<float>& to) const {
        to = handicaps_;
        const auto ids = vectors_.row(item);
        const auto values = vectors_.values(item);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            const float* run = &centres_[static_cast<std::size_t>(local_[static_cast<std::size_t>(ids[j])]) * k_];
            for (std::size_t c = 0; c < k_; ++c) to[c] += values[j] * run[c];
        }
    }

    // Best centre, the smaller number first among equals: by cosine a zero vector goes to cluster 0.
    void assign(std::vector<std::int32_t>& assignment) const {
        const auto count = static_cast<std::int64_t>(items_.size());
        parallel_blocks(count, 512, options_.threads, [&](std::int64_t begin, std::int64_t end, int) {
            std::vector<float> similarity;
            for (std::int64_t i = begin; i < end; ++i) {
                similarities(items_[static_cast<std::size_t>(i)], similarity);
                const auto best = std::max_element(similarity.begin(), similarity.end());
                assignment[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(best - similarity.begin());
            }
        });
    }

    void move_centres(const std::vector<std::int32_t>& assignment) {
        std::fill(centres_.begin(), centres_.end(), 0.0F);
        std::vector<double> scale(k_, 0.0);
        for (std::size_t i = 0; i < items_.size(); ++i) {
            add_to_centre(items_[i], static_cast<std::size_t>(assignment[i]));
            scale[static_cast<std::size_t>(assignment[i])] += 1.0;
        }
        if (options_.spherical) {
            scale = squared_norms();
            for (auto& s : scale) s = std::sqrt(s);
        }
        for (auto& s : scale) s = s > 0.0 ? 1.0 / s : 0.0;
        for (std::size_t f = 0; f < used_.size(); ++f) {
            for (std::size_t c = 0; c < k_; ++c) {
                centres_[f * k_ + c] = static_cast<float>(centres_[f * k_ + c] * scale[c]);
            }
        }
        set_handicaps();
    }

    void merge_singletons(std::vector<std::int32_t>& assignment) const {
        std::vector<std::int64_t> sizes(k_, 0);
        for (const auto cluster : assignment) ++sizes[static_cast<std::size_t>(cluster)];
        if (std::count_if(sizes.begin(), sizes.end(), [](auto size) { return size > 1; }) == 0) return;
        std::vector<float> similarity;
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (sizes[static_cast<std::size_t>(assignment[i])] != 1) continue;
            similarities(items_[i], similarity);
            std::int32_t best = -1;
            for (std::size_t c = 0; c < k_; ++c) {
                if (sizes[c] > 1 && (best < 0 || similarity[c] > similarity[static_cast<std::size_t>(best)])) {
                    best = static_cast<std::int32_t>(c);
                }
            }
            assignment[i] = best;
        }
    }

    void squeeze(std::vector<std::int32_t>& assignment) const {
        std::vector<std::int32_t> number(k_, -1);
        for (const auto cluster : assignment) number[static_cast<std::size_t>(cluster)] = 0;
        std::int32_t next = 0;
        for (auto& n : number) {
            if (n == 0) n = next++;
        }
        for (auto& cluster : assignment) cluster = number[static_cast<std::size_t>(cluster)];
    }

    const Csr& vectors_;
    const ClusterOptions& options_;
    std::vector<std::int32_t>& local_;  // feature -> number in this node, -1 between uses
    std::span<const std::int32_t> items_;
    std::size_t k_ = 0;
    std::vector<std::int32_t> used_;
    std::vector<float> centres_;
    std::vector<float> handicaps_;  // of each centre, added to its inner products
};

}  // namespace

Clusters unbalanced_clusters(const Csr& vectors, int branching, std::int64_t leaf_size, int depth,
                             const ClusterOptions& options, Monitor* monitor) {
    Clusters result;
    result.order.resize(static_cast<std::size_t>(vectors.rows));
    std::iota(result.order.begin(), result.order.end(), 0);
    std::vector<std::int32_t> local(static_cast<std::size_t>(vectors.cols), -1);
    std::vector<std::int64_t> borders{0, vectors.rows};
    std::uint64_t stream = 0;

    for (int level = 0; level < depth; ++level) {
        std::vector<std::int64_t> offsets{0}, new_borders{0};
        bool any_cut = false;
        for (std::size_t p = 0; p + 1 < borders.size(); ++p, ++stream) {
            const std::span<std::int32_t> items(result.order.data() + borders[p],
                                                static_cast<std::size_t>(borders[p + 1] - borders[p]));
            const auto n = static_cast<std::int64_t>(items.size());
            if (n <= leaf_size || n <= 2) {
                new_borders.push_back(borders[p + 1]);
            } else {
                any_cut = true;
                const int k = static_cast<int>(std::min<std::int64_t>(branching, n / 2));
                const auto assignment = KMeans(vectors, options, local).run(items, std::max(k, 2), stream);
                std::vector<std::size_t> by_cluster(items.size());
                std::iota(by_cluster.begin(), by_cluster.end(), std::size_t{0});
                std::stable_sort(by_cluster.begin(), by_cluster.end(),
                                 [&](std::size_t a, std::size_t b) { return assignment[a] < assignment[b]; });
                std::vector<std::int32_t> reordered;
                reordered.reserve(items.size());
                for (std::size_t i = 0; i < by_cluster.size(); ++i) {
                    reordered.push_back(items[by_cluster[i]]);
                    const bool last = i + 1 == by_cluster.size();
                    if (last || assignment[by_cluster[i]] != assignment[by_cluster[i + 1]]) {
                        new_borders.push_back(borders[p] + static_cast<std::int64_t>(i) + 1);
                    }
                }
                std::copy(reordered.begin(), reordered.end(), items.begin());
            }
            offsets.push_back(static_cast<std::int64_t>(new_borders.size()) - 1);
            if (monitor != nullptr) monitor->report(borders[p + 1] + level * vectors.rows, depth * vectors.rows);
        }
        if (!any_cut) break;
        result.offsets.push_back(std::move(offsets));
        borders.swap(new_borders);
    }
    result.offsets.push_back(borders);
    return result;
}

}  // namespace treetop

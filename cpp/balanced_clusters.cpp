#include "clustering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

#include "random.hpp"

namespace treetop {
namespace {

struct Cut {  // one node still to be cut into `children` parts
    std::int64_t begin;
    std::int64_t end;
    std::int64_t children;
    std::uint64_t stream;  // names the random choices of this node
};

// Interleaved sums of the left and the right half: centres[2f] and centres[2f+1]. Always zero between uses.
using Centres = std::vector<float>;

class Bisection {
public:
    Bisection(const Csr& vectors, const ClusterOptions& options, int threads, Centres& centres)
        : vectors_(vectors), options_(options), threads_(threads), centres_(centres) {}

    // Reorders items so that the first `left` belong together, each half in ascending order of id.
    void run(std::span<std::int32_t> items, std::int64_t left, std::uint64_t stream) {
        const auto n = static_cast<std::int64_t>(items.size());
        scored_.resize(items.size());
        Random random(options_.seed, stream);
        const auto right_seed = random.below(static_cast<std::uint32_t>(n));
        auto left_seed = random.below(static_cast<std::uint32_t>(n - 1));
        if (left_seed >= right_seed) ++left_seed;

        std::vector<std::int32_t> first{items[left_seed]}, second{items[right_seed]};
        for (int iteration = 0; iteration < options_.iterations; ++iteration) {
            add(first, 0);
            add(second, 1);
            score(items, first, second);
            clear(first);
            clear(second);
            // (score, id) is a total order, so the halves do not depend on how they are selected.
            std::nth_element(scored_.begin(), scored_.begin() + left, scored_.end());
            std::vector<std::int32_t> new_first, new_second;
            new_first.reserve(static_cast<std::size_t>(left));
            new_second.reserve(static_cast<std::size_t>(n - left));
            for (std::int64_t i = 0; i < n; ++i) (i < left ? new_first : new_second).push_back(scored_[i].id);
            std::sort(new_first.begin(), new_first.end());
            const bool settled = new_first == first;
            first.swap(new_first);
            second.swap(new_second);
            if (settled) break;
        }
        std::sort(second.begin(), second.end());
        std::copy(first.begin(), first.end(), items.begin());
        std::copy(second.begin(), second.end(), items.begin() + left);
    }

private:
    struct Scored {
        float score;
        std::int32_t id;
        bool operator<(const Scored& other) const {
            return score != other.score ? score < other.score : id < other.id;
        }
    };

    // Each task owns a range of features, so every sum runs over the members in the same order.
    void add(const std::vector<std::int32_t>& members, int side) {
        const std::int64_t parts = members.size() < 1000 ? 1 : threads_;
        parallel_for(parts, threads_, [&](std::int64_t part, int) {
            const auto from = static_cast<std::int32_t>(vectors_.cols * part / parts);
            const auto to = static_cast<std::int32_t>(vectors_.cols * (part + 1) / parts);
            for (const auto member : members) {
                const auto ids = vectors_.row(member);
                const auto values = vectors_.values(member);
                auto j = static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), from) - ids.begin());
                for (; j < ids.size() && ids[j] < to; ++j) {
                    centres_[2 * static_cast<std::size_t>(ids[j]) + static_cast<std::size_t>(side)] += values[j];
                }
            }
        });
    }

    void clear(const std::vector<std::int32_t>& members) {
        for (const auto member : members) {
            for (const auto id : vectors_.row(member)) {
                centres_[2 * static_cast<std::size_t>(id)] = 0.0F;
                centres_[2 * static_cast<std::size_t>(id) + 1] = 0.0F;
            }
        }
    }

    // score = <right, x> / |right| - <left, x> / |left|, with |.| the norm (spherical) or the count.
    // The norms come for free: |sum|^2 is the sum of the members' own products with it.
    void score(std::span<const std::int32_t> items, const std::vector<std::int32_t>& first,
               const std::vector<std::int32_t>& second) {
        double left_scale = 1.0 / static_cast<double>(first.size());
        double right_scale = 1.0 / static_cast<double>(second.size());
        if (options_.spherical) {
            left_scale = inverse_norm(first, 0);
            right_scale = inverse_norm(second, 1);
        }
        parallel_blocks(static_cast<std::int64_t>(items.size()), 2048, threads_,
                        [&](std::int64_t begin, std::int64_t end, int) {
                            for (std::int64_t i = begin; i < end; ++i) {
                                const auto item = items[static_cast<std::size_t>(i)];
                                const double value = product(item, 1) * right_scale - product(item, 0) * left_scale;
                                // NaN, from values that overflow, has no place in an order.
                                const auto score = std::isnan(value) ? 0.0F : static_cast<float>(value);
                                scored_[static_cast<std::size_t>(i)] = {score, item};
                            }
                        });
    }

    double product(std::int32_t item, int side) const {
        const auto ids = vectors_.row(item);
        const auto values = vectors_.values(item);
        double sum = 0.0;
        for (std::size_t j = 0; j < ids.size(); ++j) {
            sum += double{values[j]} * centres_[2 * static_cast<std::size_t>(ids[j]) + static_cast<std::size_t>(side)];
        }
        return sum;
    }

    double inverse_norm(const std::vector<std::int32_t>& members, int side) {
        products_.resize(members.size());
        parallel_blocks(static_cast<std::int64_t>(members.size()), 2048, threads_,
                        [&](std::int64_t begin, std::int64_t end, int) {
                            for (std::int64_t i = begin; i < end; ++i) {
                                products_[static_cast<std::size_t>(i)] = product(members[static_cast<std::size_t>(i)], side);
                            }
                        });
        const double square = std::accumulate(products_.begin(), products_.end(), 0.0);
        return square > 0.0 ? 1.0 / std::sqrt(square) : 0.0;
    }

    const Csr& vectors_;
    const ClusterOptions& options_;
    int threads_;
    Centres& centres_;
    std::vector<Scored> scored_;
    std::vector<double> products_;
};

}  // namespace

Clusters balanced_clusters(const Csr& vectors, const std::vector<std::int64_t>& sizes, const ClusterOptions& options,
                           Monitor* monitor) {
    Clusters result;
    result.order.resize(static_cast<std::size_t>(vectors.rows));
    std::iota(result.order.begin(), result.order.end(), 0);

    const int threads = std::max(options.threads, 1);
    std::vector<Centres> centres(static_cast<std::size_t>(threads));
    std::vector<std::int64_t> borders{0, vectors.rows};  // of the nodes of the current level, in `order`
    std::uint64_t stream = 0;
    const std::int64_t total = sizes.empty() ? 0 : sizes.back();

    for (const auto size : sizes) {
        const auto parents = static_cast<std::int64_t>(borders.size()) - 1;
        if (size < parents || size > vectors.rows) throw std::invalid_argument("level sizes must grow up to the label count");
        std::vector<std::int64_t> offsets{0};
        std::vector<Cut> cuts;
        for (std::int64_t p = 0; p < parents; ++p) {
            // An even share of the children, but no node gets more of them than it has labels, or none at all.
            const std::int64_t least = std::max(offsets[p] + 1, size - (vectors.rows - borders[p + 1]));
            const std::int64_t most = std::min(offsets[p] + borders[p + 1] - borders[p], size - (parents - p - 1));
            offsets.push_back(std::clamp(size * (p + 1) / parents, least, most));
            cuts.push_back({borders[p], borders[p + 1], offsets[p + 1] - offsets[p], stream++});
        }

        // Waves of bisections: wide waves run node beside node, narrow ones spread one node over all threads.
        std::vector<std::int64_t> new_borders{0};
        while (!cuts.empty()) {
            const bool wide = static_cast<std::int64_t>(cuts.size()) >= 4 * threads;
            auto bisect = [&](std::int64_t index, int worker, int inner_threads) {
                const Cut& cut = cuts[static_cast<std::size_t>(index)];
                if (cut.children < 2) return;
                Centres& own = centres[static_cast<std::size_t>(worker)];
                own.resize(2 * static_cast<std::size_t>(vectors.cols));
                const std::int64_t n = cut.end - cut.begin;
                const std::int64_t left = n * (cut.children / 2) / cut.children;
                Bisection(vectors, options, inner_threads, own)
                    .run({result.order.data() + cut.begin, static_cast<std::size_t>(n)}, left, cut.stream);
            };
            const auto count = static_cast<std::int64_t>(cuts.size());
            if (wide) {
                parallel_for(count, threads, [&](std::int64_t index, int worker) { bisect(index, worker, 1); });
            } else {
                for (std::int64_t index = 0; index < count; ++index) bisect(index, 0, threads);
            }
            std::vector<Cut> next;
            for (const Cut& cut : cuts) {
                if (cut.children < 2) {
                    new_borders.push_back(cut.end);
                    continue;
                }
                const std::int64_t left_children = cut.children / 2;
                const std::int64_t middle = cut.begin + (cut.end - cut.begin) * left_children / cut.children;
                next.push_back({cut.begin, middle, left_children, stream++});
                next.push_back({middle, cut.end, cut.children - left_children, stream++});
            }
            cuts.swap(next);
        }
        std::sort(new_borders.begin(), new_borders.end());
        borders.swap(new_borders);
        result.offsets.push_back(std::move(offsets));
        if (monitor != nullptr) monitor->report(size, total);
    }
    result.offsets.push_back(borders);  // the last level's clusters own the labels themselves
    return result;
}

}  // namespace treetop

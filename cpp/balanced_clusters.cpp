#include "clustering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>

#include "csr_flaw.hpp"
#include "random.hpp"
#include "require.hpp"
#include "shared_rows.hpp"

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

// Balanced 2-means of one node. An iteration reads every vector once: both products of an item with the sums
// come from the same cache lines, and the sums' norms from the products, |sum|^2 = sum of its members' products.
class Bisection {
public:
    Bisection(const SharedRows& vectors, const std::vector<float>& own_squares, const ClusterOptions& options,
              int threads, Centres& centres)
        : vectors_(vectors), own_squares_(own_squares), options_(options), threads_(threads), centres_(centres) {}

    // Reorders items so that the first `left` belong together, each half in ascending order of id.
    void run(std::span<std::int32_t> items, std::int64_t left, std::uint64_t stream) {
        items_ = items;
        const auto n = items.size();
        TREETOP_ASSERT(n >= 2 && 0 < left && left < static_cast<std::int64_t>(n));
        products_.resize(n);
        order_.resize(n);
        side_.assign(n, kNowhere);
        Random random(options_.seed, stream);
        const auto right_seed = random.below(static_cast<std::uint32_t>(n));
        auto left_seed = random.below(static_cast<std::uint32_t>(n - 1));
        if (left_seed >= right_seed) ++left_seed;
        move(left_seed, 0);
        move(right_seed, 1);

        double before = -1.0;
        for (int iteration = 0; iteration < options_.iterations; ++iteration) {
            const double similarity = score() / static_cast<double>(n);
            split(static_cast<std::size_t>(left));
            std::size_t moved = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const auto item = static_cast<std::size_t>(order_[i].place);
                const signed char side = i < static_cast<std::size_t>(left) ? 0 : 1;
                if (side_[item] == side) continue;
                move(item, side);
                ++moved;
            }
            if (moved == 0 || (iteration > 0 && similarity - before < kLeastGain)) break;
            before = similarity;
        }
        finish();
    }

private:
    static constexpr signed char kNowhere = -1;

    struct Products {
        float left, right;
    };
    struct Scored {
        float score;
        std::int32_t place;  // in items_, which ascend: ties go by smaller id
        bool operator<(const Scored& other) const {
            return score != other.score ? score < other.score : place < other.place;
        }
    };

    void move(std::size_t item, signed char side) {
        const auto row = static_cast<std::size_t>(items_[item]);
        const bool known = side_[item] != kNowhere;
        for (auto j = vectors_.indptr[row]; j < vectors_.indptr[row + 1]; ++j) {
            const auto at = 2 * static_cast<std::size_t>(vectors_.indices[static_cast<std::size_t>(j)]);
            TREETOP_ASSERT(at + 1 < centres_.size());
            const auto to = static_cast<std::size_t>(side);
            const float value = vectors_.values[static_cast<std::size_t>(j)];
            centres_[at + to] += value;
            if (known) centres_[at + 1 - to] -= value;
        }
        side_[item] = side;
    }

    // score = <right, x> / |right| - <left, x> / |left|, with |.| the norm (spherical) or the count.
    // Returns the sum over all members of the similarity with their own centre.
    double score() {
        parallel_blocks(static_cast<std::int64_t>(items_.size()), 2048, threads_,
                        [&](std::int64_t begin, std::int64_t end, int) {
                            for (std::int64_t i = begin; i < end; ++i) multiply(static_cast<std::size_t>(i));
                        });
        double squares[2] = {0.0, 0.0};
        std::int64_t counts[2] = {0, 0};
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (side_[i] == kNowhere) continue;
            squares[side_[i]] += double{side_[i] == 0 ? products_[i].left : products_[i].right};
            ++counts[side_[i]];
        }
        double scales[2];
        double similarity = 0.0;
        for (int side = 0; side < 2; ++side) {
            const double size = options_.spherical ? std::sqrt(std::max(squares[side], 0.0))
                                                   : static_cast<double>(counts[side]);
            scales[side] = size > 0.0 ? 1.0 / size : 0.0;
            similarity += squares[side] * scales[side];
        }
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const double value = double{products_[i].right} * scales[1] - double{products_[i].left} * scales[0];
            // NaN, from values that overflow, cannot be ordered.
            order_[i] = {std::isnan(value) ? 0.0F : static_cast<float>(value), static_cast<std::int32_t>(i)};
        }
        return similarity;
    }

    void multiply(std::size_t item) {
        const auto row = static_cast<std::size_t>(items_[item]);
        const auto begin = static_cast<std::size_t>(vectors_.indptr[row]);
        const auto end = static_cast<std::size_t>(vectors_.indptr[row + 1]);
        double left = 0.0, right = 0.0;
        for (std::size_t j = begin; j < end; ++j) {
            const float* at = centres_.data() + 2 * static_cast<std::size_t>(vectors_.indices[j]);
            const double value = vectors_.values[j];
            left += value * at[0];
            right += value * at[1];
        }
        if (side_[item] == 0) left += double{own_squares_[row]};
        if (side_[item] == 1) right += double{own_squares_[row]};
        products_[item] = {static_cast<float>(left), static_cast<float>(right)};
    }

    // (score, id) is a total order, so the halves do not depend on how they are selected.
    void split(std::size_t left) {
        std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(left), order_.end());
    }

    void finish() {
        for (const auto item : items_) {
            const auto row = static_cast<std::size_t>(item);
            for (auto j = vectors_.indptr[row]; j < vectors_.indptr[row + 1]; ++j) {
                const auto at = 2 * static_cast<std::size_t>(vectors_.indices[static_cast<std::size_t>(j)]);
                centres_[at] = centres_[at + 1] = 0.0F;
            }
        }
        sorted_.clear();
        for (int side = 0; side < 2; ++side) {
            for (std::size_t i = 0; i < items_.size(); ++i) {
                if (side_[i] == side) sorted_.push_back(items_[i]);
            }
        }
        TREETOP_ASSERT(sorted_.size() == items_.size());
        std::copy(sorted_.begin(), sorted_.end(), items_.begin());
    }

    const SharedRows& vectors_;
    const std::vector<float>& own_squares_;
    const ClusterOptions& options_;
    int threads_;
    Centres& centres_;
    std::span<std::int32_t> items_;
    std::vector<Products> products_;
    std::vector<Scored> order_;
    std::vector<signed char> side_;
    std::vector<std::int32_t> sorted_;
};

}  // namespace

void check(const ClusterOptions& options) { require(options.iterations >= 1, "clustering needs at least one iteration"); }

Clusters balanced_clusters(const Csr& vectors, const std::vector<std::int64_t>& sizes, const ClusterOptions& options,
                           Monitor* monitor) {
    TREETOP_ASSERT(sound(vectors) && (check(options), true));
    Clusters result;
    result.order.resize(static_cast<std::size_t>(vectors.rows));
    std::iota(result.order.begin(), result.order.end(), 0);

    const int threads = std::max(options.threads, 1);
    const SharedRows rows(vectors, threads);
    const std::vector<float> own_squares = rows.own_squares();
    std::vector<Centres> centres(static_cast<std::size_t>(threads));
    std::vector<std::int64_t> borders{0, vectors.rows};  // of the nodes of the current level, in `order`
    std::uint64_t stream = 0;
    const std::int64_t total = sizes.empty() ? 0 : sizes.back();

    for (const auto size : sizes) {
        const auto parents = static_cast<std::int64_t>(borders.size()) - 1;
        if (size < parents || size > vectors.rows) throw std::invalid_argument("level sizes must not decrease or exceed the number of labels");
        std::vector<std::int64_t> offsets{0};
        std::vector<Cut> cuts;
        for (std::int64_t p = 0; p < parents; ++p) {
            // An even share of the children, but at least one, and no more than the node has labels.
            const std::int64_t least = std::max(offsets[p] + 1, size - (vectors.rows - borders[p + 1]));
            const std::int64_t most = std::min(offsets[p] + borders[p + 1] - borders[p], size - (parents - p - 1));
            TREETOP_ASSERT(least <= most);
            offsets.push_back(std::clamp(size * (p + 1) / parents, least, most));
            cuts.push_back({borders[p], borders[p + 1], offsets[p + 1] - offsets[p], stream++});
        }

        // Waves of bisections: wide waves process nodes in parallel, narrow ones spread one node over all threads.
        std::vector<std::int64_t> new_borders{0};
        while (!cuts.empty()) {
            const bool wide = static_cast<std::int64_t>(cuts.size()) >= 4 * threads;
            auto bisect = [&](std::int64_t index, int worker, int inner_threads) {
                const Cut& cut = cuts[static_cast<std::size_t>(index)];
                if (cut.children < 2) return;
                Centres& own = centres[static_cast<std::size_t>(worker)];
                own.resize(2 * static_cast<std::size_t>(rows.shared_features));
                const std::int64_t n = cut.end - cut.begin;
                const std::int64_t left = n * (cut.children / 2) / cut.children;
                Bisection(rows, own_squares, options, inner_threads, own)
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

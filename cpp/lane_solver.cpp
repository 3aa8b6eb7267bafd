#include "lane_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numeric>

#include "random.hpp"
#include "simd.hpp"

namespace treetop {
namespace {

// An example rests when its gradients are below this share of the tolerance, ...
constexpr double kRest = 0.5;
// ... for so many passes at most.
constexpr int kRestPasses = 8;

// What the kernels index with, as they cannot check it themselves.
[[maybe_unused]] bool sound(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels) {
    const auto within = [](std::int64_t last) { return [last](std::int32_t id) { return 0 <= id && id < last; }; };
    const auto entries = static_cast<std::int64_t>(node.indices.size());
    return static_cast<std::int64_t>(node.indptr.size()) == node.count() + 1 && node.indptr.back() == entries &&
           std::ranges::is_sorted(node.indptr) && std::ranges::all_of(node.indices, within(node.features())) &&
           node.own_indptr.size() == node.indptr.size() && std::ranges::is_sorted(node.own_indptr) &&
           0 <= listed && listed <= node.count() && labels.size() <= static_cast<std::size_t>(kLanes) &&
           std::ranges::all_of(labels, [&](const LaneLabel& label) {
               return label.costs.size() == label.positives.size() &&
                      std::ranges::all_of(label.positives, within(node.count()));
           });
}

std::size_t at(std::int64_t row, std::size_t lane) { return static_cast<std::size_t>(row) * kLanes + lane; }

}  // namespace

float* LaneSolver::room(Buffer& buffer, std::size_t& capacity, std::size_t size) {
    if (capacity < size) {
        buffer.reset();
        buffer.reset(static_cast<float*>(::operator new[](size * sizeof(float), std::align_val_t(64))));
        capacity = size;
    }
    return buffer.get();
}

void LaneSolver::solve(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
                       const SolverOptions& options, double threshold, std::uint64_t seed,
                       std::vector<WeightEntry>& entries) {
    TREETOP_ASSERT(sound(node, listed, labels));
    set_up(node, listed, labels, options);
    start(node, listed, labels, options);
    descend(node, options, seed);
    collect(node, labels, static_cast<float>(threshold), entries);
}

void LaneSolver::set_up(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
                        const SolverOptions& options) {
    const auto n = static_cast<std::size_t>(node.count());
    const auto features = static_cast<std::size_t>(node.features());
    weights_ = room(weights_memory_, weights_capacity_, features * kLanes);
    duals_ = room(duals_memory_, duals_capacity_, n * kLanes);
    diagonals_ = room(diagonals_memory_, diagonals_capacity_, n * kLanes);
    std::fill(weights_, weights_ + features * kLanes, 0.0F);
    bias_ = static_cast<float>(std::max(options.bias, 0.0));
    squares_.resize(n);
    for (std::size_t i = 0; i < n; ++i) squares_[i] = node.squares[i] + bias_ * bias_;
    worst_.resize(n);
    everyone_.resize(n);
    std::iota(everyone_.begin(), everyone_.end(), 0);

    for (std::size_t i = 0; i < static_cast<std::size_t>(listed); ++i) {
        const auto negative = static_cast<float>(-0.5 / (options.cost_negative * double{node.weights[i]}));
        std::fill(diagonals_ + i * kLanes, diagonals_ + (i + 1) * kLanes, negative);
    }
    std::fill(diagonals_ + static_cast<std::size_t>(listed) * kLanes, diagonals_ + n * kLanes, 0.0F);
    for (std::size_t lane = 0; lane < labels.size(); ++lane) {
        const auto& label = labels[lane];
        for (std::size_t i = 0; i < label.positives.size(); ++i) {
            const auto position = static_cast<std::size_t>(label.positives[i]);
            const double cost = options.cost_positive * double{label.costs[i]} * double{node.weights[position]};
            diagonals_[at(label.positives[i], lane)] = cost > 0.0 ? static_cast<float>(0.5 / cost) : 0.0F;
        }
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) live_[lane] = lane < labels.size() ? 1.0F : 0.0F;
}

// Starts from the best duals that are equal within a class but for the weights w_i: a_p w_i for all positives P, a_n w_i
// for all negatives N. With S_P, S_N the weighted sums of their vectors (constant feature included), |P|, |N| the sums of
// their weights and D_p = sum_P w_i^2 D_i / |P| (D_n alike), the gradients vanish on weighted average where
//     a_p (S_P.S_P / |P| + D_p) - a_n  S_P.S_N / |P|        = 1
//   - a_p  S_P.S_N / |N|        + a_n (S_N.S_N / |N| + D_n) = 1.
// From there most examples are near their place at once; from zero the first ones visited overshoot.
void LaneSolver::start(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
                       const SolverOptions& options) {
    alignas(64) float scale[kLanes] = {}, shift[kLanes] = {};
    float positive[kLanes] = {};
    const double bias_square = double{bias_} * bias_;
    const double diagonal_n = 0.5 / options.cost_negative;
    const bool plain = listed == node.count();  // else the sums hold examples that are no negatives
    const double everything = std::accumulate(node.weights.begin(), node.weights.end(), 0.0);
    for (std::size_t lane = 0; lane < labels.size(); ++lane) {
        constants_[lane] = 0.0F;
        const auto& label = labels[lane];
        if (!plain || std::ranges::count(label.costs, 0.0F) > 0) continue;
        double p = 0.0;                                   // |P|
        double p_all = 0.0, p_p = 0.0, diagonal_p = 0.0;  // S_P.S, S_P.S_P, the sum of w_i^2 D_i
        for (const auto position : label.positives) {
            const auto i = static_cast<std::size_t>(position);
            const float weight = node.weights[i];
            const double square = double{weight} * double{weight};
            p += double{weight};
            p_all += square * double{node.own_squares[i]};
            p_p += square * double{node.own_squares[i]};
            diagonal_p += square * double{diagonals_[at(position, lane)]};
            for (auto j = node.indptr[i]; j < node.indptr[i + 1]; ++j) {
                const auto feature = node.indices[static_cast<std::size_t>(j)];
                const float value = weight * node.values[static_cast<std::size_t>(j)];
                p_all += double{value} * double{node.sums[static_cast<std::size_t>(feature)]};
                weights_[at(feature, lane)] += value;
            }
        }
        for (const auto position : label.positives) {
            const auto i = static_cast<std::size_t>(position);
            for (auto j = node.indptr[i]; j < node.indptr[i + 1]; ++j) {
                const auto feature = node.indices[static_cast<std::size_t>(j)];
                const float value = node.weights[i] * node.values[static_cast<std::size_t>(j)];
                p_p += double{value} * double{weights_[at(feature, lane)]};
            }
        }
        const double n = everything - p;
        const auto positives = static_cast<std::int64_t>(label.positives.size());
        const double p_n = p_all - p_p + bias_square * p * n;
        const double n_n = node.sums_square - 2.0 * p_all + p_p + bias_square * n * n;
        p_p += bias_square * p * p;
        double dual_p = 0.0, dual_n = 0.0;
        if (positives == 0) {
            dual_n = n / (n_n + n * diagonal_n);
        } else if (positives == node.count()) {
            dual_p = p / (p_p + diagonal_p);
        } else {
            const double a = p_p / p + diagonal_p / p, b = p_n / p, c = p_n / n, d = n_n / n + diagonal_n;
            const double determinant = a * d - b * c;
            if (determinant > 0.0) {
                dual_p = std::max((d + b) / determinant, 0.0);
                dual_n = std::max((a + c) / determinant, 0.0);
            }
        }
        positive[lane] = static_cast<float>(dual_p);
        scale[lane] = static_cast<float>(dual_p + dual_n);
        shift[lane] = static_cast<float>(dual_n);
        constants_[lane] = static_cast<float>((dual_p * p - dual_n * n) * double{bias_});
    }
    const auto n = static_cast<std::size_t>(node.count());
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) duals_[i * kLanes + lane] = -shift[lane] * node.weights[i];
    }
    for (std::size_t lane = 0; lane < labels.size(); ++lane) {
        for (const auto position : labels[lane].positives) {
            duals_[at(position, lane)] = positive[lane] * node.weights[static_cast<std::size_t>(position)];
        }
    }
    if (plain) kernels().lane_start(weights_, node.sums.data(), node.features(), scale, shift);
}

// Passes over the examples in random order. An example whose gradients have become small for all labels rests until
// the others have settled; a pass over all examples decides whether a label is done.
void LaneSolver::descend(const NodeExamples& node, const SolverOptions& options, std::uint64_t seed) {
    constexpr float kFar = std::numeric_limits<float>::max();
    const auto tolerance = static_cast<float>(options.tolerance);
    const auto rest_below = static_cast<float>(kRest * options.tolerance);
    alignas(64) float highest[kLanes], lowest[kLanes];
    Random random(seed);
    order_ = everyone_;
    int rested = 0;
    for (int pass = 0; pass < options.max_passes; ++pass) {
        if (heartbeat) heartbeat();
        random.shuffle(std::span(order_));
        std::fill(highest, highest + kLanes, -kFar);
        std::fill(lowest, lowest + kLanes, kFar);
        kernels().lane_pass({node.indptr.data(), node.indices.data(), node.values.data(), squares_.data(),
                             node.own_squares.data(), order_.data(), static_cast<std::int64_t>(order_.size()), bias_,
                             weights_, duals_, diagonals_, constants_, live_, highest, lowest, worst_.data()});
        const bool everyone = order_.size() == everyone_.size();
        bool settled = true;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
            if (live_[lane] == 0.0F) continue;
            if (highest[lane] - lowest[lane] > tolerance) {
                settled = false;
            } else if (everyone) {
                live_[lane] = 0.0F;
            }
        }
        rested = everyone ? 0 : rested + 1;
        if (settled && everyone) break;
        if (settled || rested == kRestPasses) {
            order_ = everyone_;
        } else {
            std::erase_if(order_, [&](auto i) { return worst_[static_cast<std::size_t>(i)] <= rest_below; });
        }
    }
}

void LaneSolver::collect(const NodeExamples& node, std::span<const LaneLabel> labels, float threshold,
                         std::vector<WeightEntry>& entries) {
    const auto keep = [&](std::int64_t feature, std::size_t lane, float weight) {
        if (weight != 0.0F && std::abs(weight) >= threshold) {
            entries.push_back({static_cast<std::int32_t>(feature), labels[lane].child, weight});
        }
    };
    rows_.resize(static_cast<std::size_t>(node.features()) + 1);
    const auto count = kernels().lane_rows(weights_, node.features(), threshold, rows_.data());
    for (std::int64_t r = 0; r < count; ++r) {
        const auto feature = rows_[static_cast<std::size_t>(r)];
        for (std::size_t lane = 0; lane < labels.size(); ++lane) keep(feature, lane, weights_[at(feature, lane)]);
    }
    for (std::int64_t i = 0; i < node.count(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        for (std::size_t lane = 0; lane < labels.size(); ++lane) {
            const float dual = duals_[at(i, lane)];
            if (dual == 0.0F || std::abs(dual) * node.own_largest[row] < threshold) continue;
            for (auto e = node.own_indptr[row]; e < node.own_indptr[row + 1]; ++e) {
                keep(node.features() + e, lane, dual * node.own_values[static_cast<std::size_t>(e)]);
            }
        }
    }
}

}  // namespace treetop

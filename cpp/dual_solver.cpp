#include "dual_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "random.hpp"

namespace treetop {

bool sound(const Examples& examples, std::span<const std::int32_t> active) {
    const auto entries = static_cast<std::int64_t>(examples.indices.size());
    const auto within = [](std::int64_t last) { return [last](std::int32_t id) { return 0 <= id && id < last; }; };
    return examples.indptr.front() == 0 && std::ranges::is_sorted(examples.indptr) &&
           examples.indptr.back() == entries && static_cast<std::int64_t>(examples.values.size()) == entries &&
           static_cast<std::int64_t>(examples.squares.size()) == examples.count() &&
           std::ranges::all_of(examples.indices, within(examples.features)) &&
           std::ranges::all_of(active, within(examples.count()));
}

void DualSolver::solve(const Examples& examples, std::span<const std::int32_t> active,
                       std::span<const signed char> sign, std::span<const double> cost, const SolverOptions& options,
                       std::uint64_t seed) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto n = static_cast<std::int32_t>(active.size());
    const double constant = std::max(options.bias, 0.0);
    const double steepest = options.loss == Loss::squared_hinge ? kInfinity : options.loss == Loss::hinge ? 1.0 : 2.0;
    const double quadratic = options.loss == Loss::hinge ? 0.0 : 0.5;
    TREETOP_ASSERT(sound(examples, active) && sign.size() == active.size() && cost.size() == active.size());
    weights_.assign(static_cast<std::size_t>(examples.features), 0.0);
    alpha_.assign(active.size(), 0.0);
    order_.resize(active.size());
    std::iota(order_.begin(), order_.end(), 0);
    double beta = 0.0;

    Random random(seed);
    std::int32_t live = n;  // order_[0, live) are not shrunk away
    double shrink_above = kInfinity;
    double shrink_below = -kInfinity;

    for (int pass = 0; pass < options.max_passes; ++pass) {
        double highest = -kInfinity;  // of the projected gradients in this pass
        double lowest = kInfinity;
        random.shuffle(std::span(order_.data(), static_cast<std::size_t>(live)));

        for (std::int32_t position = 0; position < live; ++position) {
            const auto k = static_cast<std::size_t>(order_[static_cast<std::size_t>(position)]);
            const auto row = static_cast<std::size_t>(active[k]);
            const auto begin = static_cast<std::size_t>(examples.indptr[row]);
            const auto end = static_cast<std::size_t>(examples.indptr[row + 1]);
            const double s = sign[k];
            const double diagonal = quadratic / cost[k];  // D_i
            const double upper = steepest * cost[k];      // U_i

            double product = beta * constant;
            for (std::size_t j = begin; j < end; ++j) {
                product += weights_[static_cast<std::size_t>(examples.indices[j])] * double{examples.values[j]};
            }
            const double gradient = s * product - 1.0 + alpha_[k] * diagonal;

            double projected = gradient;
            const bool at_zero = alpha_[k] == 0.0;
            const bool at_upper = alpha_[k] == upper;
            if ((at_zero && gradient > shrink_above) || (at_upper && gradient < shrink_below)) {
                --live;
                std::swap(order_[static_cast<std::size_t>(position)], order_[static_cast<std::size_t>(live)]);
                --position;
                continue;
            }
            if (at_zero) projected = std::min(gradient, 0.0);
            if (at_upper) projected = std::max(gradient, 0.0);
            highest = std::max(highest, projected);
            lowest = std::min(lowest, projected);
            if (std::abs(projected) <= 1e-12) continue;

            const double before = alpha_[k];
            const double curvature = examples.squares[row] + constant * constant + diagonal;
            alpha_[k] = std::clamp(before - gradient / curvature, 0.0, upper);
            const double step = (alpha_[k] - before) * s;
            for (std::size_t j = begin; j < end; ++j) {
                weights_[static_cast<std::size_t>(examples.indices[j])] += step * double{examples.values[j]};
            }
            beta += step * constant;
        }

        if (highest - lowest <= options.tolerance) {
            if (live == n) break;
            live = n;  // verify on everything before stopping
            shrink_above = kInfinity;
            shrink_below = -kInfinity;
        } else {
            shrink_above = highest > 0.0 ? highest : kInfinity;
            shrink_below = lowest < 0.0 ? lowest : -kInfinity;
        }
    }
    bias_ = beta * constant;
}

}  // namespace treetop

#include "l1_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "random.hpp"

namespace treetop {
namespace {

// Slope of the loss at a margin m, curvature where it has that slope, and the remainder  loss(m + d) - loss(m) - d slope(m): near the optimum a
// difference of losses would drown in rounding.
struct SquaredHinge {
    static constexpr double most_curved = 2.0;
    static double slope(double m) { return m < 1.0 ? -2.0 * (1.0 - m) : 0.0; }
    static double curvature(double slope) { return slope < 0.0 ? 2.0 : 0.0; }
    static double remainder(double m, double d) {
        const double gap = 1.0 - m;
        if (gap > 0.0) return gap > d ? d * d : gap * (2.0 * d - gap);
        return gap > d ? (gap - d) * (gap - d) : 0.0;
    }
};

struct Logistic {
    static constexpr double most_curved = 0.25;
    static double value(double m) {
        return m >= 0.0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
    }
    static double slope(double m) {  // -sigma(-m)
        if (m < 0.0) return -1.0 / (1.0 + std::exp(m));
        const double e = std::exp(-m);
        return -e / (1.0 + e);
    }
    static double curvature(double slope) { return -slope * (1.0 + slope); }
    static double remainder(double m, double d) {
        const double here = slope(m);
        if (std::abs(d) < 1e-4) return 0.5 * curvature(here) * d * d;
        return value(m + d) - value(m) - d * here;
    }
};

// How far the gradient G of the loss is from cancelling the penalty's: l1 sign(w), or anything in [-l1, l1] at 0.
double violation(double gradient, double weight, double l1) {
    if (weight > 0.0) return std::abs(gradient + l1);
    if (weight < 0.0) return std::abs(gradient - l1);
    return std::max(std::abs(gradient) - l1, 0.0);
}

// Minimises  G d + H d^2 / 2 + l1 |w + d|.
double newton_step(double gradient, double curvature, double weight, double l1) {
    if (gradient + l1 <= curvature * weight) return -(gradient + l1) / curvature;
    if (gradient - l1 >= curvature * weight) return -(gradient - l1) / curvature;
    return -weight;
}

// G d + l1 (|w + d| - |w|), in one product where w and w + d are on the same side of 0.
double linear_change(double gradient, double weight, double by, double l1) {
    const double after = weight + by;
    if (weight >= 0.0 && after >= 0.0) return (gradient + l1) * by;
    if (weight <= 0.0 && after <= 0.0) return (gradient - l1) * by;
    return gradient * by + l1 * (std::abs(after) - std::abs(weight));
}

}  // namespace

Columns columns_of(const Examples& examples) {
    Columns columns;
    columns.indptr.assign(static_cast<std::size_t>(examples.features) + 1, 0);
    for (const auto feature : examples.indices) ++columns.indptr[static_cast<std::size_t>(feature) + 1];
    std::partial_sum(columns.indptr.begin(), columns.indptr.end(), columns.indptr.begin());
    columns.rows.resize(examples.indices.size());
    columns.values.resize(examples.indices.size());
    auto next = columns.indptr;
    for (std::int64_t row = 0; row < examples.count(); ++row) {
        const auto end = static_cast<std::size_t>(examples.indptr[static_cast<std::size_t>(row) + 1]);
        for (auto j = static_cast<std::size_t>(examples.indptr[static_cast<std::size_t>(row)]); j < end; ++j) {
            const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(examples.indices[j])]++);
            columns.rows[place] = static_cast<std::int32_t>(row);
            columns.values[place] = examples.values[j];
        }
    }
    return columns;
}

void L1Solver::solve(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
                     std::span<const signed char> sign, std::span<const double> cost, const SolverOptions& options,
                     std::uint64_t seed) {
    TREETOP_ASSERT(sound(examples, active) && sign.size() == active.size() && cost.size() == active.size());
    TREETOP_ASSERT(columns.indptr.size() == static_cast<std::size_t>(examples.features) + 1 &&
                   columns.rows.size() == examples.indices.size());
    const auto rows = static_cast<std::size_t>(examples.count());
    weights_.assign(static_cast<std::size_t>(examples.features) + 1, 0.0);  // the bias weight beta comes last
    rows_.assign(rows, Row{});
    for (std::size_t k = 0; k < active.size(); ++k) {
        rows_[static_cast<std::size_t>(active[k])].cost = cost[k];
        rows_[static_cast<std::size_t>(active[k])].sign = sign[k];
    }
    if (options.loss == Loss::logistic) {
        descend<Logistic>(columns, active, options, seed);
    } else {
        descend<SquaredHinge>(columns, active, options, seed);
    }
    bias_ = weights_.back() * std::max(options.bias, 0.0);
    weights_.pop_back();
}

template <typename LossOf>
void L1Solver::descend(const Columns& columns, std::span<const std::int32_t> active, const SolverOptions& options,
                       std::uint64_t seed) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr double kSufficient = 0.01;  // share of the promised decrease that the line search asks for
    constexpr int kTrials = 20;
    const double l1 = options.l1;
    const double constant = std::max(options.bias, 0.0);
    const std::size_t features = weights_.size() - 1;

    for (auto& row : rows_) row.slope = LossOf::slope(0.0);
    // Calls visit(row, x) for the entries of a feature; the constant feature is in every active row.
    const auto each = [&](std::size_t feature, auto&& visit) {
        if (feature == features) {
            for (const auto row : active) visit(rows_[static_cast<std::size_t>(row)], constant);
            return;
        }
        const auto end = static_cast<std::size_t>(columns.indptr[feature + 1]);
        for (auto j = static_cast<std::size_t>(columns.indptr[feature]); j < end; ++j) {
            visit(rows_[static_cast<std::size_t>(columns.rows[j])], double{columns.values[j]});
        }
    };

    order_.resize(features + (constant > 0.0 ? 1 : 0));
    std::iota(order_.begin(), order_.end(), 0);
    Random random(seed);
    std::size_t live = order_.size();  // order_[0, live) are not shrunk away
    double slack = kInfinity;          // a zero weight is left out when |G| is below l1 by more than this

    for (int pass = 0; pass < options.max_passes; ++pass) {
        double worst = 0.0;
        random.shuffle(std::span(order_.data(), live));
        for (std::size_t position = 0; position < live; ++position) {
            const auto feature = static_cast<std::size_t>(order_[position]);
            double& weight = weights_[feature];
            double gradient = 0.0, curvature = 0.0, square = 0.0;  // of the loss; square = sum_i C_i x_i^2
            each(feature, [&](const Row& row, double x) {
                const double weighted = row.cost * x * x;
                gradient += row.cost * row.sign * x * row.slope;
                curvature += weighted * LossOf::curvature(row.slope);
                square += weighted;
            });
            if (weight == 0.0 && std::abs(gradient) < l1 - slack) {
                std::swap(order_[position--], order_[--live]);
                continue;
            }
            worst = std::max(worst, violation(gradient, weight, l1));

            double step = newton_step(gradient, std::max(curvature, 1e-12), weight, l1);
            if (step == 0.0) continue;
            // Whether the objective falls by `least`. The loss lies below the parabola of its steepest curvature;
            // where that does not settle it, the loss itself does.
            const auto falls = [&](double by, double least) {
                const double linear = linear_change(gradient, weight, by, l1);
                if (linear + 0.5 * LossOf::most_curved * square * by * by <= -least) return true;
                double change = linear;
                each(feature, [&](const Row& row, double x) {
                    change += row.cost * LossOf::remainder(row.margin, row.sign * x * by);
                });
                return change <= -least;
            };
            double hoped = -kSufficient * linear_change(gradient, weight, step, l1);
            int trial = 0;
            for (; trial < kTrials && !falls(step, hoped); ++trial) {
                step *= 0.5;
                hoped *= 0.5;
            }
            if (trial == kTrials) continue;
            weight += step;
            each(feature, [&](Row& row, double x) {
                row.margin += row.sign * x * step;
                row.slope = LossOf::slope(row.margin);
            });
        }

        if (worst <= options.tolerance * l1) {
            if (live == order_.size()) break;
            live = order_.size();  // verify on everything before stopping
            slack = kInfinity;
        } else {
            slack = worst / static_cast<double>(std::max<std::size_t>(active.size(), 1));
        }
    }
}

}  // namespace treetop

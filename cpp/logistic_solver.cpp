#include "logistic_solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "random.hpp"

namespace treetop {
namespace {

double sigmoid(double t) {
    if (t >= 0.0) return 1.0 / (1.0 + std::exp(-t));
    const double e = std::exp(t);
    return e / (1.0 + e);
}

// The best alpha_i = C sigma(t), all others fixed, is the root of F(t) = t + m + Q (C sigma(t) - alpha_i). F rises
// with slope 1 at least, and the root lies where C sigma is 0 ... C. Newton steps, halving where they leave the
// interval that holds the root.
double best_log_odds(double margin, double square, double cost, double alpha, double from, double tolerance) {
    double low = -margin - square * (cost - alpha);
    double high = -margin + square * alpha;
    double t = std::clamp(from, low, high);
    for (int step = 0; step < 100; ++step) {
        const double s = sigmoid(t);
        const double value = t + margin + square * (cost * s - alpha);
        if (std::abs(value) <= tolerance) break;
        (value > 0.0 ? high : low) = t;
        const double next = t - value / (1.0 + square * cost * s * (1.0 - s));
        t = next > low && next < high ? next : 0.5 * (low + high);
    }
    return t;
}

}  // namespace

void LogisticSolver::solve(const Examples& examples, std::span<const std::int32_t> active,
                           std::span<const signed char> sign, std::span<const double> cost,
                           const SolverOptions& options, std::uint64_t seed) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double constant = std::max(options.bias, 0.0);
    const double inner_tolerance = 0.01 * options.tolerance;
    TREETOP_ASSERT(sound(examples, active) && sign.size() == active.size() && cost.size() == active.size());
    weights_.assign(static_cast<std::size_t>(examples.features), 0.0);
    alpha_.assign(active.size(), 0.0);
    log_odds_.assign(active.size(), -kInfinity);
    order_.resize(active.size());
    std::iota(order_.begin(), order_.end(), 0);
    double beta = 0.0;
    Random random(seed);

    for (int pass = 0; pass < options.max_passes; ++pass) {
        double worst = 0.0;
        random.shuffle(std::span(order_));
        for (const auto position : order_) {
            const auto k = static_cast<std::size_t>(position);
            const auto row = static_cast<std::size_t>(active[k]);
            const auto begin = static_cast<std::size_t>(examples.indptr[row]);
            const auto end = static_cast<std::size_t>(examples.indptr[row + 1]);
            const double s = sign[k];

            double product = beta * constant;
            for (std::size_t j = begin; j < end; ++j) {
                product += weights_[static_cast<std::size_t>(examples.indices[j])] * double{examples.values[j]};
            }
            const double margin = s * product;
            const double gradient = std::abs(log_odds_[k] + margin);
            worst = std::max(worst, gradient);
            if (gradient <= 0.1 * options.tolerance) continue;  // good enough to stop at: not worth a step

            const double square = examples.squares[row] + constant * constant;
            const double from = std::isinf(log_odds_[k]) ? -margin : log_odds_[k];
            log_odds_[k] = best_log_odds(margin, square, cost[k], alpha_[k], from, inner_tolerance);
            const double before = alpha_[k];
            alpha_[k] = cost[k] * sigmoid(log_odds_[k]);
            const double step = (alpha_[k] - before) * s;
            for (std::size_t j = begin; j < end; ++j) {
                weights_[static_cast<std::size_t>(examples.indices[j])] += step * double{examples.values[j]};
            }
            beta += step * constant;
        }
        if (worst <= options.tolerance) break;
    }
    bias_ = beta * constant;
}

}  // namespace treetop

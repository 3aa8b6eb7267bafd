// One-versus-all linear classifiers: L2-regularised logistic loss, solved by dual coordinate descent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dual_solver.hpp"

namespace treetop {

// min over w, beta of  1/2 |w|^2 + 1/2 beta^2 + sum_i C_i log(1 + exp(-s_i (w.x_i + bias * beta)))
//
// Yu, Huang, Lin: "Dual coordinate descent methods for logistic regression and maximum entropy models", Machine
// Learning 2011. The dual has one 0 < alpha_i < C_i per example, w = sum_i alpha_i s_i x_i, and at the optimum
// alpha_i = C_i sigma(-m_i) with the margin m_i = s_i (w.x_i + bias * beta).
class LogisticSolver {
public:
    // As DualSolver::solve; `tolerance` is the largest |log(alpha_i / (C_i - alpha_i)) + m_i| to stop at.
    void solve(const Examples& examples, std::span<const std::int32_t> active, std::span<const signed char> sign,
               std::span<const double> cost, const SolverOptions& options, std::uint64_t seed);

    const std::vector<double>& weights() const { return weights_; }
    double bias() const { return bias_; }

private:
    std::vector<double> weights_;
    double bias_ = 0.0;
    std::vector<double> alpha_;
    std::vector<double> log_odds_;  // log(alpha_i / (C_i - alpha_i))
    std::vector<std::int32_t> order_;
};

}  // namespace treetop

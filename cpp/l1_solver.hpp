// One-versus-all linear classifiers with an L1 penalty: few features per label. Solved by coordinate descent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dual_solver.hpp"

namespace treetop {

// The same examples by feature: feature f lies in the rows rows[indptr[f] .. indptr[f + 1]).
struct Columns {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> rows;
    std::vector<float> values;
};

Columns columns_of(const Examples& examples);

// min over w, beta of  l1 (|w|_1 + |beta|) + sum_i C_i loss(s_i (w.x_i + bias * beta)),  squared hinge or logistic.
//
// Yuan, Chang, Hsieh, Lin: "A comparison of optimization methods and software for large-scale L1-regularized linear
// classification", JMLR 2010: one Newton step per feature with a line search; features that stay at zero are left
// out, and all are checked again before stopping.
class L1Solver {
public:
    // As DualSolver::solve; stops when no feature's gradient is off its optimum by more than tolerance * l1.
    void solve(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
               std::span<const signed char> sign, std::span<const double> cost, const SolverOptions& options,
               std::uint64_t seed);

    const std::vector<double>& weights() const { return weights_; }
    double bias() const { return bias_; }

private:
    struct Row {  // of the examples; one that takes no part has cost 0
        double cost = 0.0;
        double sign = 1.0;
        double margin = 0.0;
        double slope = 0.0;  // of the loss at the margin
    };

    template <typename LossOf>
    void descend(const Columns& columns, std::span<const std::int32_t> active, const SolverOptions& options,
                 std::uint64_t seed);

    std::vector<double> weights_;
    double bias_ = 0.0;
    std::vector<Row> rows_;
    std::vector<std::int32_t> order_;
};

}  // namespace treetop

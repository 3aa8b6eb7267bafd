// The solver of one label, by loss and penalty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dual_solver.hpp"
#include "l1_solver.hpp"
#include "logistic_solver.hpp"

namespace treetop {

class LabelSolver {
public:
    // As DualSolver::solve; `columns` are used only if options.l1 > 0, and must be those of `examples`.
    void solve(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
               std::span<const signed char> sign, std::span<const double> cost, const SolverOptions& options,
               std::uint64_t seed);

    // Valid until the next call.
    const std::vector<double>& weights() const { return *weights_; }
    double bias() const { return bias_; }

private:
    template <typename Solver>
    void take(const Solver& solver) {
        weights_ = &solver.weights();
        bias_ = solver.bias();
    }

    void solve_l2(const Examples& examples, std::span<const std::int32_t> active, std::span<const signed char> sign,
                  std::span<const double> cost, const SolverOptions& options, std::uint64_t seed);
    void refit(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
               std::span<const signed char> sign, std::span<const double> cost, const SolverOptions& options,
               std::uint64_t seed);

    DualSolver dual_;
    LogisticSolver logistic_;
    L1Solver l1_;
    const std::vector<double>* weights_ = nullptr;
    double bias_ = 0.0;
    std::vector<double> refitted_;
};

}  // namespace treetop

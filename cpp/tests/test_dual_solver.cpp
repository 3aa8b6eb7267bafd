#include "check.hpp"
#include "dual_solver.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

// One feature, one positive x = 1 and one negative x = -1, no bias: min 1/2 w^2 + 2C max(0, 1 - w)^2.
// The derivative w - 4C (1 - w) vanishes at w = 4C / (1 + 4C).
int main() {
    treetop::Examples examples;
    examples.indptr = {0, 1, 2};
    examples.indices = {0, 0};
    examples.values = {1.0F, -1.0F};
    examples.squares = {1.0, 1.0};
    examples.features = 1;
    const std::vector<std::int32_t> active{0, 1};
    const std::vector<signed char> sign{1, -1};

    treetop::SolverOptions options;
    options.bias = 0.0;
    options.tolerance = 1e-10;
    options.max_passes = 1000;
    treetop::DualSolver solver;
    for (const double cost : {0.1, 1.0, 10.0}) {
        const std::vector<double> costs{cost, cost};
        solver.solve(examples, active, sign, costs, options, 1);
        CHECK(std::abs(solver.weights()[0] - 4 * cost / (1 + 4 * cost)) < 1e-8);
        CHECK(solver.bias() == 0.0);
    }

    // Plain hinge: min 1/2 w^2 + 2C max(0, 1 - w) is at the corner w = 1, or before it at w = 2C.
    options.loss = treetop::Loss::hinge;
    for (const double cost : {0.1, 0.4, 1.0, 10.0}) {
        const std::vector<double> costs{cost, cost};
        solver.solve(examples, active, sign, costs, options, 1);
        CHECK(std::abs(solver.weights()[0] - std::min(1.0, 2 * cost)) < 1e-8);
    }

    // Huber hinge with a positive at x = 1 (C = 1) and an outlier, a negative at x = 1 (C = 1/4), whose gap 1 + w is
    // beyond 1 and pulls with slope 2C only: w - 2 (1 - w) + 1/2 = 0 gives w = 1/2.
    options.loss = treetop::Loss::huber_hinge;
    examples.values = {1.0F, 1.0F};
    solver.solve(examples, active, sign, std::vector<double>{1.0, 0.25}, options, 1);
    CHECK(std::abs(solver.weights()[0] - 0.5) < 1e-8);
    options.loss = treetop::Loss::squared_hinge;

    // A bias feature alone, positives only: min 1/2 b^2 + n C max(0, 1 - b)^2 gives b = 2nC / (1 + 2nC).
    treetop::Examples empty;
    empty.indptr = {0, 0, 0, 0};
    empty.squares = {0.0, 0.0, 0.0};
    options.bias = 1.0;
    const std::vector<std::int32_t> three{0, 1, 2};
    const std::vector<signed char> positive{1, 1, 1};
    const std::vector<double> ones{1.0, 1.0, 1.0};
    solver.solve(empty, three, positive, ones, options, 5);
    CHECK(std::abs(solver.bias() - 6.0 / 7.0) < 1e-8);
    return finish();
}

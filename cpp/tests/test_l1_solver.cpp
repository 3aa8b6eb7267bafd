#include "check.hpp"
#include "l1_solver.hpp"
#include "label_solver.hpp"
#include "scattered_examples.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

int main() {
    treetop::SolverOptions options;
    options.bias = 0.0;
    options.tolerance = 1e-9;
    options.max_passes = 10'000;
    treetop::L1Solver solver;

    // One feature, a positive x = 1 and a negative x = -1: l1 |w| + 2C (1 - w)^2 gives w = 1 - l1 / (4C), and 0 where
    // that is negative; the logistic loss 2C log(1 + e^-w) gives w = log(2C / l1 - 1).
    treetop::Examples two;
    two.indptr = {0, 1, 2};
    two.indices = {0, 0};
    two.values = {1.0F, -1.0F};
    two.squares = {1.0, 1.0};
    two.features = 1;
    const std::vector<std::int32_t> active{0, 1};
    const std::vector<signed char> sign{1, -1};
    const std::vector<double> ones{1.0, 1.0};
    const auto columns = treetop::columns_of(two);
    for (const double l1 : {0.1, 1.0, 5.0}) {
        options.l1 = l1;
        options.loss = treetop::Loss::squared_hinge;
        solver.solve(two, columns, active, sign, ones, options, 1);
        CHECK(std::abs(solver.weights()[0] - std::max(0.0, 1 - l1 / 4)) < 1e-7);
        options.loss = treetop::Loss::logistic;
        solver.solve(two, columns, active, sign, ones, options, 1);
        CHECK(std::abs(solver.weights()[0] - (l1 < 1.0 ? std::log(2 / l1 - 1) : 0.0)) < 1e-7);
    }

    // At the optimum the gradient of the loss is -l1 sign(w), or within [-l1, l1] where w = 0.
    const Scattered problem(200, 40, 2);
    const auto by_feature = treetop::columns_of(problem.examples);
    options.bias = 1.0;
    for (const auto loss : {treetop::Loss::squared_hinge, treetop::Loss::logistic}) {
        for (const double l1 : {0.1, 3.0, 10.0}) {
            options.loss = loss;
            options.l1 = l1;
            solver.solve(problem.examples, by_feature, problem.active, problem.sign, problem.cost, options, 5);
            auto weights = solver.weights();
            const auto gradient = problem.combine([&](std::size_t k) {
                const double m = problem.margin(k, solver.weights(), solver.bias());
                const bool hinge = loss == treetop::Loss::squared_hinge;
                return problem.cost[k] * (hinge ? -2.0 * std::max(0.0, 1.0 - m) : -1.0 / (1.0 + std::exp(m)));
            });
            weights.push_back(solver.bias());
            for (std::size_t f = 0; f < weights.size(); ++f) {
                if (weights[f] == 0.0) {
                    CHECK(std::abs(gradient[f]) <= l1 + 1e-6);
                } else {
                    CHECK(std::abs(gradient[f] + (weights[f] > 0.0 ? l1 : -l1)) < 1e-6);
                }
            }
            const auto zeros = std::count(weights.begin(), weights.end(), 0.0);
            CHECK(l1 < 1.0 || (zeros > 0 && zeros < 41));
        }
    }

    // Refitting: nothing outside the chosen features, and on them the optimum of L2, where w = sum_k alpha_k s_k x_k.
    options.loss = treetop::Loss::squared_hinge;
    options.l1 = 5.0;
    options.refit = true;
    treetop::LabelSolver chosen;
    solver.solve(problem.examples, by_feature, problem.active, problem.sign, problem.cost, options, 5);
    chosen.solve(problem.examples, by_feature, problem.active, problem.sign, problem.cost, options, 5);
    const auto optimum = problem.combine([&](std::size_t k) {
        return 2.0 * problem.cost[k] * std::max(0.0, 1.0 - problem.margin(k, chosen.weights(), chosen.bias()));
    });
    for (std::size_t f = 0; f < 40; ++f) {
        const bool kept = solver.weights()[f] != 0.0;
        CHECK(std::abs(chosen.weights()[f] - (kept ? optimum[f] : 0.0)) < 1e-6);
    }
    CHECK(std::abs(chosen.bias() - optimum.back()) < 1e-6);
    return finish();
}

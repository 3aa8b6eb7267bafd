#include "check.hpp"
#include "logistic_solver.hpp"
#include "scattered_examples.hpp"

#include <cmath>
#include <vector>

namespace {

double sigmoid(double t) { return 1.0 / (1.0 + std::exp(-t)); }

}  // namespace

int main() {
    treetop::SolverOptions options;
    options.loss = treetop::Loss::logistic;
    options.tolerance = 1e-9;
    options.max_passes = 10'000;
    treetop::LogisticSolver solver;

    // At the optimum w = sum_k C_k sigma(-m_k) s_k x_k, and the same of the bias.
    const Scattered problem(120, 30, 1);
    for (const double scale : {0.01, 1.0, 100.0}) {
        auto cost = problem.cost;
        for (auto& c : cost) c *= scale;
        solver.solve(problem.examples, problem.active, problem.sign, cost, options, 3);
        const auto expected = problem.combine(
            [&](std::size_t k) { return cost[k] * sigmoid(-problem.margin(k, solver.weights(), solver.bias())); });
        for (std::size_t f = 0; f < 30; ++f) CHECK(std::abs(solver.weights()[f] - expected[f]) < 1e-6 * (1.0 + scale));
        CHECK(std::abs(solver.bias() - expected.back()) < 1e-6 * (1.0 + scale));
    }

    // No bias; an example without features then says nothing.
    options.bias = 0.0;
    treetop::Examples lone;
    lone.indptr = {0, 0};
    lone.squares = {0.0};
    lone.features = 2;
    solver.solve(lone, std::vector<std::int32_t>{0}, std::vector<signed char>{1}, std::vector<double>{1.0}, options, 1);
    CHECK(solver.weights() == std::vector<double>(2, 0.0) && solver.bias() == 0.0);
    return finish();
}

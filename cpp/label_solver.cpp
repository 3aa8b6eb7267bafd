#include "label_solver.hpp"

namespace treetop {
namespace {

// The examples with the chosen features only, numbered in their order.
Examples restrict_to(const std::vector<std::int32_t>& chosen, const Examples& examples, const Columns& columns) {
    Examples part;
    const auto rows = static_cast<std::size_t>(examples.count());
    part.features = static_cast<std::int32_t>(chosen.size());
    part.indptr.assign(rows + 1, 0);
    part.squares.assign(rows, 0.0);
    const auto each = [&](auto&& visit) {
        for (std::size_t f = 0; f < chosen.size(); ++f) {
            const auto feature = static_cast<std::size_t>(chosen[f]);
            for (std::int64_t j = columns.indptr[feature]; j < columns.indptr[feature + 1]; ++j) {
                visit(f, static_cast<std::size_t>(columns.rows[static_cast<std::size_t>(j)]),
                      columns.values[static_cast<std::size_t>(j)]);
            }
        }
    };
    each([&](std::size_t, std::size_t row, float value) {
        ++part.indptr[row + 1];
        part.squares[row] += double{value} * double{value};
    });
    for (std::size_t row = 0; row < rows; ++row) part.indptr[row + 1] += part.indptr[row];
    part.indices.resize(static_cast<std::size_t>(part.indptr.back()));
    part.values.resize(part.indices.size());
    std::vector<std::int64_t> next(part.indptr.begin(), part.indptr.end() - 1);
    each([&](std::size_t f, std::size_t row, float value) {
        const auto place = static_cast<std::size_t>(next[row]++);
        part.indices[place] = static_cast<std::int32_t>(f);
        part.values[place] = value;
    });
    return part;
}

}  // namespace

void LabelSolver::solve(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
                        std::span<const signed char> sign, std::span<const double> cost,
                        const SolverOptions& options, std::uint64_t seed) {
    if (options.l1 <= 0.0) {
        solve_l2(examples, active, sign, cost, options, seed);
        return;
    }
    l1_.solve(examples, columns, active, sign, cost, options, seed);
    take(l1_);
    if (options.refit) refit(examples, columns, active, sign, cost, options, seed);
}

void LabelSolver::solve_l2(const Examples& examples, std::span<const std::int32_t> active,
                           std::span<const signed char> sign, std::span<const double> cost,
                           const SolverOptions& options, std::uint64_t seed) {
    if (options.loss == Loss::logistic) {
        logistic_.solve(examples, active, sign, cost, options, seed);
        take(logistic_);
    } else {
        dual_.solve(examples, active, sign, cost, options, seed);
        take(dual_);
    }
}

void LabelSolver::refit(const Examples& examples, const Columns& columns, std::span<const std::int32_t> active,
                        std::span<const signed char> sign, std::span<const double> cost,
                        const SolverOptions& options, std::uint64_t seed) {
    std::vector<std::int32_t> chosen;
    for (std::size_t f = 0; f < weights_->size(); ++f) {
        if ((*weights_)[f] != 0.0) chosen.push_back(static_cast<std::int32_t>(f));
    }
    solve_l2(restrict_to(chosen, examples, columns), active, sign, cost, options, seed);
    refitted_.assign(static_cast<std::size_t>(examples.features), 0.0);
    for (std::size_t f = 0; f < chosen.size(); ++f) refitted_[static_cast<std::size_t>(chosen[f])] = (*weights_)[f];
    weights_ = &refitted_;
}

}  // namespace treetop

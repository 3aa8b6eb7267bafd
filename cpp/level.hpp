// Training one level of a tree model: the classifiers of all its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "csr.hpp"
#include "dual_solver.hpp"
#include "parallel.hpp"
#include "shared_rows.hpp"

namespace treetop {

// Weights are chunked by parent: parent p owns the rows [chunks[p], chunks[p+1]); row r belongs to feature
// features[r] (ascending inside a chunk) and holds the entries [rows[r], rows[r+1]): child (counted inside the
// parent) and weight.
struct TrainedLevel {
    std::vector<std::int64_t> chunks;
    std::vector<std::int32_t> features;
    std::vector<std::int64_t> rows;
    std::vector<std::int32_t> children;
    std::vector<float> weights;
    std::vector<float> biases;
};

struct LevelProblem {
    const SharedRows* rows = nullptr;
    Csr positives;          // nodes x documents; the value is the cost multiplier of that positive: 0 leaves it out
    Pattern shortlist;      // parents x documents: who takes part in the loss of the parent's children
    std::vector<std::int64_t> offsets;
    bool last = false;
    double threshold = 0.1;  // weights with |w| below it are dropped
    std::uint64_t seed = 0;
    SolverOptions solver;
};

// Throws std::invalid_argument where training could not trust the problem. Its matrices are views, checked when made.
void check(const LevelProblem& problem);

// Called on the calling thread when a level is complete; levels overlap, but finish roughly in order.
using OnLevel = std::function<void(std::size_t level, TrainedLevel&& trained)>;

// Positives outside the shortlist take part for their own label. All problems are on the same rows. Trusts what check()
// accepts.
void train_levels(std::span<const LevelProblem> problems, int threads, const OnLevel& on_level,
                  Monitor* monitor = nullptr);
TrainedLevel train_level(const LevelProblem& problem, int threads, Monitor* monitor = nullptr);

}  // namespace treetop

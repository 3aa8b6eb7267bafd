// One-versus-all classifiers, sixteen labels of a node at a time: L2-regularised squared hinge.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "dual_solver.hpp"
#include "kernels/kernels.hpp"
#include "node_examples.hpp"

namespace treetop {

struct LaneLabel {
    std::int32_t child;                        // names the label in the result
    std::span<const std::int32_t> positives;   // positions in the node's examples
    std::span<const float> costs;              // cost multiplier of each positive; 0: it takes no part
};

struct WeightEntry {
    std::int32_t feature;  // in the node; the node's own entry e is features() + e
    std::int32_t child;
    float weight;
};

// Same problem as DualSolver. The weights of sixteen labels lie side by side, feature after feature: one entry of an
// example meets one cache line, and the coordinate steps of all labels are taken together.
class LaneSolver {
public:
    // The first `listed` examples take part for every label, later ones only where they are positives. Appends the
    // weights that reach the threshold to `entries`; bias_of(lane) follows the order of `labels`. Trusts the node as
    // NodeGatherer makes it, at most sixteen labels, and positives that are examples of the node, each once.
    void solve(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
               const SolverOptions& options, double threshold, std::uint64_t seed, std::vector<WeightEntry>& entries);

    // Called before every pass, where set; may throw to stop the work.
    std::function<void()> heartbeat;

    float bias_of(std::size_t lane) const { return constants_[lane] * bias_; }

private:
    void set_up(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
                const SolverOptions& options);
    void start(const NodeExamples& node, std::int64_t listed, std::span<const LaneLabel> labels,
               const SolverOptions& options);
    void descend(const NodeExamples& node, const SolverOptions& options, std::uint64_t seed);
    void collect(const NodeExamples& node, std::span<const LaneLabel> labels, float threshold,
                 std::vector<WeightEntry>& entries);

    struct Aligned {
        void operator()(float* memory) const { ::operator delete[](memory, std::align_val_t(64)); }
    };
    using Buffer = std::unique_ptr<float[], Aligned>;
    // At least `size` floats on a cache line; the old content is lost when it grows.
    static float* room(Buffer& buffer, std::size_t& capacity, std::size_t size);

    Buffer weights_memory_, duals_memory_, diagonals_memory_;
    std::size_t weights_capacity_ = 0, duals_capacity_ = 0, diagonals_capacity_ = 0;
    float* weights_ = nullptr;
    float* duals_ = nullptr;
    float* diagonals_ = nullptr;
    alignas(64) float constants_[16] = {};
    alignas(64) float live_[16] = {};
    float bias_ = 0.0F;
    std::vector<float> squares_;  // |x_i|^2 + bias^2
    std::vector<float> worst_;
    std::vector<std::int32_t> everyone_, order_, rows_;
};

}  // namespace treetop

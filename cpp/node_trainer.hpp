// Training the children of one tree node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "label_solver.hpp"
#include "lane_solver.hpp"
#include "level.hpp"
#include "node_examples.hpp"

namespace treetop {

struct Chunk {  // the weights of one parent's children, as in Level
    std::vector<std::int32_t> features;
    std::vector<std::int64_t> row_ends;
    std::vector<std::int32_t> children;
    std::vector<float> weights;
};

// What one thread needs to train nodes.
struct Trainer {
    explicit Trainer(const SharedRows& rows) : gatherer(rows) {}

    // Removes the examples whose cost is 0: they take no part.
    void leave_out_free();

    NodeGatherer gatherer;
    LaneSolver lanes;
    LabelSolver label;
    std::vector<std::int32_t> active;
    std::vector<signed char> sign;
    std::vector<double> cost;
};

// What the blocks of one node share. Kept in a pool between nodes, for its memory.
struct NodeData {
    NodeExamples examples;
    std::int64_t listed = 0;              // examples of the shortlist; the rest are positives of single children
    Examples whole;                       // the same with all features in one range, for solvers of one label
    Columns columns;                      // of `whole`, where the solver goes by feature
    std::vector<std::int32_t> positions;  // of all children's positives in the examples, child after child
    std::vector<std::int64_t> starts;
    std::vector<std::int32_t> order;      // children, most frequent first
};

class NodePool {
public:
    std::unique_ptr<NodeData> take();
    void give(std::unique_ptr<NodeData> data);

private:
    std::mutex guard_;
    std::vector<std::unique_ptr<NodeData>> free_;
};

// The children of a node in blocks that any threads may solve: the first to come gathers the examples, the last one
// puts the weights in order. Results do not depend on who does what.
class NodeJob {
public:
    NodeJob(const LevelProblem& problem, std::int64_t parent);

    std::int64_t children() const { return problem_.offsets[parent_ + 1] - problem_.offsets[parent_]; }
    std::int64_t blocks() const { return blocks_; }
    double work() const { return work_; }  // entries times children

    // Solves the blocks [first, last). True when they were the last ones: the chunk is ready.
    bool run(std::int64_t first, std::int64_t last, Trainer& trainer, NodePool& pool, float* biases);

    Chunk chunk;

private:
    void prepare(Trainer& trainer, NodePool& pool);
    void collect_documents();
    void locate_positives();
    void train_lanes(std::span<const std::int32_t> children, Trainer& trainer, float* biases,
                     std::vector<WeightEntry>& entries) const;
    void train_label(std::int32_t child, Trainer& trainer, float* biases, std::vector<WeightEntry>& entries) const;
    void order_weights();

    const LevelProblem& problem_;
    std::int64_t parent_;
    bool plain_;  // squared hinge with L2: sixteen labels at a time
    std::int64_t blocks_ = 0;
    double work_ = 0.0;
    std::once_flag prepared_;
    std::unique_ptr<NodeData> data_;
    std::vector<std::vector<WeightEntry>> entries_;  // of each block
    std::atomic<std::int64_t> left_{0};
};

}  // namespace treetop

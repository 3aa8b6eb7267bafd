// The examples of one tree node, shared by all its children.
#pragma once

#include <cstdint>
#include <vector>

#include "dual_solver.hpp"
#include "shared_rows.hpp"

namespace treetop {

// Features are renumbered to 0..features()-1 by decreasing frequency in the node, so that the weights of a few
// labels fit the cache and the hot ones lie together. Features that only one example of the node has are kept apart.
struct NodeExamples {
    std::vector<std::int32_t> documents;  // rows of the training matrix
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::vector<float> squares;           // |x_i|^2, own features included
    std::vector<float> weights;           // w_i: multiplies the cost of example i for every child
    std::vector<std::int32_t> names;      // ids of the features in the training matrix as given
    std::vector<float> sums;              // sum of all w_i x_i, per feature
    double sums_square = 0.0;             // |sum of all w_i x_i|^2, own features included

    std::vector<std::int64_t> own_indptr;
    std::vector<std::int32_t> own_names;
    std::vector<float> own_values;
    std::vector<float> own_squares;       // per example: their sum of squares
    std::vector<float> own_largest;       // per example: their largest magnitude

    std::int64_t count() const { return static_cast<std::int64_t>(documents.size()); }
    std::int64_t features() const { return static_cast<std::int64_t>(names.size()); }
};

// The same for solvers of one label: the entry e of the features kept apart has the number features() + e.
Examples examples_of(const NodeExamples& node);

class NodeGatherer {
public:
    explicit NodeGatherer(const SharedRows& rows) : rows_(&rows) {}

    // Fills all but `documents`, which must be set, to rows of the training matrix that differ: trusted.
    void gather(NodeExamples& node);

private:
    void number_features(NodeExamples& node);

    const SharedRows* rows_;
    std::vector<std::int32_t> number_;   // per shared feature: 0 between uses
    std::vector<std::int32_t> touched_;
    std::vector<std::int64_t> starts_;
};

}  // namespace treetop

// The inner loops that are compiled once per instruction set (the .cpp files of this folder). All sets give the
// same bits; ../simd.hpp chooses among them at run time.
//
// They trust every index in their arrays: LaneSolver and ClusterSums assert them before the call, in checked builds.
//
// Files of this folder use no library templates: the linker might use their code for other files.
#pragma once

#include <cstdint>

namespace treetop {

inline constexpr int kLanes = 16;  // labels that are solved together: as many floats as a cache line holds

// One pass of dual coordinate descent over examples of a node, for sixteen labels at once.
struct LanePass {
    const std::int64_t* indptr;   // the examples, features renumbered to rows of `weights`
    const std::int32_t* indices;
    const float* values;
    const float* squares;         // |x_i|^2 + bias^2
    const float* own;             // sum of squares of the features that no other example has
    const std::int32_t* order;    // the examples to visit
    std::int64_t count;
    float bias;                   // value of the constant feature
    float* weights;               // features x 16
    float* duals;                 // examples x 16: s_i alpha_i
    const float* diagonals;       // examples x 16: s_i D_i, D_i = 1 / (2 C_i); 0 where the example takes no part
    float* constants;             // 16: weight of the constant feature
    const float* live;            // 16: 1, or 0 for a lane that rests
    float* highest;               // 16: projected gradients of this pass
    float* lowest;
    float* worst;                 // examples: the largest projected gradient over the lanes
};

inline constexpr int kListMost = 8;  // clusters in a list

// A feature's sums in a few clusters: one cache line. Unused places name clusters of their own, past all others.
struct alignas(64) ClusterList {
    std::int32_t clusters[kListMost];
    float sums[kListMost];
};

// Adds to the inner products of a vector with the sums of all clusters.
struct ClusterProducts {
    const float* table;           // sums of the features that are in many clusters, 16 * lines a row
    std::int64_t lines;
    const std::int32_t* rows;     // entries of the vector with a row in the table
    const float* row_values;
    std::int64_t row_count;
    const ClusterList* lists;     // sums of the other features
    const std::int32_t* listed;   // entries of the vector with a list
    const float* list_values;
    std::int64_t list_count;
    float* products;              // 16 * lines, and kListMost for the unused places
};

struct Kernels {
    const char* name;
    void (*lane_pass)(const LanePass&);
    // weights[f] = scale[lane] * weights[f] - shift[lane] * sums[f]
    void (*lane_start)(float* weights, const float* sums, std::int64_t features, const float* scale,
                       const float* shift);
    // Lists the rows in which a lane reaches the threshold; returns how many.
    std::int64_t (*lane_rows)(const float* weights, std::int64_t features, float threshold, std::int32_t* rows);
    void (*cluster_products)(const ClusterProducts&);
};

}  // namespace treetop

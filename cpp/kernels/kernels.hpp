// The inner loops that are compiled once per instruction set (the .cpp files of this folder). All sets give the
// same bits; ../simd.hpp chooses among them at run time.
//
// Files of this folder use no library templates: their code must never stand in for that of another file.
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

struct Kernels {
    const char* name;
    void (*lane_pass)(const LanePass&);
    // weights[f] = scale[lane] * weights[f] - shift[lane] * sums[f]
    void (*lane_start)(float* weights, const float* sums, std::int64_t features, const float* scale,
                       const float* shift);
    // Lists the rows in which a lane reaches the threshold; returns how many.
    std::int64_t (*lane_rows)(const float* weights, std::int64_t features, float threshold, std::int32_t* rows);
};

}  // namespace treetop

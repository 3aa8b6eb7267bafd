// Some classifiers of a packed level replaced by newly trained ones.
#pragma once

#include <cstdint>
#include <span>

#include "level.hpp"
#include "packed_level.hpp"

namespace treetop {

struct Replacement {
    std::span<const std::int64_t> parents;   // whose children are replaced or added
    std::span<const std::uint8_t> replaced;  // per node of the level: its weights go
    PlainLevel trained;                      // the new weights, one chunk for each of `parents`
    std::span<const std::int32_t> children;  // which child of its parent each node of `trained` is; ascending below each
};

// Throws std::invalid_argument where merge_weights() could not trust what it is given.
void check(const Level& level, const Replacement& replacement, std::int64_t features);

// The weights below the parents of a replacement: those that stay and the new ones, in the order of training.
// Trusts what check() accepts.
TrainedLevel merge_weights(const Level& level, const Replacement& replacement, std::int64_t features, int threads);

}  // namespace treetop

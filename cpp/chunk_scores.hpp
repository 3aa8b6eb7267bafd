// The inner loop of prediction: the raw scores of all children of one node for one query.
#pragma once

#include <cstdint>
#include <span>

#include "packed_level.hpp"

namespace treetop {

// Minimum size of a score buffer, however few children the parent has: a damaged byte may name any of them.
inline constexpr std::int64_t kLeastScores = 256;

// A text: its features in ascending order, the same scattered, and their values.
struct Query {
    std::span<const std::int32_t> features;
    std::span<const std::uint32_t> hashes;
    std::span<const float> values;
};

// Trusted: the level, the parent and the query's features, which ascend below level.features; and that `scores` has
// room for the level's widest parent and for kLeastScores.
// scores[c] = bias(c) + sum_j values[j] · w(feature j, c), summed in the order of the query's features.
void score_chunk(const Level& level, std::int64_t parent, const Query& query, float* scores);

}  // namespace treetop

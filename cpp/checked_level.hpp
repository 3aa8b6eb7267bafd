// Where the arrays of levels enter the core: they come from files, and searches trust what is checked here.
#pragma once

#include <cstdint>
#include <span>

#include "packed_level.hpp"

namespace treetop {

struct LevelArrays {
    std::span<const std::int64_t> offsets, chunks, starts;
    std::span<const std::uint32_t> buckets;
    std::span<const std::uint8_t> bytes, tables;
    std::span<const float> codes, biases;
};

// A view of the arrays; throws std::invalid_argument where their sizes or pointers are inconsistent. What the buckets
// hold is checked where it is read: damaged bytes give wrong scores, never an out-of-bounds access.
Level checked_level(const LevelArrays& arrays, std::int64_t features, bool last);

// Parents that unpack() is asked for.
void check_parents(const Level& level, std::span<const std::int64_t> parents);

// The same for weights as they are trained, and for what pack() is asked to do with them.
void check(const PlainLevel& level, std::int64_t features);
void check_packing(std::int64_t features, std::int64_t dense, bool coded, std::span<const float> codes);

}  // namespace treetop

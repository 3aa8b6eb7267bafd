// Prediction: from the root down, keep the best nodes of every level, return the best labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csr.hpp"
#include "packed_level.hpp"
#include "parallel.hpp"
#include "ranking.hpp"

namespace treetop {

// How a raw score u becomes a node's score and is combined with the score S of its parent.
struct Transform {
    enum class Kind {
        raw,      // u; the parent is ignored
        sigmoid,  // 1 / (1 + e^-u)
        hinge,    // exp(-max(0, 1 - u)^power)
    };
    Kind kind = Kind::hinge;
    int power = 3;
    bool noisy_or = false;  // 1 - (1 - T(u))(1 - S) instead of the product T(u) S
    bool log = false;       // return the logarithm of the product
    double discount = 1.0;  // exponent of the parent's score: T(u) S^discount; 0: T(u) alone

    bool multiplies() const { return kind != Kind::raw && !noisy_or; }
};

struct Search {
    std::span<const Level> levels;
    std::span<const Transform> transforms;    // one per level
    std::span<const std::int64_t> beams;      // nodes kept after each level; the last one is k
    std::span<const std::int32_t> labels;     // leaf position -> label id; empty: positions
    const Csr* start = nullptr;               // queries x nodes above the first level, with scores; null: the root
};

// Throws std::invalid_argument where search() could not trust what it is given.
void check(const Search& search, const Csr& queries);

// Ranks all rows of `queries`; ties are broken by raw score, then by smaller id. Scores do not depend on
// threads or on which rows are ranked together. Trusts what check() accepts, and levels as checked_level() or pack()
// give them.
Ranking search(const Search& search, const Csr& queries, int threads, Monitor* monitor = nullptr);

}  // namespace treetop

// Ranked lists of labels or nodes, and sums of several of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "csr.hpp"

namespace treetop {

// Ranked ids of every row: best first, equal scores by smaller id unless the maker knows better.
struct Ranking {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> ids;
    std::vector<float> scores;
};

// The k best of  sum_m weights[m] * scores_m  per row; an id that a list does not hold scores 0 there.
// Ties are broken by the better place in a list, then by smaller id. All lists have the same rows.
// Trusts what check_lists() accepts, which throws std::invalid_argument for all else.
void check_lists(std::span<const Csr> lists, std::span<const double> weights, std::int64_t k);
Ranking combine(std::span<const Csr> lists, std::span<const double> weights, std::int64_t k, int threads);

// What is wrong with ranked lists of ids in [0, labels): pointers, ids, scores that are not finite or that increase.
// Empty if nothing is. Trusts nothing.
std::string ranking_flaw(std::span<const std::int64_t> indptr, std::span<const std::int32_t> ids,
                         std::span<const float> scores, std::int64_t labels);

// The rankings of consecutive blocks of rows as one; empties `parts`.
Ranking join(std::vector<Ranking>& parts);

}  // namespace treetop

// Which predictions are right: the one question every ranking metric asks.
#pragma once

#include <cstdint>
#include <vector>

#include "csr.hpp"

namespace treetop {

// 1 for every predicted label that is among the true labels of its row, else 0; in the order of `predicted`.
// Trusts what check() accepts, which throws std::invalid_argument for all else, and that the rows of `truth` ascend.
void check(const Pattern& truth, const Pattern& predicted);
std::vector<std::uint8_t> hits(const Pattern& truth, const Pattern& predicted, int threads);

}  // namespace treetop

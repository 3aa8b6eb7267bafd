// Whether a kernel can trust the structure of a sparse matrix. Kernels index their own arrays with what is in it, so
// every matrix is checked where it enters the core, and the doors of the package turn a flaw into a sentence.
#pragma once

#include <cstdint>

#include "csr.hpp"

namespace treetop {

enum class Order { any, ascending };  // of the columns in a row; ascending columns are unique, too

struct CsrFlaw {
    enum class Kind { none, pointers, columns, order };
    Kind kind = Kind::none;
    std::int64_t row = 0;  // the first row that has it
};

// Row pointers ascend from 0 to at most `entries`; columns are in [0, matrix.cols), in the given order.
CsrFlaw csr_flaw(const Pattern& matrix, std::int64_t entries, Order order, int threads);

}  // namespace treetop

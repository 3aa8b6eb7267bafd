// Whether a kernel can trust the structure of a sparse matrix. Kernels index their own arrays with what is in it, so
// every matrix is checked where it enters the core, and the doors of the package turn a flaw into a sentence.
#pragma once

#include <cstdint>
#include <span>

#include "csr.hpp"

namespace treetop {

enum class Order { any, ascending };  // of the columns in a row; ascending columns are unique, too

struct CsrFlaw {
    enum class Kind { none, pointers, columns, order };
    Kind kind = Kind::none;
    std::int64_t row = 0;  // the first row that has it
};

const char* name_of(CsrFlaw::Kind kind);

// Row pointers ascend from 0 to at most `entries`; columns are in [0, matrix.cols), in the given order.
CsrFlaw csr_flaw(const Pattern& matrix, std::int64_t entries, Order order, int threads);

// For assertions: whether kernels may have this matrix.
bool sound(const Pattern& matrix, Order order = Order::ascending);

inline constexpr std::int64_t kAnyColumn = std::int64_t{1} << 31;  // where no kernel relies on the number of columns

// Views of arrays from outside; throw std::invalid_argument where a kernel could not trust them.
Pattern checked_pattern(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices, std::int64_t cols,
                        Order order, int threads);
Csr checked_csr(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                std::span<const float> data, std::int64_t cols, Order order, int threads);

}  // namespace treetop

// Views of sparse matrices in compressed rows. One fixed layout (64-bit row pointers, 32-bit column ids, float
// values) keeps every kernel a single instantiation; Python hands over exactly this, copying only what differs.
//
// Views trust their arrays. Those from outside are checked when a view is made of them: see csr_flaw.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "checked.hpp"

namespace treetop {

struct Pattern {  // which entries are there, no values
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    const std::int64_t* indptr = nullptr;
    const std::int32_t* indices = nullptr;

    std::int64_t nnz() const { return rows == 0 ? 0 : indptr[rows]; }
    std::span<const std::int32_t> row(std::int64_t i) const {
        TREETOP_ASSERT(0 <= i && i < rows && 0 <= indptr[i] && indptr[i] <= indptr[i + 1]);
        return {indices + indptr[i], static_cast<std::size_t>(indptr[i + 1] - indptr[i])};
    }
};

struct Csr : Pattern {
    const float* data = nullptr;

    std::span<const float> values(std::int64_t i) const {
        TREETOP_ASSERT(0 <= i && i < rows && 0 <= indptr[i] && indptr[i] <= indptr[i + 1]);
        return {data + indptr[i], static_cast<std::size_t>(indptr[i + 1] - indptr[i])};
    }
};

}  // namespace treetop

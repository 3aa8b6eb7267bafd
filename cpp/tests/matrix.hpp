// A sparse matrix that owns its arrays, to build test inputs row by row.
#pragma once

#include "csr.hpp"

#include <cstdint>
#include <vector>

struct Matrix {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> data;
    std::int64_t cols = 0;

    treetop::Csr view() const {
        treetop::Csr csr;
        csr.rows = static_cast<std::int64_t>(indptr.size()) - 1;
        csr.cols = cols;
        csr.indptr = indptr.data();
        csr.indices = indices.data();
        csr.data = data.data();
        return csr;
    }
};

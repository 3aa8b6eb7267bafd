// Sparse matrices made of a fuzzer's bytes, and the door that they go through.
#pragma once

#include "csr_flaw.hpp"
#include "input.hpp"
#include "../tests/matrix.hpp"

inline Matrix matrix_of(Input& input, std::int64_t rows, std::int64_t cols) {
    Matrix matrix;
    matrix.cols = cols;
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t id = input.below(4); id < cols; id += 1 + input.below(4)) {
            if (input.empty() || input.once_in(8)) break;
            matrix.indices.push_back(static_cast<std::int32_t>(id));
            matrix.data.push_back(input.number());
        }
        matrix.indptr.push_back(static_cast<std::int64_t>(matrix.indices.size()));
    }
    matrix.indices.shrink_to_fit();
    matrix.data.shrink_to_fit();
    matrix.indptr.shrink_to_fit();
    return matrix;
}

inline Matrix transposed(const Matrix& matrix) {
    Matrix other;
    other.cols = static_cast<std::int64_t>(matrix.indptr.size()) - 1;
    for (std::int64_t column = 0; column < matrix.cols; ++column) {
        for (std::size_t row = 0; row + 1 < matrix.indptr.size(); ++row) {
            for (auto j = matrix.indptr[row]; j < matrix.indptr[row + 1]; ++j) {
                if (matrix.indices[static_cast<std::size_t>(j)] != column) continue;
                other.indices.push_back(static_cast<std::int32_t>(row));
                other.data.push_back(matrix.data[static_cast<std::size_t>(j)]);
            }
        }
        other.indptr.push_back(static_cast<std::int64_t>(other.indices.size()));
    }
    return other;
}

// Damages the matrix once in four times, and takes it through the door, which may throw.
inline treetop::Csr entered(Input& input, Matrix& matrix, treetop::Order order = treetop::Order::ascending) {
    if (input.once_in(4)) {
        damage(input, matrix.indptr);
        damage(input, matrix.indices);
        damage(input, matrix.data);
    }
    return treetop::checked_csr(matrix.indptr, matrix.indices, matrix.data, matrix.cols, order, 1);
}

// A sparse matrix as solvers and clustering read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csr.hpp"

namespace treetop {

// Features are renumbered by decreasing frequency, so that the common ones lie together in every table that is
// indexed by feature. A feature that only one row has ("own") never meets another row: it is kept apart.
struct SharedRows {
    // Trusts the matrix.
    SharedRows(const Csr& features, int threads);
    // Sets the weights of the rows; throws std::invalid_argument where they are not one above 0 for each row.
    void weigh(std::span<const float> given);

    Csr source;                            // as given
    std::vector<float> weights;            // of the rows, all above 0; empty: all 1. For solvers
    std::int64_t shared_features = 0;
    std::vector<std::int32_t> names;       // of the shared features, in `source`
    std::vector<std::int64_t> indptr;      // shared entries of every row
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::vector<std::int64_t> own_indptr;  // own entries of every row, by their ids in `source`
    std::vector<std::int32_t> own_ids;
    std::vector<float> own_values;

    std::int64_t rows() const { return source.rows; }
    float weight(std::int64_t row) const { return weights.empty() ? 1.0F : weights[static_cast<std::size_t>(row)]; }
    std::vector<float> own_squares() const;  // per row: sum over its own entries
};

}  // namespace treetop

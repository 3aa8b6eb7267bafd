// The sum of the vectors of every cluster, and the inner products of a vector with all of these sums. Trusts the
// numbers of vectors, features and clusters that it is given.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace treetop {

// Sparse vectors with features numbered by decreasing frequency. A feature that only one vector has ("own") meets no
// other vector: all that k-means needs of it is its square.
struct ClusterRows {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::span<const float> values;
    std::span<const float> own_squares;  // per vector: sum over its own features
    std::int64_t features = 0;           // of those that two vectors or more have

    std::size_t count() const { return own_squares.size(); }
};

// Most features occur in few clusters, the more so the better the clusters are. Such a feature has a list of
// (cluster, sum); only one that occurs in many clusters has a row with a place for each of them, so that an entry of
// a vector costs a few additions or a short run of vector instructions, and the rows stay in the cache.
class ClusterSums {
public:
    static constexpr std::int32_t kNowhere = -1;

    // What one thread needs to compute products.
    struct Scratch {
        std::vector<std::int32_t> rows, lists;
        std::vector<float> row_values, list_values;
        std::vector<float> products;  // with the clusters 0..clusters-1; the rest is meaningless
    };

    // `rows` must outlive the sums.
    void prepare(const ClusterRows& rows, std::size_t clusters, int threads);

    // Recomputes the sums; `clusters` has the cluster of every vector, or kNowhere.
    void update(std::span<const std::int32_t> clusters, int threads);

    // <x, s_c> for all clusters c, x being the vector `row`, which is in the cluster `own` or kNowhere.
    void multiply(std::size_t row, std::int32_t own, Scratch& scratch) const;

    const std::vector<double>& squares() const { return squares_; }  // |s_c|^2
    const std::vector<std::int64_t>& sizes() const { return sizes_; }

private:
    struct alignas(64) Line {
        float lanes[kLanes];
    };
    struct Block;

    void transpose(int threads);
    void cut_blocks();
    void sum_features(std::size_t block, std::span<const std::int32_t> clusters, Block& scratch);

    ClusterRows rows_;
    std::size_t clusters_ = 0;
    std::size_t lines_ = 0;                     // of a row of sums
    std::vector<std::int64_t> column_starts_;   // the vectors feature by feature
    std::vector<std::int32_t> column_rows_;
    std::vector<float> column_values_;
    std::vector<std::int64_t> blocks_;          // borders of ranges of features with about as many entries each

    std::size_t list_most_ = 0;                 // a feature in more clusters has a row
    std::vector<std::uint8_t> has_row_;         // per feature: 1 for a row, 0 for a list
    std::vector<ClusterList> lists_;
    std::vector<Line> table_;                   // rows of the features that may need one, which come first
    std::vector<double> block_squares_;         // blocks x clusters
    std::vector<double> squares_;
    std::vector<std::int64_t> sizes_;
};

}  // namespace treetop

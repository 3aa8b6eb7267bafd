// Clusters of labels. Both procedures work on a range of an order array and leave every cluster contiguous in it.
#pragma once

#include "csr.hpp"
#include "parallel.hpp"

#include <cstdint>
#include <vector>

namespace treetop {

// Both procedures stop a k-means when nothing moves, or when an iteration has raised the mean similarity of an item
// to its centre (inner product with the normalised sum, or with the mean) by less than this; labels' vectors have
// about unit length.
inline constexpr double kLeastGain = 1e-4;

struct ClusterOptions {
    int iterations = 20;      // at most
    bool spherical = true;    // centres are normalised sums (cosine), else means (Euclidean distance)
    std::uint64_t seed = 0;
    int threads = 1;
};

// Throws std::invalid_argument where clustering could not trust the options: without an iteration, items have no place.
void check(const ClusterOptions& options);

// An order of items and, for every level, where each parent's children begin: parent p of level t owns the nodes
// [offsets[t][p], offsets[t][p+1]). The nodes of the last level are positions in `order`.
struct Clusters {
    std::vector<std::int32_t> order;
    std::vector<std::vector<std::int64_t>> offsets;
};

// Balanced tree with sizes[0] < sizes[1] < ... nodes per level below the root, items under the last of them.
// A node is cut in k by repeated bisection: k/2 of its children, rounded down, get that share of its items.
// Trusts what check() accepts; other sizes throw. Bisection: sort by the difference of the similarities to the two centres, cut at the share, move the centres.
Clusters balanced_clusters(const Csr& vectors, const std::vector<std::int64_t>& sizes, const ClusterOptions& options,
                           Monitor* monitor = nullptr);

// k-means without balance, `depth` levels of internal nodes; a node of at most `leaf_size` items is not cut but
// carried down as an only child. Clusters of one item join their nearest neighbour, empty ones vanish. Trusts what
// check() accepts.
Clusters unbalanced_clusters(const Csr& vectors, int branching, std::int64_t leaf_size, int depth,
                             const ClusterOptions& options, Monitor* monitor = nullptr);

}  // namespace treetop

// Exact nearest neighbours by inner product over sparse rows, and the vote of their labels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "csr.hpp"
#include "parallel.hpp"
#include "ranking.hpp"

namespace treetop {

// The documents' entries, each stored once. Value = scale of the document * code.
//
// Features that most documents share would have long posting lists that say little. Those, the `frequent`
// ones, are stored by document; all others by feature, as postings. A query adds up its postings, bounds what the
// frequent features can still add to a document by Cauchy-Schwarz, and looks at the frequent entries only of the
// documents whose bound reaches the k best.
//
// Documents are cut into blocks of 2^16, so that a posting names its document in 16 bits and the sums of a block
// stay in the cache. No value of a posting or a frequent entry leads outside the fixed tables of the search.
struct NeighbourIndex {
    static constexpr std::int64_t kBlock = std::int64_t{1} << 16;
    static constexpr std::int64_t kFrequent = 256;  // at most: a frequent entry names its feature in 8 bits

    std::int64_t documents = 0;
    std::int64_t features = 0;
    const float* scales = nullptr;             // of every document
    const std::int64_t* starts = nullptr;      // postings of (block b, feature f): from starts[b * features + f]
    const std::uint16_t* members = nullptr;    // document inside the block
    const std::int8_t* codes = nullptr;
    std::int64_t frequent_count = 0;
    const std::int32_t* frequent = nullptr;    // ids of the frequent features, ascending
    const std::int64_t* rows = nullptr;        // frequent entries of document d: [rows[d], rows[d+1])
    const std::uint8_t* slots = nullptr;       // position in `frequent`
    const std::int8_t* row_codes = nullptr;
    const float* norms = nullptr;              // Euclidean length of every document's frequent entries

    std::int64_t blocks() const { return (documents + kBlock - 1) / kBlock; }
};

// The arrays of an index, named as there.
struct NeighbourArrays {
    std::span<const float> scales;
    std::span<const std::int64_t> starts;
    std::span<const std::uint16_t> members;
    std::span<const std::int8_t> codes;
    std::span<const std::int32_t> frequent;
    std::span<const std::int64_t> rows;
    std::span<const std::uint8_t> slots;
    std::span<const std::int8_t> row_codes;
    std::span<const float> norms;
};

// A view of arrays from outside; throws std::invalid_argument where a search could not trust them.
NeighbourIndex checked_index(const NeighbourArrays& arrays, std::int64_t features);

struct OwnedNeighbourIndex {
    std::vector<float> scales;
    std::vector<std::int64_t> starts;
    std::vector<std::uint16_t> members;
    std::vector<std::int8_t> codes;
    std::vector<std::int32_t> frequent;
    std::vector<std::int64_t> rows;
    std::vector<std::uint8_t> slots;
    std::vector<std::int8_t> row_codes;
    std::vector<float> norms;
};

// Values are rounded to 8 bits: each to a multiple of its document's largest / 127.
OwnedNeighbourIndex index_neighbours(const Csr& documents, int threads, Monitor* monitor = nullptr);

// The `count` documents of largest inner product with each query, best first, equal ones by smaller id; only
// products above 0. With `skip_own`, document i is no neighbour of query i.
// Trusted: an index as checked_index() or index_neighbours() gives it, queries with its number of columns, count >= 1.
Ranking nearest(const NeighbourIndex& index, const Csr& queries, std::int64_t count, bool skip_own, int threads,
                Monitor* monitor = nullptr);

struct Vote {
    std::int64_t neighbours = 30;
    double power = 2.0;
    std::int64_t labels = 5;  // given back per query, at most
    bool skip_own = false;
};

// Throw std::invalid_argument where nearest() or vote() could not trust what they are given.
void check(const Vote& options);
void check(const NeighbourIndex& index, const Pattern& labels);

// The best labels of each query's neighbours D, whose inner products are c_d:
//     score(l) = sum of c_d^power over d in D with label l / sum of c_d^power over d in D
// Trusts what check() accepts, and an index and queries as nearest() does.
Ranking vote(const NeighbourIndex& index, const Pattern& labels, const Csr& queries, const Vote& options, int threads,
             Monitor* monitor = nullptr);

}  // namespace treetop

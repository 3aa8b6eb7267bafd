// Which labels share documents: visits of random walks between labels and documents.
#pragma once

#include "csr.hpp"
#include "label_vectors.hpp"
#include "parallel.hpp"

#include <cstdint>

namespace treetop {

struct WalkOptions {
    int hops = 400;          // per label
    double restart = 0.8;    // probability that a hop after the first begins at the walk's own label
    int neighbours = 10;     // most visited labels that are kept
    std::uint64_t seed = 0;
    int threads = 1;
};

// Whether one matrix is the transpose of the other; both have ascending columns.
bool transposes(const Pattern& matrix, const Pattern& other);
// Throws std::invalid_argument where label_graph() could not trust what it is given.
void check(const Pattern& documents_of, const Pattern& labels_of, const WalkOptions& options);

// Row l of the result: the labels that the walk of l visits most, with their numbers of visits; of equal numbers the
// smaller ids. A hop goes from a label to one of its documents, and from that to one of its labels, both with equal
// probabilities. Each row holds l itself, with its visits or 1; a label without documents has nothing else.
// `documents_of` is labels x documents, `labels_of` its transpose: the walk trusts that it can go back. See check().
OwnedCsr label_graph(const Pattern& documents_of, const Pattern& labels_of, const WalkOptions& options,
                     Monitor* monitor = nullptr);

}  // namespace treetop

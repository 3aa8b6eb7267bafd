// PIFA, positive instance feature aggregation: a label is the normalised sum of its documents' features.
#pragma once

#include "csr.hpp"
#include "parallel.hpp"

#include <cstdint>
#include <vector>

namespace treetop {

struct OwnedCsr {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<float> data;
};

struct VectorOptions {
    std::int64_t size = 0;           // the largest entries of a label that are kept; 0: all
    std::int32_t min_documents = 1;  // features of fewer documents are left out
    bool unit = true;                // scaled to length 1 (before it is cut); false: the sums as they are
};

// Row l of the result is v / ||v||_2, or v, with v = sum over documents i of labels(l, i) * features(i, :), cut as the
// options say. `labels` is labels x documents with its weights. A label without documents stays a zero row.
// Trusted: the columns of `labels` are the rows of `features`.
OwnedCsr aggregate(const Csr& labels, const Csr& features, const VectorOptions& options, int threads,
                   Monitor* monitor = nullptr);

}  // namespace treetop

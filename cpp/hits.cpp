#include "hits.hpp"

#include <algorithm>

#include "csr_flaw.hpp"
#include "parallel.hpp"
#include "require.hpp"

namespace treetop {

void check(const Pattern& truth, const Pattern& predicted) {
    require(truth.rows == predicted.rows, "truth and predictions have different numbers of rows");
}

std::vector<std::uint8_t> hits(const Pattern& truth, const Pattern& predicted, int threads) {
    TREETOP_ASSERT((check(truth, predicted), true) && sound(truth) && sound(predicted, Order::any));
    std::vector<std::uint8_t> right(static_cast<std::size_t>(predicted.nnz()));
    parallel_blocks(predicted.rows, 4096, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const auto labels = truth.row(i);
            for (std::int64_t p = predicted.indptr[i]; p < predicted.indptr[i + 1]; ++p) {
                right[static_cast<std::size_t>(p)] =
                    std::binary_search(labels.begin(), labels.end(), predicted.indices[p]) ? 1 : 0;
            }
        }
    });
    return right;
}

}  // namespace treetop

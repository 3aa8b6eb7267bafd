#include "csr_flaw.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "parallel.hpp"

namespace treetop {
namespace {

constexpr std::int64_t kBlock = 4096;  // rows

CsrFlaw::Kind flaw_of_row(std::span<const std::int32_t> columns, std::int64_t cols, Order order) {
    if (columns.empty()) return CsrFlaw::Kind::none;
    std::int32_t descents = 0;
    const std::int32_t* ids = columns.data();
    for (std::size_t j = 1; j < columns.size(); ++j) descents |= ids[j] <= ids[j - 1];  // no branch: vectorised
    if (descents == 0 && ids[0] >= 0 && columns.back() < cols) return CsrFlaw::Kind::none;
    const auto [least, most] = std::ranges::minmax(columns);
    if (least < 0 || most >= cols) return CsrFlaw::Kind::columns;
    return order == Order::any ? CsrFlaw::Kind::none : CsrFlaw::Kind::order;
}

}  // namespace

CsrFlaw csr_flaw(const Pattern& matrix, std::int64_t entries, Order order, int threads) {
    if (matrix.indptr[0] != 0) return {CsrFlaw::Kind::pointers, 0};
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
        if (matrix.indptr[row + 1] < matrix.indptr[row] || matrix.indptr[row + 1] > entries) {
            return {CsrFlaw::Kind::pointers, row};
        }
    }
    constexpr auto kNone = std::numeric_limits<std::int64_t>::max();
    std::atomic<std::int64_t> first{kNone};
    parallel_blocks(matrix.rows, kBlock, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t row = begin; row < end; ++row) {
            if (flaw_of_row(matrix.row(row), matrix.cols, order) == CsrFlaw::Kind::none) continue;
            for (auto seen = first.load(); row < seen && !first.compare_exchange_weak(seen, row);) {
            }
            return;
        }
    });
    const std::int64_t row = first.load();
    if (row == kNone) return {};
    return {flaw_of_row(matrix.row(row), matrix.cols, order), row};
}

}  // namespace treetop

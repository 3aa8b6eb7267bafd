#include "csr_flaw.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <string>

#include "parallel.hpp"
#include "require.hpp"

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

const char* name_of(CsrFlaw::Kind kind) {
    switch (kind) {
        case CsrFlaw::Kind::none: return "none";
        case CsrFlaw::Kind::pointers: return "pointers";
        case CsrFlaw::Kind::columns: return "columns";
        case CsrFlaw::Kind::order: return "order";
    }
    return "";
}

bool sound(const Pattern& matrix, Order order) {
    return 0 <= matrix.rows && 0 <= matrix.cols && matrix.cols <= kAnyColumn &&
           (matrix.rows == 0 || csr_flaw(matrix, matrix.nnz(), order, 1).kind == CsrFlaw::Kind::none);
}

Pattern checked_pattern(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices, std::int64_t cols,
                        Order order, int threads) {
    require(!indptr.empty(), "indptr must have at least one entry");
    require(0 <= cols && cols <= kAnyColumn, "the number of columns is out of range");
    const Pattern matrix{static_cast<std::int64_t>(indptr.size()) - 1, cols, indptr.data(), indices.data()};
    const CsrFlaw flaw = csr_flaw(matrix, static_cast<std::int64_t>(indices.size()), order, threads);
    if (flaw.kind != CsrFlaw::Kind::none) {
        throw std::invalid_argument("a matrix is not valid: the " + std::string(name_of(flaw.kind)) + " of row " +
                                    std::to_string(flaw.row));
    }
    return matrix;
}

Csr checked_csr(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                std::span<const float> data, std::int64_t cols, Order order, int threads) {
    const Pattern matrix = checked_pattern(indptr, indices, cols, order, threads);
    require(data.size() == indices.size(), "data and indices differ in length");
    return {matrix, data.data()};
}

}  // namespace treetop

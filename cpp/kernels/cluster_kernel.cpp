#include "kernels.hpp"
#include "lanes.hpp"

namespace treetop::TREETOP_ISA {

void cluster_products(const ClusterProducts& work);

namespace {

constexpr std::int64_t kAhead = 8;  // rows that are on their way
constexpr int kHeld = kWidth / 2;  // lines whose sums the registers hold

// products[c] += value * table[row][c] for some lines of the table, row after row.
template <int Lines>
void add_rows(const ClusterProducts& work, std::int64_t first) {
    const float* table = work.table + kLanes * first;
    float* products = work.products + kLanes * first;
    Lanes held[Lines];
    for (int line = 0; line < Lines; ++line) held[line] = load(products + kLanes * line);
    for (std::int64_t j = 0; j < work.row_count; ++j) {
        if (j + kAhead < work.row_count) {
            const float* next = table + kLanes * work.lines * static_cast<std::int64_t>(work.rows[j + kAhead]);
            for (int line = 0; line < Lines; ++line) prefetch(next + kLanes * line);
        }
        const float* row = table + kLanes * work.lines * static_cast<std::int64_t>(work.rows[j]);
        for (int line = 0; line < Lines; ++line) held[line] += load(row + kLanes * line) * work.row_values[j];
    }
    for (int line = 0; line < Lines; ++line) store(products + kLanes * line, held[line]);
}

// As many lines as are left, up to Most.
template <int Most>
void add_rows_to_rest(const ClusterProducts& work, std::int64_t first) {
    if constexpr (Most > 1) {
        if (work.lines - first < Most) return add_rows_to_rest<Most - 1>(work, first);
    }
    add_rows<Most>(work, first);
}

}  // namespace

void cluster_products(const ClusterProducts& work) {
    for (std::int64_t j = 0; j < work.list_count; ++j) prefetch(work.lists + work.listed[j]);
    for (std::int64_t line = 0; line < work.lines; line += kHeld) add_rows_to_rest<kHeld>(work, line);
    for (std::int64_t j = 0; j < work.list_count; ++j) {
        const ClusterList& list = work.lists[work.listed[j]];
        for (int place = 0; place < kListMost; ++place) {
            work.products[list.clusters[place]] += work.list_values[j] * list.sums[place];
        }
    }
}

}  // namespace treetop::TREETOP_ISA

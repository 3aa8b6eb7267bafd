#include "ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "csr_flaw.hpp"
#include "parallel.hpp"
#include "require.hpp"

namespace treetop {
namespace {

struct Scored {
    double score;
    std::int32_t id;
    std::int32_t place;  // the best that a list gives it
};

// One row: all entries sorted by id (lists stay in order, so sums are reproducible), added up, best k first.
void combine_row(std::span<const Csr> lists, std::span<const double> weights, std::int64_t row, std::size_t k,
                 std::vector<Scored>& entries) {
    entries.clear();
    for (std::size_t m = 0; m < lists.size(); ++m) {
        const auto ids = lists[m].row(row);
        const auto scores = lists[m].values(row);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            entries.push_back({weights[m] * double{scores[j]}, ids[j], static_cast<std::int32_t>(j)});
        }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    std::size_t count = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (count > 0 && entries[count - 1].id == entries[i].id) {
            entries[count - 1].score += entries[i].score;
            entries[count - 1].place = std::min(entries[count - 1].place, entries[i].place);
        } else {
            entries[count++] = entries[i];
        }
    }
    entries.resize(count);
    for (auto& entry : entries) {  // NaN, from scores that overflow, ranks last
        if (std::isnan(entry.score)) entry.score = -std::numeric_limits<double>::infinity();
    }
    const auto keep = static_cast<std::ptrdiff_t>(std::min(k, count));
    // Compared as the floats that are given back, so that ties are ties. The lists know an order among equal scores
    // (all margins beyond 1 are the same to a hinge): it decides.
    std::partial_sort(entries.begin(), entries.begin() + keep, entries.end(), [](const auto& a, const auto& b) {
        const auto left = static_cast<float>(a.score), right = static_cast<float>(b.score);
        if (left != right) return left > right;
        return a.place != b.place ? a.place < b.place : a.id < b.id;
    });
    entries.resize(static_cast<std::size_t>(keep));
}

}  // namespace

void check_lists(std::span<const Csr> lists, std::span<const double> weights, std::int64_t k) {
    require(!lists.empty() && lists.size() == weights.size(), "one weight per ranking is needed");
    require(k >= 1, "k must be at least 1");
    for (const Csr& list : lists) {
        require(list.rows == lists.front().rows, "the rankings have different numbers of rows");
    }
}

Ranking combine(std::span<const Csr> lists, std::span<const double> weights, std::int64_t k, int threads) {
    constexpr std::int64_t kBlock = 256;
    TREETOP_ASSERT((check_lists(lists, weights, k), true));
    TREETOP_ASSERT(std::ranges::all_of(lists, [](const Csr& list) { return sound(list, Order::any); }));
    const std::int64_t rows = lists.empty() ? 0 : lists.front().rows;
    std::vector<Ranking> parts(static_cast<std::size_t>((rows + kBlock - 1) / kBlock));
    std::vector<std::vector<Scored>> scratch(static_cast<std::size_t>(std::max(threads, 1)));
    parallel_blocks(rows, kBlock, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
        Ranking& part = parts[static_cast<std::size_t>(begin / kBlock)];
        auto& entries = scratch[static_cast<std::size_t>(worker)];
        for (std::int64_t row = begin; row < end; ++row) {
            combine_row(lists, weights, row, static_cast<std::size_t>(k), entries);
            for (const auto& entry : entries) {
                part.ids.push_back(entry.id);
                part.scores.push_back(static_cast<float>(entry.score));
            }
            part.indptr.push_back(static_cast<std::int64_t>(part.ids.size()));
        }
    });
    return join(parts);
}

std::string ranking_flaw(std::span<const std::int64_t> indptr, std::span<const std::int32_t> ids,
                         std::span<const float> scores, std::int64_t labels) {
    if (!ascending_to(indptr, ids.size())) return "indptr must ascend from 0 to the number of predicted labels";
    require(ids.size() == scores.size(), "scores and ids differ in length");
    for (std::size_t row = 0; row + 1 < indptr.size(); ++row) {
        const auto row_name = [row] { return "row " + std::to_string(row); };
        const auto begin = static_cast<std::size_t>(indptr[row]), end = static_cast<std::size_t>(indptr[row + 1]);
        for (std::size_t j = begin; j < end; ++j) {
            if (ids[j] < 0 || ids[j] >= labels) return "a label id lies outside 0…" + std::to_string(labels - 1);
        }
        for (std::size_t j = begin; j < end; ++j) {
            if (!std::isfinite(scores[j])) return row_name() + " has a score that is not a finite number";
            if (j > begin && scores[j] > scores[j - 1]) return row_name() + " is not ordered by decreasing score";
        }
    }
    return {};
}

Ranking join(std::vector<Ranking>& parts) {
    if (parts.size() == 1) return std::move(parts.front());
    Ranking all;
    for (auto& part : parts) {
        const auto base = static_cast<std::int64_t>(all.ids.size());
        for (std::size_t i = 1; i < part.indptr.size(); ++i) all.indptr.push_back(base + part.indptr[i]);
        all.ids.insert(all.ids.end(), part.ids.begin(), part.ids.end());
        all.scores.insert(all.scores.end(), part.scores.begin(), part.scores.end());
        part = Ranking{};
    }
    return all;
}

}  // namespace treetop

#include "label_graph.hpp"

#include "csr_flaw.hpp"
#include "random.hpp"
#include "require.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace treetop {
namespace {

using Visits = std::pair<std::int32_t, std::int32_t>;  // label, number of visits

std::int32_t one_of(std::span<const std::int32_t> items, Random& random) {
    TREETOP_ASSERT(!items.empty());
    return items[random.below(static_cast<std::uint32_t>(items.size()))];
}

// The labels that the walk of `origin` visits, in order and as often as it does.
void walk(std::int32_t origin, const Pattern& documents_of, const Pattern& labels_of, const WalkOptions& options,
          std::vector<std::int32_t>& visited) {
    visited.clear();
    if (documents_of.row(origin).empty()) return;
    Random random(options.seed, static_cast<std::uint64_t>(origin));
    std::int32_t at = origin;
    for (int hop = 0; hop < options.hops; ++hop) {
        if (hop > 0 && random.unit() < options.restart) at = origin;
        at = one_of(labels_of.row(one_of(documents_of.row(at), random)), random);
        visited.push_back(at);
    }
}

void count(std::vector<std::int32_t>& visited, std::vector<Visits>& counts) {
    counts.clear();
    std::sort(visited.begin(), visited.end());
    for (const auto label : visited) {
        if (counts.empty() || counts.back().first != label) counts.emplace_back(label, 0);
        ++counts.back().second;
    }
}

void keep_most_visited(std::int32_t origin, int neighbours, std::vector<Visits>& counts) {
    const auto own = std::find_if(counts.begin(), counts.end(), [&](const Visits& v) { return v.first == origin; });
    const Visits itself{origin, own == counts.end() ? 1 : own->second};
    std::sort(counts.begin(), counts.end(), [](const Visits& a, const Visits& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    if (counts.size() > static_cast<std::size_t>(neighbours)) counts.resize(static_cast<std::size_t>(neighbours));
    if (std::find(counts.begin(), counts.end(), itself) == counts.end()) counts.push_back(itself);
    std::sort(counts.begin(), counts.end());
}

}  // namespace

bool transposes(const Pattern& matrix, const Pattern& other) {
    if (matrix.rows != other.cols || matrix.cols != other.rows || matrix.nnz() != other.nnz()) return false;
    // Row after row of `matrix`, the entries of each row of `other` come in their order.
    std::vector<std::int64_t> next(other.indptr, other.indptr + other.rows);
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
        for (const auto column : matrix.row(row)) {
            const std::int64_t at = next[static_cast<std::size_t>(column)]++;
            if (at >= other.indptr[column + 1] || other.indices[at] != row) return false;
        }
    }
    return true;
}

void check(const Pattern& documents_of, const Pattern& labels_of, const WalkOptions& options) {
    require(transposes(documents_of, labels_of), "one matrix must be the transpose of the other");
    require(options.hops >= 0 && options.neighbours >= 0, "numbers of hops and neighbours must not be negative");
}

OwnedCsr label_graph(const Pattern& documents_of, const Pattern& labels_of, const WalkOptions& options,
                     Monitor* monitor) {
    TREETOP_ASSERT(sound(documents_of) && sound(labels_of) && (check(documents_of, labels_of, options), true));
    constexpr std::int64_t kBlock = 256;
    const auto labels = static_cast<std::size_t>(documents_of.rows);
    std::vector<std::vector<Visits>> rows(labels);

    struct Scratch {
        std::vector<std::int32_t> visited;
        std::vector<Visits> counts;
    };
    std::vector<Scratch> scratch(static_cast<std::size_t>(std::max(options.threads, 1)));
    parallel_blocks(
        documents_of.rows, kBlock, options.threads,
        [&](std::int64_t begin, std::int64_t end, int worker) {
            auto& [visited, counts] = scratch[static_cast<std::size_t>(worker)];
            for (std::int64_t label = begin; label < end; ++label) {
                const auto origin = static_cast<std::int32_t>(label);
                walk(origin, documents_of, labels_of, options, visited);
                count(visited, counts);
                keep_most_visited(origin, options.neighbours, counts);
                rows[static_cast<std::size_t>(label)] = counts;
            }
        },
        monitor);

    OwnedCsr graph;
    graph.indptr.reserve(labels + 1);
    graph.indptr.push_back(0);
    for (const auto& row : rows) {
        for (const auto& [label, visits] : row) {
            graph.indices.push_back(label);
            graph.data.push_back(static_cast<float>(visits));
        }
        graph.indptr.push_back(static_cast<std::int64_t>(graph.indices.size()));
    }
    return graph;
}

}  // namespace treetop

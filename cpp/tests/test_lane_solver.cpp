// Sixteen labels at a time against one at a time, on every instruction set.
#include "check.hpp"
#include "dual_solver.hpp"
#include "lane_solver.hpp"
#include "matrix.hpp"
#include "random.hpp"
#include "simd.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace {

constexpr int kDocuments = 60, kFeatures = 40, kListed = 50;

Matrix documents() {
    Matrix matrix;
    matrix.cols = kFeatures + kDocuments;  // document i alone has the feature kFeatures + i
    treetop::Random random(5);
    for (int i = 0; i < kDocuments; ++i) {
        for (int f = 0; f < kFeatures; ++f) {
            if (random.below(6) != 0) continue;
            matrix.indices.push_back(f);
            matrix.data.push_back(0.1F + 0.05F * static_cast<float>(random.below(8)));
        }
        matrix.indices.push_back(kFeatures + i);
        matrix.data.push_back(0.5F);
        matrix.indptr.push_back(static_cast<std::int64_t>(matrix.indices.size()));
    }
    return matrix;
}

std::uint64_t hash_of(const std::vector<std::vector<float>>& rows) {
    std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
    for (const auto& row : rows) {
        for (const float value : row) hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 1099511628211ull;
    }
    return hash;
}

}  // namespace

int main() {
    const Matrix matrix = documents();
    treetop::SharedRows rows(matrix.view(), 1);
    CHECK(rows.shared_features <= kFeatures && rows.own_ids.size() >= kDocuments);
    // Label c has every (c + 3)rd document; the last one has none of the listed documents, one has all.
    constexpr int kLabels = 11;
    std::vector<std::vector<std::int32_t>> positives(kLabels);
    std::vector<std::vector<float>> costs(kLabels);
    for (int c = 0; c < kLabels; ++c) {
        for (int i = 0; i < kDocuments; ++i) {
            const bool positive = c == 9 ? i < kListed : c == 10 ? i == 55 : i % (c + 3) == 0;
            if (!positive) continue;
            positives[c].push_back(i);
            costs[c].push_back(c % 2 == 0 ? 1.0F : 0.5F + 0.1F * static_cast<float>(i % 4));
        }
    }
    treetop::SolverOptions options;
    options.cost_positive = 2.0;
    options.tolerance = 1e-6;
    options.max_passes = 3000;

    // The plain solver reads features as they are.
    treetop::Examples examples;
    for (int i = 0; i < kDocuments; ++i) {
        double square = 0.0;
        for (auto j = matrix.indptr[i]; j < matrix.indptr[i + 1]; ++j) {
            examples.indices.push_back(matrix.indices[j]);
            examples.values.push_back(matrix.data[j]);
            square += double{matrix.data[j]} * matrix.data[j];
        }
        examples.indptr.push_back(static_cast<std::int64_t>(examples.indices.size()));
        examples.squares.push_back(square);
    }
    examples.features = static_cast<std::int32_t>(matrix.cols);

    // First all documents count alike; then with weights, and a positive of each odd label takes no part.
    for (const auto& [listed, weighted] : {std::pair{kDocuments, false}, {kListed, false}, {kDocuments, true}, {kListed, true}}) {
        if (weighted) {
            rows.weights.resize(kDocuments);
            for (int i = 0; i < kDocuments; ++i) rows.weights[i] = 0.25F * static_cast<float>(1 + i % 9);
            for (int c = 1; c < kLabels; c += 2) costs[c][1] = 0.0F;
        }
        treetop::NodeGatherer gatherer(rows);
        treetop::NodeExamples node;
        node.documents.resize(kDocuments);
        std::iota(node.documents.begin(), node.documents.end(), 0);
        gatherer.gather(node);
        std::vector<treetop::LaneLabel> labels;
        for (int c = 0; c < kLabels; ++c) labels.push_back({c, positives[c], costs[c]});
        std::vector<std::vector<float>> first;
        for (const auto& set : treetop::kernel_sets()) {
            CHECK(treetop::use_kernels(set));
            CHECK(treetop::kernels().name == set);
            treetop::LaneSolver solver;
            std::vector<treetop::WeightEntry> entries;
            solver.solve(node, listed, labels, options, 0.0, 7, entries);
            std::vector<std::vector<float>> weights(kLabels, std::vector<float>(matrix.cols + 1, 0.0F));
            for (const auto& entry : entries) {
                const auto number = static_cast<std::size_t>(entry.feature);
                const auto name = number < node.names.size() ? node.names[number]
                                                             : node.own_names[number - node.names.size()];
                weights[entry.child][name] = entry.weight;
            }
            for (std::size_t c = 0; c < kLabels; ++c) weights[c].back() = solver.bias_of(c);
            if (first.empty()) first = weights;
            CHECK(weights == first);  // bit for bit
        }
        // The same bits also on other processors: a hash of them, once computed.
        CHECK(weighted || hash_of(first) == (listed == kDocuments ? 0xd07371bcdc354595ull : 0xfa4c116867c69236ull));
        for (int c = 0; c < kLabels; ++c) {
            std::vector<std::int32_t> active;
            std::vector<signed char> sign;
            std::vector<double> cost;
            for (int i = 0; i < kDocuments; ++i) {
                const auto found = std::ranges::find(positives[c], i);
                const bool positive = found != positives[c].end();
                const double own = positive ? options.cost_positive * double{costs[c][found - positives[c].begin()]}
                                            : options.cost_negative;
                if (own == 0.0 || (!positive && i >= listed)) continue;
                active.push_back(i);
                sign.push_back(positive ? 1 : -1);
                cost.push_back(own * double{rows.weight(i)});
            }
            treetop::DualSolver plain;
            plain.solve(examples, active, sign, cost, options, 3);
            for (std::int64_t f = 0; f < matrix.cols; ++f) CHECK(std::abs(first[c][f] - plain.weights()[f]) < 1e-4);
            CHECK(std::abs(first[c].back() - plain.bias()) < 1e-4);
        }
    }
    CHECK(!treetop::use_kernels("abacus"));
    return finish();
}

#include "beam_search.hpp"
#include "check.hpp"
#include "label_vectors.hpp"
#include "level.hpp"
#include "matrix.hpp"
#include "plain_level.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace {

// Every entry is there with probability 1 / `one_in`.
Matrix scattered(int rows, int cols, std::uint32_t one_in, std::uint64_t seed) {
    Matrix matrix;
    matrix.cols = cols;
    treetop::Random random(seed);
    for (int row = 0; row < rows; ++row) {
        for (int col = 0; col < cols; ++col) {
            if (random.below(one_in) != 0) continue;
            matrix.indices.push_back(col);
            matrix.data.push_back(0.1F + 0.1F * static_cast<float>(random.below(10)));
        }
        matrix.indptr.push_back(static_cast<std::int64_t>(matrix.indices.size()));
    }
    return matrix;
}

}  // namespace

int main() {
    constexpr int kDocuments = 400, kFeatures = 50;
    const Matrix features = scattered(kDocuments, kFeatures, 5, 1);

    // Parents of 1, 40, 0 and 9 children: an only child, a big node, an empty one, a small one.
    const Matrix positives = scattered(50, kDocuments, 20, 2);
    const Matrix shortlist = scattered(4, kDocuments, 2, 3);
    treetop::LevelProblem problem;
    const treetop::SharedRows rows(features.view(), 2);
    problem.rows = &rows;
    problem.positives = positives.view();
    problem.shortlist = shortlist.view();
    problem.offsets = {0, 1, 41, 41, 50};
    problem.threshold = 0.05;
    for (const bool last : {true, false}) {
        problem.last = last;
        const auto one = treetop::train_level(problem, 1);
        for (const int threads : {2, 3}) {
            const auto more = treetop::train_level(problem, threads);
            CHECK(one.chunks == more.chunks && one.features == more.features && one.rows == more.rows);
            CHECK(one.children == more.children && one.weights == more.weights && one.biases == more.biases);
        }
        CHECK(one.chunks.size() == 5 && one.chunks[2] == one.chunks[3]);
        CHECK((one.chunks[1] == 0) == !last);  // above the labels an only child is carried, not trained
        CHECK(one.biases.size() == 50 && one.rows.size() == one.features.size() + 1);
        for (std::size_t p = 0; p < 4; ++p) {
            for (auto r = one.chunks[p]; r + 1 < one.chunks[p + 1]; ++r) CHECK(one.features[r] < one.features[r + 1]);
        }
        for (const float weight : one.weights) CHECK(std::abs(weight) >= 0.05F);
    }

    // Losses that are solved one label at a time: the same on any number of threads, and not that of the lanes.
    problem.last = true;
    const auto squared = treetop::train_level(problem, 2);
    for (const auto loss : {treetop::Loss::hinge, treetop::Loss::logistic}) {
        problem.solver.loss = loss;
        const auto one = treetop::train_level(problem, 1);
        const auto more = treetop::train_level(problem, 3);
        CHECK(one.features == more.features && one.rows == more.rows && one.children == more.children);
        CHECK(one.weights == more.weights && one.biases == more.biases);
        CHECK(one.biases.size() == 50 && one.biases != squared.biases);
        for (const float weight : one.weights) CHECK(std::abs(weight) >= 0.05F);
    }
    problem.solver.loss = treetop::Loss::squared_hinge;

    // Label vectors: normalised sums, the same on any number of threads.
    const Matrix labels = scattered(600, kDocuments, 100, 4);
    const auto vectors = treetop::aggregate(labels.view(), features.view(), {}, 1);
    const auto again = treetop::aggregate(labels.view(), features.view(), {}, 3);
    CHECK(vectors.indptr == again.indptr && vectors.indices == again.indices && vectors.data == again.data);
    for (std::int64_t label = 0; label < 600; ++label) {
        std::vector<double> sum(kFeatures, 0.0);
        const auto view = labels.view();
        for (std::size_t i = 0; i < view.row(label).size(); ++i) {
            const auto document = view.row(label)[i];
            const auto ids = rows.source.row(document);
            const auto values = rows.source.values(document);
            for (std::size_t j = 0; j < ids.size(); ++j) sum[ids[j]] += double{view.values(label)[i]} * values[j];
        }
        const double norm = std::sqrt(std::inner_product(sum.begin(), sum.end(), sum.begin(), 0.0));
        for (auto j = vectors.indptr[label]; j < vectors.indptr[label + 1]; ++j) {
            CHECK(std::abs(vectors.data[j] - sum[vectors.indices[j]] / norm) < 1e-5);
            sum[vectors.indices[j]] = 0.0;
        }
        for (const double left : sum) CHECK(left == 0.0);
    }

    // Cut vectors: the three largest entries, of features that enough documents have.
    const auto cut = treetop::aggregate(labels.view(), features.view(), {3, 85}, 2);
    std::vector<int> frequency(kFeatures, 0);
    for (const auto id : features.indices) ++frequency[id];
    for (std::int64_t label = 0; label < 600; ++label) {
        std::vector<std::pair<float, std::int32_t>> expected;
        for (auto j = vectors.indptr[label]; j < vectors.indptr[label + 1]; ++j) {
            if (frequency[vectors.indices[j]] >= 85) expected.emplace_back(-vectors.data[j], vectors.indices[j]);
        }
        std::sort(expected.begin(), expected.end());
        expected.resize(std::min<std::size_t>(expected.size(), 3));
        CHECK(cut.indptr[label + 1] - cut.indptr[label] == static_cast<std::int64_t>(expected.size()));
        for (auto j = cut.indptr[label]; j < cut.indptr[label + 1]; ++j) {
            CHECK(std::count(expected.begin(), expected.end(), std::pair(-cut.data[j], cut.indices[j])) == 1);
        }
    }

    // A search over a trained level, all rows at once and row by row.
    problem.last = true;
    problem.offsets = {0, 50};
    std::vector<std::int64_t> all_indptr{0, kDocuments};
    std::vector<std::int32_t> all(kDocuments);
    std::iota(all.begin(), all.end(), 0);
    problem.shortlist = {1, kDocuments, all_indptr.data(), all.data()};
    const auto flat = treetop::train_level(problem, 3);
    const TestLevel level(problem.offsets, flat.chunks, flat.features, flat.rows, flat.children, flat.weights,
                          flat.biases, rows.source.cols, true, true);
    const std::vector<treetop::Level> levels{level.level};
    const std::vector<treetop::Transform> hinge(1);
    const std::vector<std::int64_t> beams{5};
    const auto together = treetop::search({levels, hinge, beams, {}}, rows.source, 3);
    const auto alone = treetop::search({levels, hinge, beams, {}}, rows.source, kDocuments);
    CHECK(together.ids == alone.ids && together.scores == alone.scores);
    return finish();
}

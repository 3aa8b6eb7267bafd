#include "neighbours.hpp"

#include "check.hpp"
#include "matrix.hpp"
#include "random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

using treetop::NeighbourIndex;

namespace {

NeighbourIndex view(const treetop::OwnedNeighbourIndex& owned, const Matrix& matrix) {
    NeighbourIndex index;
    index.documents = matrix.view().rows;
    index.features = matrix.cols;
    index.scales = owned.scales.data();
    index.starts = owned.starts.data();
    index.members = owned.members.data();
    index.codes = owned.codes.data();
    index.frequent_count = static_cast<std::int64_t>(owned.frequent.size());
    index.frequent = owned.frequent.data();
    index.rows = owned.rows.data();
    index.slots = owned.slots.data();
    index.row_codes = owned.row_codes.data();
    index.norms = owned.norms.data();
    return index;
}

void add_row(Matrix& matrix, const std::vector<std::int32_t>& ids, const std::vector<float>& values) {
    matrix.indices.insert(matrix.indices.end(), ids.begin(), ids.end());
    matrix.data.insert(matrix.data.end(), values.begin(), values.end());
    matrix.indptr.push_back(static_cast<std::int64_t>(matrix.indices.size()));
}

// Every row holds whole numbers and a 127, so that 8 bits hold them exactly; feature 0 is in every row and low
// features are in more rows than high ones.
Matrix whole_numbers(std::int64_t rows, std::int32_t features, std::uint64_t seed) {
    treetop::Random random(seed, 0);
    Matrix matrix;
    matrix.cols = features;
    for (std::int64_t row = 0; row < rows; ++row) {
        std::vector<std::int32_t> ids;
        std::vector<float> values;
        for (std::int32_t f = 0; f < features; ++f) {
            if (f > 0 && random.below(static_cast<std::uint32_t>(f) + 1) > 1) continue;
            ids.push_back(f);
            values.push_back(static_cast<float>(random.below(9)) - 3.0F);
        }
        values.back() = 127.0F;
        add_row(matrix, ids, values);
    }
    return matrix;
}

std::vector<std::int32_t> by_hand(const Matrix& documents, const Matrix& queries, std::int64_t query,
                                  std::size_t count, std::int64_t skipped) {
    std::vector<double> dense(static_cast<std::size_t>(queries.cols));
    const auto q = queries.view();
    for (std::size_t j = 0; j < q.row(query).size(); ++j) {
        dense[static_cast<std::size_t>(q.row(query)[j])] = double{q.values(query)[j]};
    }
    std::vector<std::pair<double, std::int32_t>> products;
    const auto x = documents.view();
    for (std::int64_t d = 0; d < x.rows; ++d) {
        double sum = 0.0;
        for (std::size_t j = 0; j < x.row(d).size(); ++j) {
            sum += dense[static_cast<std::size_t>(x.row(d)[j])] * double{x.values(d)[j]};
        }
        if (sum > 0.0 && d != skipped) products.push_back({-sum, static_cast<std::int32_t>(d)});
    }
    std::sort(products.begin(), products.end());
    std::vector<std::int32_t> best;
    for (std::size_t i = 0; i < std::min(count, products.size()); ++i) best.push_back(products[i].second);
    return best;
}

std::vector<std::int32_t> row_of(const treetop::Ranking& ranking, std::int64_t row) {
    return {ranking.ids.begin() + ranking.indptr[static_cast<std::size_t>(row)],
            ranking.ids.begin() + ranking.indptr[static_cast<std::size_t>(row) + 1]};
}

void test_against_brute_force() {
    const Matrix documents = whole_numbers(700, 300, 1), queries = whole_numbers(40, 300, 2);
    const auto owned = treetop::index_neighbours(documents.view(), 2);
    CHECK(!owned.frequent.empty() && owned.frequent.size() < 300);  // both halves of the index are used
    const auto index = view(owned, documents);
    for (const bool skip_own : {false, true}) {
        for (const int threads : {1, 3}) {
            const auto found = treetop::nearest(index, queries.view(), 10, skip_own, threads);
            for (std::int64_t row = 0; row < 40; ++row) {
                CHECK(row_of(found, row) == by_hand(documents, queries, row, 10, skip_own ? row : -1));
            }
        }
    }
    // Training rows as queries: skip_own leaves each row out of its own neighbours.
    const auto others = treetop::nearest(index, documents.view(), 3, true, 2);
    for (std::int64_t row = 0; row < 700; ++row) {
        CHECK(row_of(others, row) == by_hand(documents, documents, row, 3, row));
    }
}

// More documents than a block holds: neighbours come from all blocks, equal ones by smaller id.
void test_several_blocks() {
    Matrix documents;
    documents.cols = 3;
    const std::int64_t rows = 2 * NeighbourIndex::kBlock + 10;
    for (std::int64_t row = 0; row < rows; ++row) {
        const bool near = row == 5 || row == NeighbourIndex::kBlock || row == rows - 1;
        add_row(documents, {0, near ? 1 : 2}, {1.0F, 2.0F});
    }
    Matrix queries;
    queries.cols = 3;
    add_row(queries, {0, 1}, {1.0F, 1.0F});
    const auto owned = treetop::index_neighbours(documents.view(), 2);
    const auto found = treetop::nearest(view(owned, documents), queries.view(), 5, false, 1);
    CHECK((found.ids == std::vector<std::int32_t>{5, 65536, 131081, 0, 1}));
}

void test_votes() {
    Matrix documents;
    documents.cols = 4;
    add_row(documents, {0}, {1.0F});
    add_row(documents, {0, 1}, {1.0F, 1.0F});
    add_row(documents, {2}, {1.0F});
    add_row(documents, {0}, {2.0F});
    const std::vector<std::int64_t> indptr{0, 1, 3, 4, 5};
    const std::vector<std::int32_t> ids{7, 3, 7, 1, 5};
    treetop::Pattern labels;
    labels.rows = 4;
    labels.cols = 8;
    labels.indptr = indptr.data();
    labels.indices = ids.data();
    Matrix queries;
    queries.cols = 4;
    add_row(queries, {0, 1}, {1.0F, 2.0F});  // products 1, 3, 0, 2
    add_row(queries, {3}, {1.0F});           // no neighbour
    const auto owned = treetop::index_neighbours(documents.view(), 1);
    const auto index = view(owned, documents);
    treetop::Vote options;
    options.neighbours = 3;
    const auto all = treetop::vote(index, labels, queries.view(), options, 1);
    CHECK((all.indptr == std::vector<std::int64_t>{0, 3, 3}));
    CHECK((all.ids == std::vector<std::int32_t>{7, 3, 5}));  // 1 + 9, 9, 4 of 14
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(all.scores[i] * 14.0F - std::vector{10.0F, 9.0F, 4.0F}[i]) < 1e-4F);
    options.neighbours = 2;
    options.labels = 2;
    options.power = 1.0;
    const auto two = treetop::vote(index, labels, queries.view(), options, 1);
    CHECK((two.ids == std::vector<std::int32_t>{3, 7}));  // both 3 of 5: the smaller id first
    options.skip_own = true;
    const auto others = treetop::vote(index, labels, documents.view(), options, 1);
    CHECK((others.ids == std::vector<std::int32_t>{5, 3, 5, 7, 7, 3}));
}

// The scale of values this small is rounded: 190 / 127 of the smallest number is the smallest number itself.
void test_denormal_values() {
    const float least = std::numeric_limits<float>::denorm_min();
    Matrix documents;
    documents.cols = 8;
    add_row(documents, {0, 1}, {190 * least, -190 * least});
    for (int row = 0; row < 7; ++row) add_row(documents, {2}, {1.0F});
    const auto owned = treetop::index_neighbours(documents.view(), 1);
    CHECK((std::vector<std::int8_t>(owned.codes.begin(), owned.codes.begin() + 2) == std::vector<std::int8_t>{127, -127}));
}

}  // namespace

int main() {
    test_against_brute_force();
    test_several_blocks();
    test_votes();
    test_denormal_values();
    return finish();
}

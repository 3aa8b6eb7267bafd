#include "beam_search.hpp"
#include "check.hpp"
#include "plain_level.hpp"

#include <cmath>
#include <limits>
#include <vector>

using treetop::Level;
using treetop::Transform;

// A tree of two clusters with two labels each; scores worked out by hand.
int main() {
    const TestLevel top({0, 2}, {0, 2}, {0, 1}, {0, 1, 2}, {0, 1}, {1.0F, 1.0F}, {0.0F, 0.5F}, 2, false);
    const auto bottom_of = [](float second) {
        return TestLevel({0, 2, 4}, {0, 1, 2}, {0, 1}, {0, 2, 3}, {0, 1, 1}, {0.25F, second, 1.0F},
                         {0.0F, 0.0F, 0.75F, 0.0F}, 2, true);
    };
    const TestLevel bottom = bottom_of(1.0F);

    const std::vector<std::int64_t> indptr{0, 1, 1};  // x0 = (1, 0); x1 = (0, 0)
    const std::vector<std::int32_t> indices{0};
    const std::vector<float> data{1.0F};
    treetop::Csr queries;
    queries.rows = 2;
    queries.cols = 2;
    queries.indptr = indptr.data();
    queries.indices = indices.data();
    queries.data = data.data();

    const std::vector<Level> levels{top.level, bottom.level};
    const std::vector<std::int32_t> labels{30, 10, 20, 40};
    const std::vector<std::int64_t> wide{2, 4};
    const std::vector<Transform> hinge(2, Transform{});
    const auto all = treetop::search({levels, hinge, wide, labels}, queries, 1);
    // Row 0: cluster scores 1 and exp(-0.5^3); labels 10 (u = 1), 30 (u = .25), 20 (u = .75), 40 (u = 0).
    CHECK((all.indptr == std::vector<std::int64_t>{0, 4, 8}));
    CHECK((std::vector<std::int32_t>(all.ids.begin(), all.ids.begin() + 4) == std::vector<std::int32_t>{10, 20, 30, 40}));
    CHECK(std::abs(all.scores[0] - 1.0) < 1e-6);
    CHECK(std::abs(all.scores[1] - std::exp(-0.125 - 0.015625)) < 1e-6);
    CHECK(std::abs(all.scores[2] - std::exp(-0.421875)) < 1e-6);
    CHECK(std::abs(all.scores[3] - std::exp(-0.125 - 1.0)) < 1e-6);

    // A beam of one leaves only the labels of the best cluster.
    const std::vector<std::int64_t> narrow{1, 4};
    const auto few = treetop::search({levels, hinge, narrow, labels}, queries, 2);
    CHECK((few.indptr == std::vector<std::int64_t>{0, 2, 4}));
    CHECK(few.ids[0] == 10 && few.ids[1] == 30);
    CHECK(few.ids[2] == 20 && few.ids[3] == 40);  // the empty row follows the biases

    // The lower level alone, from given nodes: row 0 starts at both clusters, row 1 at the second.
    const std::vector<std::int64_t> start_indptr{0, 2, 3};
    const std::vector<std::int32_t> start_nodes{0, 1, 1};
    const std::vector<float> start_scores{0.5F, 1.0F, 0.25F};
    treetop::Csr start;
    start.rows = 2;
    start.cols = 2;
    start.indptr = start_indptr.data();
    start.indices = start_nodes.data();
    start.data = start_scores.data();
    const std::vector<std::int64_t> four{4};
    const auto lower = treetop::search({std::span(levels).last(1), std::span(hinge).last(1), four, labels, &start},
                                       queries, 1);
    CHECK((lower.indptr == std::vector<std::int64_t>{0, 4, 6}));
    CHECK(lower.ids[0] == 20 && std::abs(lower.scores[0] - std::exp(-0.015625)) < 1e-6);
    CHECK(lower.ids[1] == 10 && std::abs(lower.scores[1] - 0.5) < 1e-6);
    CHECK(lower.ids[2] == 40 && std::abs(lower.scores[2] - std::exp(-1.0)) < 1e-6);
    CHECK(lower.ids[3] == 30 && std::abs(lower.scores[3] - 0.5 * std::exp(-0.421875)) < 1e-6);
    CHECK(lower.ids[4] == 20 && std::abs(lower.scores[4] - 0.25 * std::exp(-0.015625)) < 1e-6);

    const std::vector<Transform> raw(2, Transform{Transform::Kind::raw, 1, false, false});
    const auto plain = treetop::search({levels, raw, wide, {}}, queries, 1);
    CHECK((std::vector<std::int32_t>(plain.ids.begin(), plain.ids.begin() + 4) == std::vector<std::int32_t>{1, 2, 0, 3}));
    CHECK(plain.scores[0] == 1.0F && plain.scores[3] == 0.0F);

    const std::vector<Transform> noisy(2, Transform{Transform::Kind::sigmoid, 1, true, false});
    const auto either = treetop::search({levels, noisy, wide, {}}, queries, 1);
    const double p = 1 / (1 + std::exp(-1.0));
    CHECK(std::abs(either.scores[0] - (1 - (1 - p) * (1 - p))) < 1e-6);

    // A weight that is not a number sends its label to the end.
    const TestLevel broken = bottom_of(std::nanf(""));
    const std::vector<Level> damaged{top.level, broken.level};
    const auto rest = treetop::search({damaged, hinge, wide, labels}, queries, 1);
    CHECK(rest.indptr[1] == 4 && rest.ids[3] == 10 && rest.scores[3] == 0.0F);

    // A level without nodes has no labels to give.
    const TestLevel barren({0, 0}, {0, 0}, {}, {0}, {}, {}, {}, 2, true);
    const auto nothing = treetop::search({{&barren.level, 1}, std::span(hinge).first(1), four, {}}, queries, 1);
    CHECK((nothing.indptr == std::vector<std::int64_t>{0, 0, 0}));

    // Scores to start from that no noisy-or can combine: 1 - (1 - 1)(1 + inf).
    const std::vector<float> endless{-std::numeric_limits<float>::infinity(), 1.0F, 0.25F};
    start.data = endless.data();
    const std::vector<Transform> certain(1, Transform{Transform::Kind::hinge, 1, true, false});
    const auto odd = treetop::search({std::span(levels).last(1), certain, four, labels, &start}, queries, 1);
    for (const float score : odd.scores) CHECK(!std::isnan(score));
    return finish();
}

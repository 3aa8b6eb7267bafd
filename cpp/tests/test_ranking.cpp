#include "check.hpp"
#include "ranking.hpp"

#include <cstdint>
#include <limits>
#include <vector>

using treetop::Csr;

int main() {
    // Two lists of two rows: ids 3, 1 | 2 and 1, 5 | nothing.
    const std::vector<std::int64_t> first_ptr{0, 2, 3}, second_ptr{0, 2, 2};
    const std::vector<std::int32_t> first_ids{3, 1, 2}, second_ids{1, 5};
    const std::vector<float> first_scores{0.5F, 0.25F, 1.0F}, second_scores{1.0F, 0.5F};
    Csr first, second;
    first.rows = second.rows = 2;
    first.cols = second.cols = 6;
    first.indptr = first_ptr.data();
    first.indices = first_ids.data();
    first.data = first_scores.data();
    second.indptr = second_ptr.data();
    second.indices = second_ids.data();
    second.data = second_scores.data();
    const std::vector<Csr> lists{first, second};
    const std::vector<double> weights{1.0, 0.5};

    // Row 0: id 1 scores 0.25 + 0.5 = 0.75, id 3 0.5, id 5 0.25.
    const auto all = treetop::combine(lists, weights, 10, 2);
    CHECK((all.indptr == std::vector<std::int64_t>{0, 3, 4}));
    CHECK((all.ids == std::vector<std::int32_t>{1, 3, 5, 2}));
    CHECK((all.scores == std::vector<float>{0.75F, 0.5F, 0.25F, 1.0F}));

    const auto best = treetop::combine(lists, weights, 1, 1);
    CHECK((best.ids == std::vector<std::int32_t>{1, 2}));

    // Equal scores: the smaller id first. 3 and 1 both score 0.5 with these weights.
    const std::vector<double> even{1.0, 0.25};
    CHECK(treetop::combine(lists, even, 1, 1).ids.front() == 1);

    // Equal scores in one list: its own order stays.
    const std::vector<float> equal{1.0F, 1.0F, 1.0F};
    first.data = equal.data();
    const std::vector<Csr> alone{first};
    const std::vector<double> whole{1.0};
    CHECK((treetop::combine(alone, whole, 2, 1).ids == std::vector<std::int32_t>{3, 1, 2}));

    // A sum that is not a number ranks last.
    const std::vector<float> infinite{std::numeric_limits<float>::infinity(), 0.25F, 1.0F};
    Csr odd = first;
    odd.data = infinite.data();
    const std::vector<Csr> twice{odd, odd};
    const std::vector<double> against{1.0, -1.0};
    const auto last = treetop::combine(twice, against, 10, 1);
    CHECK((last.ids == std::vector<std::int32_t>{1, 3, 2}));
    CHECK(last.scores[0] == 0.0F && last.scores[1] == -std::numeric_limits<float>::infinity());
    return finish();
}

// Ranked lists: their check, sums of several, and which of them are correct.
#include "hits.hpp"
#include "matrices.hpp"
#include "ranking.hpp"

namespace {

using namespace treetop;

void run(Input& input) {
    const int threads = input.once_in(64) ? 2 : 1;
    const std::int64_t rows = input.below(6), labels = input.below(12);
    std::vector<Matrix> lists;
    for (auto count = input.below(4); count > 0; --count) {
        lists.push_back(matrix_of(input, input.once_in(16) ? input.below(6) : rows, labels));
        Matrix& list = lists.back();
        for (std::size_t j = 1; j < list.indices.size(); ++j) {  // ids in any order
            if (input.once_in(4)) std::swap(list.indices[j], list.indices[j - 1]);
        }
    }
    if (!lists.empty() && input.once_in(2)) {
        Matrix& list = lists.front();
        if (input.once_in(4)) damage(input, list.indptr);
        if (input.once_in(4)) damage(input, list.indices);
        ranking_flaw(list.indptr, list.indices, list.data, labels);
    }
    std::vector<Csr> views;
    std::vector<double> weights;
    for (auto& list : lists) {
        views.push_back(entered(input, list, Order::any));
        weights.push_back(double{input.number()});
    }
    const std::int64_t k = input.below(6);
    check_lists(views, weights, k);
    const Ranking ranking = combine(views, weights, k, threads);
    const Csr joined = checked_csr(ranking.indptr, ranking.ids, ranking.scores, labels, Order::any, 1);
    EXPECT(joined.rows == views.front().rows);
    for (std::int64_t row = 0; row < joined.rows; ++row) {
        const auto scores = joined.values(row);
        for (std::size_t j = 0; j < scores.size(); ++j) {
            EXPECT(scores[j] == scores[j]);
            EXPECT(j == 0 || scores[j - 1] >= scores[j]);
        }
    }
    Matrix given = matrix_of(input, rows, labels);
    const Pattern truth = entered(input, given);
    check(truth, joined);
    EXPECT(hits(truth, joined, threads).size() == ranking.ids.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

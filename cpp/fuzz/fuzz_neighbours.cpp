// An index of neighbours, whole and damaged, and the vote of their labels.
#include "matrices.hpp"
#include "neighbours.hpp"

namespace {

using namespace treetop;

void damage_index(Input& input, OwnedNeighbourIndex& index) {
    switch (input.below(9)) {
        case 0: damage(input, index.scales); break;
        case 1: damage(input, index.members); break;
        case 2: damage(input, index.codes); break;
        case 3: damage(input, index.frequent); break;
        case 4: damage(input, index.rows); break;
        case 5: damage(input, index.slots); break;
        case 6: damage(input, index.row_codes); break;
        case 7: damage(input, index.norms); break;
        default: damage(input, index.starts);
    }
}

void run(Input& input) {
    const int threads = input.once_in(64) ? 2 : 1;
    Matrix texts = matrix_of(input, input.below(40), input.below(20));
    const Csr documents = entered(input, texts);
    OwnedNeighbourIndex owned = index_neighbours(documents, threads);
    std::int64_t features = documents.cols;
    if (input.once_in(256)) {  // more than a block of documents that have no entries
        owned.scales.resize(70'000);
        owned.norms.resize(owned.scales.size());
        owned.rows.resize(owned.scales.size() + 1, owned.rows.back());
        if (input.once_in(2)) owned.starts.resize(static_cast<std::size_t>(2 * features + 1), owned.starts.back());
    }
    for (auto times = input.below(3); times > 0; --times) damage_index(input, owned);
    if (input.once_in(8)) features = input.once_in(2) ? input.value<std::int64_t>() : std::int64_t{1} << input.below(64);
    const NeighbourIndex index =
        checked_index({owned.scales, owned.starts, owned.members, owned.codes, owned.frequent, owned.rows, owned.slots,
                       owned.row_codes, owned.norms},
                      features);

    Matrix asked = matrix_of(input, input.below(4), std::min<std::int64_t>(features, 100));
    asked.cols = features;
    const Csr queries = entered(input, asked);
    const std::int64_t count = input.once_in(8) ? input.value<std::int64_t>() & std::numeric_limits<std::int64_t>::max()
                                                : 1 + input.below(6);
    check(Vote{.neighbours = count});
    const bool skip_own = input.once_in(2);
    const Ranking found = nearest(index, queries, count, skip_own, threads);
    for (const auto id : found.ids) EXPECT(0 <= id && id < index.documents);

    Matrix given = matrix_of(input, index.documents < 100 ? index.documents : 0, 6);
    const Pattern labels = entered(input, given, Order::any);
    check(index, labels);
    const Vote options{count, double{input.number()}, 1 + input.below(4), skip_own};
    const Ranking votes = vote(index, labels, queries, options, threads);
    for (const auto id : votes.ids) EXPECT(0 <= id && id < labels.cols);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

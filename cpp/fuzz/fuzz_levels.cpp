// Stored levels, whole and damaged: unpacked, searched, and with some classifiers replaced.
#include <algorithm>
#include <deque>

#include "beam_search.hpp"
#include "checked_level.hpp"
#include "matrices.hpp"
#include "merge_weights.hpp"

namespace {

using namespace treetop;

struct Stored {  // a level as it lies in a model folder
    std::vector<std::int64_t> offsets{0}, chunks{0}, rows{0};
    std::vector<std::int32_t> features, children;
    std::vector<float> weights, biases;
    PackedArrays packed;

    PlainLevel plain() const { return {offsets, chunks, features, rows, children, weights}; }
    Level level(std::int64_t n_features, bool last) const {
        return checked_level({offsets, packed.chunks, packed.starts, packed.buckets, packed.bytes, packed.tables,
                              packed.codes, biases},
                             n_features, last);
    }
};

// The weights below some parents, which have children of all widths that are stored differently.
void fill(Input& input, Stored& stored, std::int64_t parents, std::int64_t n_features, std::int64_t most) {
    for (std::int64_t p = 0; p < parents; ++p) {
        const std::int64_t width = input.below(most + 1);
        stored.offsets.push_back(stored.offsets.back() + width);
        for (std::int64_t f = input.below(3); width > 0 && f < n_features; f += 1 + input.below(n_features / 4 + 1)) {
            stored.features.push_back(static_cast<std::int32_t>(f));
            std::int64_t step = 1;
            if (width > 16) step = input.once_in(8) ? 1 : 1 + width / 4;  // now and then a long row
            for (std::int64_t child = input.below(width); child < width; child += step) {
                stored.children.push_back(static_cast<std::int32_t>(child));
                stored.weights.push_back(input.number());
            }
            stored.rows.push_back(static_cast<std::int64_t>(stored.children.size()));
            if (input.once_in(6) || input.empty()) break;
        }
        stored.chunks.push_back(static_cast<std::int64_t>(stored.features.size()));
    }
    for (std::int64_t node = 0; node < stored.offsets.back(); ++node) {
        stored.biases.push_back(node < 16 ? input.number() : 0.0F);
    }
}

void damage_level(Input& input, Stored& stored) {
    switch (input.below(10)) {
        case 0: damage(input, stored.offsets); break;
        case 1: damage(input, stored.packed.chunks); break;
        case 2: damage(input, stored.packed.starts); break;
        case 3: damage(input, stored.packed.tables); break;
        case 4: damage(input, stored.packed.codes); break;
        case 5: damage(input, stored.biases); break;
        case 6:
        case 7: damage(input, stored.packed.buckets); break;
        default: damage(input, stored.packed.bytes);
    }
}

Transform transform_of(Input& input) {
    Transform transform;
    transform.kind = static_cast<Transform::Kind>(input.below(3));
    transform.power = 1 + static_cast<int>(input.below(6));
    transform.noisy_or = input.once_in(4);
    transform.log = input.once_in(4);
    if (input.once_in(4)) transform.discount = double{input.number()};
    return transform;
}

void search_through(Input& input, const std::deque<Stored>& stored, std::int64_t n_features, int threads) {
    std::vector<Level> levels;
    std::vector<Transform> transforms;
    std::vector<std::int64_t> beams;
    for (std::size_t t = 0; t < stored.size(); ++t) {
        levels.push_back(stored[t].level(n_features, t + 1 == stored.size()));
        transforms.push_back(transform_of(input));
        beams.push_back(input.once_in(8) ? input.value<std::int64_t>() : 1 + input.below(6));
    }
    Matrix texts = matrix_of(input, input.below(4), n_features);
    if (n_features > 1 && !texts.indices.empty()) {  // also features far from the first
        for (std::size_t row = 0; row + 1 < texts.indptr.size(); ++row) {
            if (texts.indptr[row + 1] == texts.indptr[row]) continue;
            const auto last = static_cast<std::size_t>(texts.indptr[row + 1] - 1);
            texts.indices[last] = static_cast<std::int32_t>(
                std::max<std::int64_t>(texts.indices[last], input.below(n_features)));
        }
    }
    const Csr queries = entered(input, texts);
    Search task{levels, transforms, beams, {}};
    Matrix above;
    Csr start;
    if (input.once_in(3)) {
        above = matrix_of(input, queries.rows, levels.front().parents);
        start = entered(input, above, Order::any);
        task.start = &start;
    }
    std::vector<std::int32_t> labels;
    if (input.once_in(4)) {
        for (std::int64_t leaf = levels.back().nodes(); leaf > 0; --leaf) {
            labels.push_back(static_cast<std::int32_t>(leaf - 1));
        }
        task.labels = labels;
    }
    check(task, queries);
    const Ranking ranking = search(task, queries, threads);
    EXPECT(static_cast<std::int64_t>(ranking.indptr.size()) == queries.rows + 1);
    for (const auto id : ranking.ids) EXPECT(0 <= id && id < levels.back().nodes());
    for (const auto score : ranking.scores) EXPECT(score == score);
    for (std::size_t row = 0; row + 1 < ranking.indptr.size(); ++row) {
        EXPECT(std::is_sorted(ranking.scores.begin() + ranking.indptr[row],
                              ranking.scores.begin() + ranking.indptr[row + 1], std::greater<>{}));
    }
}

void replace_in(Input& input, const Level& level, std::int64_t n_features, int threads) {
    std::vector<std::int64_t> parents;
    for (std::int64_t p = 0; p < level.parents && parents.size() < 3; ++p) {
        if (input.once_in(2)) parents.push_back(p);
    }
    Stored fresh;
    fill(input, fresh, static_cast<std::int64_t>(parents.size()), n_features, 3);
    std::vector<std::uint8_t> replaced(static_cast<std::size_t>(level.nodes()));
    for (std::size_t node = 0; node < replaced.size() && node < 32; ++node) replaced[node] = input.once_in(3) ? 1 : 0;
    std::vector<std::int32_t> names;
    for (std::int64_t node = 0; node < fresh.offsets.back(); ++node) {
        names.push_back(static_cast<std::int32_t>(input.below(5)));
    }
    if (input.once_in(4)) {
        switch (input.below(6)) {
            case 0: damage(input, parents); break;
            case 1: damage(input, fresh.offsets); break;
            case 2: damage(input, fresh.chunks); break;
            case 3: damage(input, fresh.rows); break;
            case 4: damage(input, fresh.children); break;
            default: damage(input, names);
        }
    }
    const Replacement replacement{parents, replaced, fresh.plain(), names};
    check(level, replacement, n_features);
    const TrainedLevel merged = merge_weights(level, replacement, n_features, threads);
    EXPECT(merged.chunks.size() == parents.size() + 1);
    for (const auto feature : merged.features) EXPECT(0 <= feature && feature < n_features);
}

void run(Input& input) {
    const int threads = input.once_in(64) ? 2 : 1;
    constexpr std::int64_t kFeatures[] = {0, 1, 2, 7, 40, 300, 3000, 70'000, 5'000'000, 2'147'483'647};
    const std::int64_t n_features = kFeatures[input.below(10)];
    const std::int64_t most = input.once_in(64) ? 66'000 : input.once_in(8) ? 700 : 5;
    std::deque<Stored> stored;
    std::int64_t parents = input.once_in(3) ? input.below(4) : 1;
    for (auto left = 1 + input.below(2); left > 0; --left) {
        Stored& here = stored.emplace_back();
        fill(input, here, parents, n_features, left == 1 ? most : 4);
        const bool coded = input.once_in(2);
        const std::int64_t dense = n_features <= 300 && input.once_in(3) ? input.below(n_features + 1) : 0;
        check(here.plain(), n_features);
        here.packed = pack(here.plain(), n_features, dense, coded, threads);
        if (coded && input.once_in(4)) {  // again, with the codes of an older level
            std::vector<float> codes = here.packed.codes;
            damage(input, codes);
            check_packing(n_features, dense, coded, codes);
            here.packed = pack(here.plain(), n_features, dense, coded, threads, codes);
        }
        parents = here.offsets.back();
    }
    if (input.once_in(2)) damage_level(input, stored.back());
    if (input.once_in(8)) damage_level(input, stored.front());
    const Level level = stored.back().level(n_features, true);
    const Triples triples = unpack(level);
    for (std::size_t i = 0; i < triples.nodes.size(); ++i) {
        EXPECT(0 <= triples.nodes[i] && triples.nodes[i] < level.nodes());
        EXPECT(0 <= triples.features[i] && triples.features[i] < n_features);
    }
    if (input.once_in(2)) {
        search_through(input, stored, n_features, threads);
    } else {
        replace_in(input, level, n_features, threads);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

#include "packed_level.hpp"
#include "check.hpp"
#include "plain_level.hpp"

#include <map>
#include <utility>
#include <vector>

namespace {

// One parent of `width` children; feature f has weights for the children 0 … lengths[f] - 1.
void round_trip(std::int64_t width, const std::vector<std::int64_t>& lengths, std::int64_t dense = 0) {
    std::vector<std::int64_t> chunks{0, 0}, rows{0};
    std::vector<std::int32_t> features, children;
    std::vector<float> weights;
    std::map<std::pair<std::int64_t, std::int32_t>, float> expected;
    for (std::size_t f = 0; f < lengths.size(); ++f) {
        if (lengths[f] == 0) continue;
        features.push_back(static_cast<std::int32_t>(f));
        for (std::int32_t child = 0; child < lengths[f]; ++child) {
            children.push_back(child);
            weights.push_back(1.0F + static_cast<float>(f) + 0.5F * static_cast<float>(child));
            expected[{child, features.back()}] = weights.back();
        }
        rows.push_back(static_cast<std::int64_t>(children.size()));
        ++chunks[1];
    }
    const TestLevel packed({0, width}, chunks, features, rows, children, weights, {},
                           static_cast<std::int64_t>(lengths.size()), true, false, dense);
    const auto triples = treetop::unpack(packed.level);
    std::map<std::pair<std::int64_t, std::int32_t>, float> got;
    for (std::size_t i = 0; i < triples.nodes.size(); ++i) {
        got[{triples.nodes[i], triples.features[i]}] = triples.weights[i];
    }
    CHECK(got.size() == triples.nodes.size());
    CHECK(got == expected);
    const std::int64_t only = 0;
    CHECK(treetop::unpack(packed.level, {&only, 1}).weights == triples.weights);
}

void the_last_features_are_dense_if_a_third_of_the_nodes_know_them() {
    // Two parents of one and three children; features 0 to 4 have weights for 4, 1, 2, 3 and 4 of them.
    const std::vector<std::int64_t> offsets{0, 1, 4}, chunks{0, 2, 7}, rows{0, 1, 2, 5, 6, 8, 11, 14};
    const std::vector<std::int32_t> features{0, 4, 0, 1, 2, 3, 4};
    const std::vector<std::int32_t> children{0, 0, 0, 1, 2, 1, 0, 2, 0, 1, 2, 0, 1, 2};
    const std::vector<float> weights(14, 1.0F);
    // Gains of 3 weights - 4, from the last feature on: 8, 5, 2, -1, 8.
    CHECK(treetop::dense_features({offsets, chunks, features, rows, children, weights}, 5, true) == 5);
    // Of 3 weights - 8: 4, 1, -2, -5, 4.
    CHECK(treetop::dense_features({offsets, chunks, features, rows, children, weights}, 5, false) == 2);
    // One feature more that no node knows, then 20: -4 each.
    CHECK(treetop::dense_features({offsets, chunks, features, rows, children, weights}, 6, true) == 6);
    CHECK(treetop::dense_features({offsets, chunks, features, rows, children, weights}, 25, true) == 0);
}

// Whatever the bytes of a level say, unpacking gives nodes and features that it has.
void damaged_bytes_name_nothing_unknown() {
    TestLevel level({0, 3}, {0, 3}, {0, 1, 4}, {0, 1, 2, 3}, {0, 1, 2}, {1.0F, 2.0F, 3.0F}, {}, 5, true);
    for (std::size_t at = 0; at + treetop::Level::kSlack < level.packed.bytes.size(); ++at) {
        const auto before = level.packed.bytes[at];
        for (int byte = 0; byte < 0x100; ++byte) {
            level.packed.bytes[at] = static_cast<std::uint8_t>(byte);
            const auto triples = treetop::unpack(level.level);
            for (const auto node : triples.nodes) CHECK(0 <= node && node < 3);
            for (const auto feature : triples.features) CHECK(0 <= feature && feature < 5);
        }
        level.packed.bytes[at] = before;
    }
}

}  // namespace

int main() {
    CHECK(treetop::feature_bits(0) == 0 && treetop::feature_bits(1) == 0 && treetop::feature_bits(2) == 1);
    CHECK(treetop::feature_bits(256) == 8 && treetop::feature_bits(257) == 9);
    for (const int bits : {0, 1, 7, 20, 31}) {
        for (std::int64_t feature = 0; feature < (std::int64_t{1} << bits); feature = 3 * feature + 1) {
            const auto hash = treetop::scatter(static_cast<std::int32_t>(feature), bits);
            CHECK(treetop::gather(hash, bits) == feature);
        }
    }
    round_trip(4, {0});
    round_trip(4, {4});
    round_trip(4, {1, 0, 2, 3, 4, 1, 1});
    round_trip(1000, {1000, 256, 257, 1, 0, 513});
    // The last features in tables: all pairs of some, none of one.
    round_trip(4, {1, 0, 2, 3, 4, 0, 1}, 3);
    round_trip(1000, {1000, 256, 257, 1, 0, 513}, 6);
    // More features than one bucket holds, all of them singles.
    round_trip(2, std::vector<std::int64_t>(5000, 1));
    the_last_features_are_dense_if_a_third_of_the_nodes_know_them();
    damaged_bytes_name_nothing_unknown();
    return finish();
}

#include "checked_level.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "require.hpp"

namespace treetop {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();  // ids of nodes and features have 32 bits

void check_features(std::int64_t features) {
    require(features >= 0 && features <= kMost, "the number of features is out of range");
}

}  // namespace

Level checked_level(const LevelArrays& arrays, std::int64_t features, bool last) {
    const auto& [offsets, chunks, starts, buckets, bytes, tables, codes, biases] = arrays;
    check_features(features);
    require(ascending(offsets) && ascending(chunks) && ascending(starts), "level pointers must ascend from 0");
    require(chunks.size() == offsets.size() && starts.size() == offsets.size(), "a level needs one chunk per parent");
    require(chunks.back() == static_cast<std::int64_t>(buckets.size()), "chunks and buckets disagree");
    require(bytes.size() >= Level::kSlack && starts.back() == static_cast<std::int64_t>(bytes.size() - Level::kSlack),
            "starts and bytes disagree");
    require(codes.empty() || codes.size() == 256, "a level has 256 codes or none");
    require(offsets.back() == static_cast<std::int64_t>(biases.size()), "offsets and biases disagree");
    require(offsets.back() <= kMost, "a level has too many nodes");

    Level level;
    level.parents = static_cast<std::int64_t>(offsets.size()) - 1;
    level.offsets = offsets.data();
    level.chunks = chunks.data();
    level.starts = starts.data();
    level.buckets = buckets.data();
    level.bytes = bytes.data();
    level.tables = tables.data();
    const std::int64_t weights = level.nodes() * static_cast<std::int64_t>(codes.empty() ? sizeof(float) : 1);
    level.dense = weights == 0 ? 0 : static_cast<std::int64_t>(tables.size()) / weights;
    level.features = features;
    require(level.dense * weights == static_cast<std::int64_t>(tables.size()) && level.dense <= features,
            "the tables of dense features have the wrong size");
    level.codes = codes.empty() ? nullptr : codes.data();
    level.biases = biases.data();
    level.feature_bits = feature_bits(features);
    level.last = last;
    for (std::int64_t p = 0; p < level.parents; ++p) {
        level.widest = std::max(level.widest, level.width(p));
        const std::int64_t pointers = level.chunks[p + 1] - level.chunks[p];
        const auto buckets_of_p = static_cast<std::uint64_t>(std::max<std::int64_t>(pointers - 1, 1));
        require(pointers != 1 && std::has_single_bit(buckets_of_p) &&
                    std::countr_zero(buckets_of_p) <= level.feature_bits,
                "a chunk has the wrong number of buckets");
    }
    return level;
}

void check_parents(const Level& level, std::span<const std::int64_t> parents) {
    const auto inside = [&](std::int64_t parent) { return 0 <= parent && parent < level.parents; };
    require(std::ranges::all_of(parents, inside), "a parent is out of range");
}

void check(const PlainLevel& level, std::int64_t features) {
    check_features(features);
    require(ascending(level.offsets) && ascending(level.chunks) && ascending(level.rows),
            "level pointers must ascend from 0");
    require(level.offsets.back() <= kMost, "a level has too many nodes");
    require(level.chunks.size() == level.offsets.size(), "a level needs one chunk per parent");
    require(level.chunks.back() == static_cast<std::int64_t>(level.features.size()), "chunks and features disagree");
    require(level.rows.size() == level.features.size() + 1, "rows and features disagree");
    require(level.rows.back() == static_cast<std::int64_t>(level.children.size()), "rows and children disagree");
    require(level.children.size() == level.weights.size(), "children and weights disagree");
    for (const auto feature : level.features) {
        require(feature >= 0 && feature < features, "a feature is out of range");
    }
    for (std::size_t p = 0; p + 1 < level.offsets.size(); ++p) {
        const std::int64_t width = level.offsets[p + 1] - level.offsets[p];
        const auto first = static_cast<std::size_t>(level.rows[static_cast<std::size_t>(level.chunks[p])]);
        const auto end = static_cast<std::size_t>(level.rows[static_cast<std::size_t>(level.chunks[p + 1])]);
        for (const auto child : level.children.subspan(first, end - first)) {
            require(child >= 0 && child < width, "a child lies outside its parent");
        }
    }
}

void check_packing(std::int64_t features, std::int64_t dense, bool coded, std::span<const float> codes) {
    require(dense >= 0 && dense <= features, "there are more dense features than features");
    require(codes.empty() || (coded && codes.size() == 256), "a coded level has 256 codes");
}

}  // namespace treetop

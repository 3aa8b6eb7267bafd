#include "chunk_scores.hpp"

#include <algorithm>
#include <bit>

#include "key_match.hpp"
#include "ngram_tables.hpp"

namespace treetop {
namespace {

// The sum of n bytes, eight at a time; up to seven bytes after them are read.
std::size_t sum_bytes(const std::uint8_t* bytes, std::size_t n) {
    const auto sum_of_eight = [](std::uint64_t eight) {
        constexpr std::uint64_t kEven = 0x00FF00FF00FF00FFU;
        return (((eight & kEven) + ((eight >> 8) & kEven)) * 0x0001000100010001U) >> 48;
    };
    std::uint64_t sum = 0;
    for (; n >= 8; n -= 8, bytes += 8) sum += sum_of_eight(read_as<std::uint64_t>(bytes));
    return sum + sum_of_eight(read_as<std::uint64_t>(bytes) & ((std::uint64_t{1} << (8 * n)) - 1));
}

template <typename P>
void add_row(const Row<P>& row, std::size_t length, const PackedChunk& chunk, float value, float* scores) {
    for (std::size_t e = 0; e < length; ++e) {
        const std::size_t child = row.child(e);
        if constexpr (sizeof(typename P::Child) > 1) {
            if (static_cast<std::int64_t>(child) >= chunk.width) continue;
        }
        TREETOP_ASSERT(static_cast<std::int64_t>(child) < std::max(chunk.width, kLeastScores));
        scores[child] += value * row.weight(e, chunk.codes);
    }
}

template <typename P>
void add_feature(const PackedChunk& chunk, std::uint32_t hash, float value, float* scores) {
    TREETOP_ASSERT(chunk.shift < 32);
    const Bucket<P> bucket(chunk, hash >> chunk.shift);
    const auto key = static_cast<typename P::Key>(hash);
    for (std::size_t group = 0; group < bucket.rows(); group += kKeyGroup) {
        std::uint32_t found = match_keys<typename P::Key>(bucket.keys + group * sizeof(typename P::Key), key);
        const std::size_t rows = bucket.rows() - group;
        if (rows < kKeyGroup) found &= (std::uint32_t{1} << rows) - 1;
        for (; found != 0; found &= found - 1) {
            const std::size_t row = group + static_cast<std::size_t>(std::countr_zero(found));
            std::size_t first = row, length = 1;
            if (row >= bucket.singles) {
                const std::size_t others = row - bucket.singles;  // before it
                first += sum_bytes(bucket.lengths, others);
                length += bucket.lengths[others];
            }
            if (first + length <= bucket.room) add_row(Row<P>(bucket, first, length), length, chunk, value, scores);
        }
    }
}

void add_rows(const Level& level, std::int64_t parent, std::span<const std::uint32_t> hashes, const float* values,
              float* scores) {
    if (PackedChunk::count(level, parent) == 0) return;
    const PackedChunk chunk(level, parent);
    // The loop is memory-bound: prefetch where the buckets begin, then their contents.
    for (const auto hash : hashes) prefetch(&chunk.buckets[hash >> chunk.shift]);
    for (const auto hash : hashes) {
        const std::uint8_t* bucket = chunk.bytes + chunk.buckets[hash >> chunk.shift];
        prefetch(bucket);
        prefetch(bucket + 64);
    }
    with_packing(chunk.shift, chunk.width, chunk.codes != nullptr, [&]<typename P>(P) {
        for (std::size_t j = 0; j < hashes.size(); ++j) add_feature<P>(chunk, hashes[j], values[j], scores);
    });
}

void add_tables(const Level& level, std::int64_t parent, std::span<const std::int32_t> features, const float* values,
                float* scores) {
    with_weight_type(level.codes != nullptr, [&]<typename Weight>(Weight) {
        const Table<Weight> table(level, parent);
        for (std::size_t j = 0; j < features.size(); ++j) {
            const std::int64_t row = features[j] - level.first_dense();
            if (row < 0 || row >= level.dense) continue;
            for (std::size_t c = 0; c < table.width; ++c) {
                scores[c] += values[j] * table.weight(static_cast<std::size_t>(row), c);
            }
        }
    });
}

}  // namespace

void score_chunk(const Level& level, std::int64_t parent, const Query& query, float* scores) {
    TREETOP_ASSERT(query.features.empty() || (query.features.front() >= 0 && query.features.back() < level.features));
    TREETOP_ASSERT(std::is_sorted(query.features.begin(), query.features.end()) &&
                   query.hashes.size() == query.features.size() && query.values.size() == query.features.size());
    const float* biases = level.biases + level.offsets[parent];
    std::copy(biases, biases + level.width(parent), scores);
    const auto begin = query.features.begin();
    const auto dense = std::lower_bound(begin, query.features.end(), level.first_dense());
    const auto rows = static_cast<std::size_t>(dense - begin);
    add_rows(level, parent, query.hashes.first(rows), query.values.data(), scores);
    add_tables(level, parent, query.features.subspan(rows), query.values.data() + rows, scores);
}

}  // namespace treetop

// One level of a tree model as it is stored and searched: the classifiers of its nodes, packed into bytes.
//
// Siblings are always scored together, so the weights below one parent are one chunk of bytes. The weights of one
// feature in a chunk are a row of (child, weight) pairs. Rows are found without searching: features are scattered by
//   h(f) = f·A mod 2^m,  A odd, 2^m >= number of features,
// which is a bijection; the upper b bits of h name one of the chunk's 2^b buckets, the lower m - b are the row's key.
//
//   bucket:  number of singles (8 bits) and of other rows (16 bits); keys of the singles, which are rows of one pair,
//            and of the others; lengths of the others (8 bits each, less one);
//            then for each row children[length], weights[length]
//
// Most rows are singles. Keys take 8, 16 or 32 bits as m - b needs, children as the parent's width needs. A row of
// more than 256 pairs is cut into several with the same key. Weights are floats, or bytes that stand for one of 256
// values of the level.
//
// The last features may be dense, as the numbers of an encoder's vector are: many nodes have weights for them. These
// are in no bucket. Each parent has a table of dense x width weights, zeros among them, which is read from end to end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "checked.hpp"
#include "parallel.hpp"

namespace treetop {

static_assert(std::endian::native == std::endian::little, "packed levels are little-endian");

// Kernels trust sizes and pointers, which checked_level() checks in arrays from outside, but no byte of a chunk.
struct Level {
    // Bytes that must be readable after the last chunk: a group of keys is read whole.
    static constexpr std::size_t kSlack = 64;

    std::int64_t parents = 0;
    const std::int64_t* offsets = nullptr;  // children of p: [offsets[p], offsets[p+1])
    const std::int64_t* chunks = nullptr;   // bucket pointers of p: [chunks[p], chunks[p+1]): none, or 2^b + 1
    const std::int64_t* starts = nullptr;   // bytes of p: [starts[p], starts[p+1])
    const std::uint32_t* buckets = nullptr;  // where each bucket begins among its parent's bytes, and the last ends
    const std::uint8_t* bytes = nullptr;
    const std::uint8_t* tables = nullptr;  // of p: dense * width(p) weights, after those of the preceding parents
    std::int64_t dense = 0;                // features that have tables in place of rows
    std::int64_t features = 0;
    const float* codes = nullptr;   // the weights that the 256 bytes stand for; null: weights are floats
    const float* biases = nullptr;  // one per child node
    std::int64_t widest = 0;        // most children of a parent
    int feature_bits = 0;           // m
    // Internal levels carry an only child down unscored: it adds no decision.
    bool last = false;

    std::int64_t width(std::int64_t parent) const {
        TREETOP_ASSERT(0 <= parent && parent < parents);
        return offsets[parent + 1] - offsets[parent];
    }
    std::int64_t nodes() const { return offsets[parents]; }
    bool carries(std::int64_t parent) const { return !last && width(parent) == 1; }
    std::int64_t first_dense() const { return features - dense; }
};

// m for this many features.
int feature_bits(std::int64_t features);

inline constexpr std::uint32_t kScatter = 0x9E3779B1U;  // A: 2^32 over the golden ratio, which spreads neighbours

inline std::uint32_t scatter(std::int32_t feature, int bits) {
    return (static_cast<std::uint32_t>(feature) * kScatter) & ((std::uint32_t{1} << bits) - 1U);
}
std::int32_t gather(std::uint32_t hash, int bits);  // the inverse

template <typename T>
T read_as(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value;
}

// The chunk of one parent. Whatever its bytes hold, nothing outside of them is read.
struct PackedChunk {
    const std::uint32_t* buckets;
    const std::uint8_t* bytes;
    std::size_t size;
    std::int64_t width;
    const float* codes;
    int shift;  // m - b

    PackedChunk(const Level& level, std::int64_t parent)
        : buckets(level.buckets + level.chunks[parent]),
          bytes(level.bytes + level.starts[parent]),
          size(static_cast<std::size_t>(level.starts[parent + 1] - level.starts[parent])),
          width(level.width(parent)),
          codes(level.codes),
          shift(level.feature_bits - std::countr_zero(static_cast<std::uint64_t>(count(level, parent)))) {
        TREETOP_ASSERT(count(level, parent) > 0 && shift >= 0);
    }

    // How many buckets a parent has.
    static std::int64_t count(const Level& level, std::int64_t parent) {
        return std::max<std::int64_t>(level.chunks[parent + 1] - level.chunks[parent] - 1, 0);
    }
};

// The dense weights of a parent: weight(f, c) of the child c for the f-th dense feature.
template <typename Weight>
struct Table {
    const std::uint8_t* weights;
    std::size_t width;
    const float* codes;

    Table(const Level& level, std::int64_t parent)
        : weights(level.tables + static_cast<std::size_t>(level.dense * level.offsets[parent]) * sizeof(Weight)),
          width(static_cast<std::size_t>(level.width(parent))),
          codes(level.codes) {}

    float weight(std::size_t f, std::size_t c) const {
        TREETOP_ASSERT(c < width);
        const std::uint8_t* at = weights + (f * width + c) * sizeof(Weight);
        if constexpr (sizeof(Weight) == 1) return codes[*at];
        return read_as<float>(at);
    }
};

template <typename Key_, typename Child_, typename Weight_>
struct Packing {
    using Key = Key_;
    using Child = Child_;
    using Weight = Weight_;  // std::uint8_t: a code
    static constexpr std::size_t kPair = sizeof(Child) + sizeof(Weight);
    static constexpr std::size_t kHeader = 3;
};

// Calls task with a weight as it is stored.
template <typename Task>
void with_weight_type(bool coded, Task&& task) {
    if (coded) return task(std::uint8_t{});
    return task(float{});
}

// Calls task with the Packing of a chunk.
template <typename Task>
void with_packing(int shift, std::int64_t width, bool coded, Task&& task) {
    const auto with_weight = [&]<typename Key, typename Child>() {
        with_weight_type(coded, [&]<typename Weight>(Weight) { task(Packing<Key, Child, Weight>{}); });
    };
    const auto with_child = [&]<typename Key>() {
        if (width <= 0x100) return with_weight.template operator()<Key, std::uint8_t>();
        if (width <= 0x10000) return with_weight.template operator()<Key, std::uint16_t>();
        return with_weight.template operator()<Key, std::uint32_t>();
    };
    if (shift <= 8) return with_child.template operator()<std::uint8_t>();
    if (shift <= 16) return with_child.template operator()<std::uint16_t>();
    return with_child.template operator()<std::uint32_t>();
}

// One bucket, opened; it has no rows where it is empty or its bytes make no sense.
template <typename P>
struct Bucket {
    std::size_t singles = 0, others = 0;
    const std::uint8_t* keys = nullptr;
    const std::uint8_t* lengths = nullptr;  // of the others
    const std::uint8_t* pairs = nullptr;
    std::size_t room = 0;  // pairs that fit

    Bucket(const PackedChunk& chunk, std::size_t number) {
        const std::size_t begin = chunk.buckets[number], end = chunk.buckets[number + 1];
        if (begin + P::kHeader > end || end > chunk.size) return;
        const std::uint8_t* at = chunk.bytes + begin;
        const std::size_t one = at[0], more = read_as<std::uint16_t>(at + 1);
        const std::size_t head = P::kHeader + (one + more) * sizeof(typename P::Key) + more;
        if (head > end - begin) return;
        singles = one;
        others = more;
        keys = at + P::kHeader;
        lengths = keys + rows() * sizeof(typename P::Key);
        pairs = at + head;
        room = (end - begin - head) / P::kPair;
    }

    std::size_t rows() const { return singles + others; }
    std::size_t length(std::size_t row) const {
        return row < singles ? 1 : std::size_t{lengths[row - singles]} + 1;
    }
};

// A row's pairs: child(e) and weight(e) for e < length.
template <typename P>
struct Row {
    const std::uint8_t* children;
    const std::uint8_t* weights;

    Row(const Bucket<P>& bucket, std::size_t first, std::size_t length)
        : children(bucket.pairs + first * P::kPair), weights(children + length * sizeof(typename P::Child)) {
        TREETOP_ASSERT(first + length <= bucket.room);
    }

    std::size_t child(std::size_t e) const {
        return read_as<typename P::Child>(children + e * sizeof(typename P::Child));
    }
    float weight(std::size_t e, const float* codes) const {
        if constexpr (sizeof(typename P::Weight) == 1) return codes[weights[e]];
        return read_as<float>(weights + e * sizeof(float));
    }
};

// Weights as they are trained: parent p owns the rows [chunks[p], chunks[p+1]); row r belongs to feature
// features[r] and holds the pairs [rows[r], rows[r+1]).
struct PlainLevel {
    std::span<const std::int64_t> offsets, chunks;
    std::span<const std::int32_t> features;
    std::span<const std::int64_t> rows;
    std::span<const std::int32_t> children;
    std::span<const float> weights;
};

struct PackedArrays {
    std::vector<std::int64_t> chunks, starts;
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint8_t> bytes, tables;
    std::vector<float> codes;  // empty where weights are floats
};

// How many of the last features to take as dense: a dense one has weights for a third of the nodes or more (two thirds
// where weights are floats: in a row the number of a child takes little more), and a few others may lie between them.
std::int64_t dense_features(const PlainLevel& level, std::int64_t features, bool coded);

// Trusted: a level as training or merge_weights() gives it, or check() in checked_level.hpp accepts it; dense <= features.
// `codes`: the values of an older level, whose bytes must stay; none: the level's own.
PackedArrays pack(const PlainLevel& level, std::int64_t features, std::int64_t dense, bool coded, int threads,
                  std::span<const float> codes = {});

struct Triples {  // unordered
    std::vector<std::int64_t> nodes;
    std::vector<std::int32_t> features;
    std::vector<float> weights;
};

// Nodes and features are those of the level, even where bytes are damaged.
Triples unpack(const Level& level);
Triples unpack(const Level& level, std::span<const std::int64_t> parents);  // below these only

}  // namespace treetop

// Plain weights, packed for a search; the arrays live as long as the object, which stays where it is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "packed_level.hpp"

struct TestLevel {
    std::vector<std::int64_t> offsets;
    std::vector<float> biases;
    treetop::PackedArrays packed;
    treetop::Level level;

    TestLevel(std::vector<std::int64_t> offsets_, const std::vector<std::int64_t>& chunks,
              const std::vector<std::int32_t>& features, const std::vector<std::int64_t>& rows,
              const std::vector<std::int32_t>& children, const std::vector<float>& weights, std::vector<float> biases_,
              std::int64_t n_features, bool last, bool coded = false, std::int64_t dense = 0)
        : offsets(std::move(offsets_)),
          biases(std::move(biases_)),
          packed(treetop::pack({offsets, chunks, features, rows, children, weights}, n_features, dense, coded, 2)) {
        level.parents = static_cast<std::int64_t>(offsets.size()) - 1;
        level.offsets = offsets.data();
        level.chunks = packed.chunks.data();
        level.starts = packed.starts.data();
        level.buckets = packed.buckets.data();
        level.bytes = packed.bytes.data();
        level.tables = packed.tables.data();
        level.dense = dense;
        level.features = n_features;
        level.codes = coded ? packed.codes.data() : nullptr;
        level.biases = biases.data();
        for (std::int64_t p = 0; p < level.parents; ++p) level.widest = std::max(level.widest, level.width(p));
        level.feature_bits = treetop::feature_bits(n_features);
        level.last = last;
    }
    TestLevel(const TestLevel&) = delete;
    TestLevel& operator=(const TestLevel&) = delete;
};

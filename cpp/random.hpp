// SplitMix64: a tiny generator whose streams are named by what they are for, never by which thread runs them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace treetop {

class Random {
public:
    explicit Random(std::uint64_t seed, std::uint64_t stream = 0) : state_(mix(seed + mix(stream))) {}

    std::uint64_t next() { return mix(state_ += 0x9E3779B97F4A7C15ull); }

    // Uniform in [0, bound), bound >= 1 (multiply-shift; the bias is below bound / 2^32).
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
    }

    // Uniform in [0, 1).
    double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    template <typename T>
    void shuffle(std::span<T> items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
        }
    }

private:
    static std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}  // namespace treetop

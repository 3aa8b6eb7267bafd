// Finds a key among sixteen: with SSE2, which every x86-64 has, in a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__) || defined(_M_X64)
#define TREETOP_SSE2
#include <emmintrin.h>
#endif

namespace treetop {

inline constexpr std::size_t kKeyGroup = 16;

// Bit i is set where the i-th of 16 keys, packed without gaps, is `key`.
template <typename Key>
std::uint32_t match_keys_plainly(const std::uint8_t* keys, Key key) {
    std::uint32_t found = 0;
    for (std::size_t i = 0; i < kKeyGroup; ++i) {
        Key other;
        std::memcpy(&other, keys + i * sizeof(Key), sizeof(Key));
        found |= static_cast<std::uint32_t>(other == key) << i;
    }
    return found;
}

template <typename Key>
std::uint32_t match_keys(const std::uint8_t* keys, Key key) {
#ifdef TREETOP_SSE2
    const auto part = [keys](int i) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(keys) + i); };
    __m128i found;
    if constexpr (sizeof(Key) == 1) {
        found = _mm_cmpeq_epi8(part(0), _mm_set1_epi8(static_cast<char>(key)));
    } else if constexpr (sizeof(Key) == 2) {
        const __m128i wanted = _mm_set1_epi16(static_cast<short>(key));
        found = _mm_packs_epi16(_mm_cmpeq_epi16(part(0), wanted), _mm_cmpeq_epi16(part(1), wanted));
    } else {
        const __m128i wanted = _mm_set1_epi32(static_cast<int>(key));
        const __m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(part(0), wanted), _mm_cmpeq_epi32(part(1), wanted));
        const __m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(part(2), wanted), _mm_cmpeq_epi32(part(3), wanted));
        found = _mm_packs_epi16(low, high);
    }
    return static_cast<std::uint32_t>(_mm_movemask_epi8(found));
#else
    return match_keys_plainly(keys, key);
#endif
}

}  // namespace treetop

// UTF-8 and the few properties of code points that tokenising needs, from tables made of Python's own answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "checked.hpp"
#include "unicode_tables.hpp"

namespace treetop::unicode {

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr char32_t kCapitalSigma = 0x03A3, kSmallSigma = 0x03C3, kFinalSigma = 0x03C2;

inline const Record& record(char32_t code) {
    TREETOP_ASSERT(code <= 0x10FFFF);
    const unsigned block = kBlockOf[code >> kBlockBits];
    return kRecords[kRecordOf[(block << kBlockBits) | (code & ((1U << kBlockBits) - 1))]];
}

inline bool has(char32_t code, std::uint8_t flag) { return (record(code).flags & flag) != 0; }

// The code point at text[at]; moves `at` past it. A byte that is not UTF-8 reads as U+FFFD.
inline char32_t decode(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(at++);
    if (lead < 0x80) return lead;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || text.size() - at < static_cast<std::size_t>(more)) return kReplacement;
    char32_t code = lead & (0x3FU >> more);
    for (int i = 0; i < more; ++i) {
        const unsigned next = byte(at + i);
        if ((next & 0xC0) != 0x80) return kReplacement;
        code = (code << 6) | (next & 0x3F);
    }
    if (code > 0x10FFFF) return kReplacement;
    at += more;
    return code;
}

// Writes at most four bytes; returns how many.
inline std::size_t encode(char32_t code, char* out) {
    const auto put = [&](std::size_t i, unsigned value) { out[i] = static_cast<char>(value); };
    if (code < 0x80) return put(0, code), 1;
    if (code < 0x800) return put(0, 0xC0 | (code >> 6)), put(1, 0x80 | (code & 0x3F)), 2;
    if (code < 0x10000) {
        put(0, 0xE0 | (code >> 12)), put(1, 0x80 | ((code >> 6) & 0x3F)), put(2, 0x80 | (code & 0x3F));
        return 3;
    }
    put(0, 0xF0 | (code >> 18)), put(1, 0x80 | ((code >> 12) & 0x3F));
    put(2, 0x80 | ((code >> 6) & 0x3F)), put(3, 0x80 | (code & 0x3F));
    return 4;
}

// Whether the capital sigma in text[begin, end) ends a word: a cased letter before it and none after it, where
// case-ignorable characters (accents, apostrophes, full stops) do not count on either side.
inline bool is_final_sigma(std::string_view text, std::size_t begin, std::size_t end) {
    bool cased = false;
    while (begin > 0 && !cased) {
        do --begin;
        while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80);
        std::size_t at = begin;
        const std::uint8_t flags = record(decode(text, at)).flags;
        if ((flags & kCaseIgnorable) != 0) continue;
        if ((flags & kCased) == 0) return false;
        cased = true;
    }
    if (!cased) return false;
    while (end < text.size()) {
        const std::uint8_t flags = record(decode(text, end)).flags;
        if ((flags & kCaseIgnorable) == 0) return (flags & kCased) == 0;
    }
    return true;
}

// Calls take(code) for each code point of the lower-case form of `code`, which is at text[begin, end).
template <typename Take>
void lower(std::string_view text, std::size_t begin, std::size_t end, char32_t code, Take&& take) {
    if (code == kCapitalSigma) {
        take(is_final_sigma(text, begin, end) ? kFinalSigma : kSmallSigma);
        return;
    }
    const Record& properties = record(code);
    if ((properties.flags & kSpecialLower) == 0) {
        take(static_cast<char32_t>(static_cast<std::int32_t>(code) + properties.lower_step));
        return;
    }
    for (const SpecialLower& special : kSpecialLowers) {
        if (special.from != code) continue;
        for (int i = 0; i < special.count; ++i) take(special.to[i]);
    }
}

}  // namespace treetop::unicode

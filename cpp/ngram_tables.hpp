// The hash tables behind TF-IDF. An n-gram is a node of a trie: its first n-1 symbols are the parent node, its
// last symbol is a word of the word table. So the bytes of a symbol are compared once, where it is read, and
// every longer n-gram is an exact pair of numbers. Both tables use linear probing and powers of two.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "checked.hpp"

namespace treetop {

static_assert(std::endian::native == std::endian::little, "stored hash tables are little-endian");

inline constexpr std::uint32_t kNone = 0xFFFFFFFF;  // no word, no node

// A bijection of 64-bit numbers whose every output bit depends on every input bit.
inline std::uint64_t mix(std::uint64_t x) {
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15U;
    x ^= x >> 29;
    x *= 0xBF58476D1CE4E5B9U;
    return x ^ (x >> 32);
}

// Reads whole groups of eight bytes: seven bytes after the word must be readable.
inline std::uint64_t hash_word(const char* bytes, std::size_t length) {
    TREETOP_ASSERT(length > 0);
    std::uint64_t hash = length, group;
    for (; length > 8; bytes += 8, length -= 8) {
        std::memcpy(&group, bytes, 8);
        hash = mix(hash ^ group);
    }
    std::memcpy(&group, bytes, 8);
    return mix(hash ^ (group & (~std::uint64_t{0} >> (64 - 8 * length))));
}

inline std::uint64_t hash_gram(std::uint32_t parent, std::uint32_t word) {
    return mix((std::uint64_t{parent} << 32) | word);
}

inline void prefetch(const void* address) {
#if defined(__GNUC__)
    __builtin_prefetch(address);
#else
    (void)address;
#endif
}

// A number for the next entry of a table; all numbers stay below kNone.
inline std::uint32_t next_number(std::size_t count) {
    if (count >= kNone - 1) throw std::length_error("more than four billion different terms");
    return static_cast<std::uint32_t>(count);
}

// Word slots: the upper half of the hash, and the number of the word plus one; 0 is empty.
inline std::uint64_t word_slot(std::uint64_t hash, std::uint32_t word) {
    return (hash & 0xFFFFFFFF00000000U) | (std::uint64_t{word} + 1);
}

// Different words in one buffer, numbered as they come.
struct WordList {
    std::vector<char> bytes;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::uint64_t> hashes;

    std::size_t size() const { return hashes.size(); }
    std::string_view operator[](std::size_t i) const {
        TREETOP_ASSERT(i < size());
        return {bytes.data() + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i])};
    }
    void append(std::string_view word, std::uint64_t hash) {
        bytes.insert(bytes.end(), word.begin(), word.end());
        offsets.push_back(static_cast<std::int64_t>(bytes.size()));
        hashes.push_back(hash);
    }
};

// A growing word table.
class WordTable {
public:
    WordList list;

    std::uint32_t find_or_add(std::string_view word, std::uint64_t hash) {
        if (2 * (list.size() + 1) > slots_.size()) grow();
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
            const std::uint64_t slot = slots_[at];
            if (slot == 0) {
                const std::uint32_t number = next_number(list.size());
                list.append(word, hash);
                slots_[at] = word_slot(hash, number);
                return number;
            }
            if ((slot ^ hash) >> 32 != 0) continue;
            const auto number = static_cast<std::uint32_t>(slot) - 1;
            if (list[number] == word) return number;
        }
    }

private:
    void grow() {
        slots_.assign(std::max<std::size_t>(1024, 2 * slots_.size()), 0);
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t i = 0; i < list.size(); ++i) {
            std::size_t at = list.hashes[i] & mask;
            while (slots_[at] != 0) at = (at + 1) & mask;
            slots_[at] = word_slot(list.hashes[i], static_cast<std::uint32_t>(i));
        }
    }

    std::vector<std::uint64_t> slots_;
};

// A growing table of n-grams. Each slot has a place for its user's own number.
class GramTable {
public:
    struct Slot {
        std::uint32_t parent = kNone, word = kNone, node = kNone, note = kNone;
    };

    // The slot of (parent, word); a new one gets the number `fresh`.
    Slot& find_or_add(std::uint32_t parent, std::uint32_t word, std::uint32_t fresh) {
        if (3 * (used_ + 1) > 2 * slots_.size()) grow();
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t at = hash_gram(parent, word) & mask;; at = (at + 1) & mask) {
            Slot& slot = slots_[at];
            if (slot.node == kNone) {
                ++used_;
                slot = {parent, word, fresh, kNone};
                return slot;
            }
            if (slot.parent == parent && slot.word == word) return slot;
        }
    }

    void prefetch_slot(std::uint32_t parent, std::uint32_t word) const {
        if (!slots_.empty()) prefetch(&slots_[hash_gram(parent, word) & (slots_.size() - 1)]);
    }

private:
    void grow() {
        std::vector<Slot> old(std::max<std::size_t>(1024, 2 * slots_.size()));
        old.swap(slots_);
        const std::size_t mask = slots_.size() - 1;
        for (const Slot& slot : old) {
            if (slot.node == kNone) continue;
            std::size_t at = hash_gram(slot.parent, slot.word) & mask;
            while (slots_[at].node != kNone) at = (at + 1) & mask;
            slots_[at] = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace treetop

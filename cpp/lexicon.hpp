// Every n-gram of the texts fitted on, with its counts, before any is chosen for the vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "ngram_tables.hpp"
#include "tfidf.hpp"

namespace treetop {

struct Node {
    std::uint32_t parent;  // kNone for a single symbol
    std::uint32_t word;    // the last symbol
};

// Parents come before their children.
struct Lexicon {
    WordList words;
    std::vector<Node> nodes;
    std::vector<std::uint8_t> length;  // symbols of the n-gram
    std::vector<std::uint32_t> df;     // texts it occurs in; 0 where it only begins longer n-grams
    std::vector<std::uint64_t> tf;     // how often it occurs in all texts; left out unless asked for

    void append(const Node& node, std::uint8_t symbols, bool with_tf) {
        nodes.push_back(node);
        length.push_back(symbols);
        df.push_back(0);
        if (with_tf) tf.push_back(0);
    }
};

// An entry of a row: a node or column in the upper half, its count in the lower.
using Entry = std::uint64_t;
inline Entry entry(std::uint32_t column, std::uint32_t count) { return (Entry{column} << 32) | count; }
inline std::uint32_t column_of(Entry entry) { return static_cast<std::uint32_t>(entry >> 32); }
inline std::uint32_t count_of(Entry entry) { return static_cast<std::uint32_t>(entry); }

// The rows of neighbouring texts, numbered by the lexicon part of the worker that read them.
struct RowBlock {
    int part = 0;
    std::vector<Entry> entries;
    std::vector<std::uint32_t> lengths;
};

struct Counts {
    Lexicon lexicon;
    std::vector<RowBlock> blocks;                      // empty unless rows are wanted
    std::vector<std::vector<std::uint32_t>> node_of;  // of each part: part's node → lexicon's node
};

inline constexpr std::int64_t kTextsPerBlock = 64;

Counts count_terms(const Texts& texts, const Analysis& analysis, bool with_tf, bool with_rows, int threads,
                   Monitor* monitor);

}  // namespace treetop

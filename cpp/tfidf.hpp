// TF-IDF: texts → sparse rows of term weights.
//
//   weight(term, text) = tf · idf(term), then each row is divided by its norm
//
// fit() reads the texts once and gives the vocabulary as plain arrays, hash tables included, so that a stored
// model is used where it lies. Neither vocabulary nor weights depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ngrams.hpp"
#include "parallel.hpp"

namespace treetop {

enum class Idf {
    none,     // 1
    sklearn,  // ln((s + N) / (s + df)) + 1
    pecos,    // max(ln(N / (df + s)), 0)
};
enum class Norm { none, l1, l2 };

struct Weighting {
    Idf idf = Idf::sklearn;
    bool smooth_idf = true;     // s = 1 in the formulas above, else s = 0
    bool sublinear_tf = false;  // 1 + ln(count) instead of count
    bool binary = false;        // count 1 for every term that occurs
    double saturation = 0;      // s > 0: tf / (tf + n / s), n the occurrences of all terms in the text
    Norm norm = Norm::l2;
};

struct Limits {
    double min_count = 1;           // keep terms that occur in at least this many texts
    double max_count = 1e300;       // and in at most this many;
    std::int64_t max_features = 0;  // of these the most frequent, equal ones by alphabet; 0: all
};

// Texts in one UTF-8 buffer: text i is bytes[offsets[i], offsets[i + 1]). Any bytes are allowed: those that are not UTF-8
// read as U+FFFD.
struct Texts {
    std::string_view bytes;
    std::span<const std::int64_t> offsets;

    std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::string_view operator[](std::int64_t i) const;  // throws where offsets leave the buffer
};

// The vocabulary. Terms are nodes 0 … features-1, in the order of their bytes; nodes that only begin longer
// terms have higher numbers.
template <template <typename> typename Array>
struct TfidfArrays {
    Array<char> word_bytes;             // all symbols that occur in terms, in the order of their bytes
    Array<std::int64_t> word_offsets;   // words + 1
    Array<std::uint64_t> word_slots;    // hash table, see word_slot()
    Array<std::uint32_t> word_nodes;    // the node of each word alone, or kNone
    Array<std::uint32_t> gram_slots;    // hash table of longer n-grams: (parent node, word, node) per slot
    Array<float> idf;                   // of each term
};
template <typename T>
using OwnedArray = std::vector<T>;
template <typename T>
using ArrayView = std::span<const T>;
using TfidfModel = TfidfArrays<OwnedArray>;
using TfidfView = TfidfArrays<ArrayView>;

TfidfView view(const TfidfModel& model);
// Throw std::invalid_argument where sizes of arrays contradict each other, or options could not be trusted. Numbers in
// the arrays of a model are checked where they are read.
void check(const TfidfView& model);
void check(const Texts& texts);
void check(const Analysis& analysis);

struct SparseRows {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<float> data;
};

struct TfidfFit {
    TfidfModel model;
    SparseRows rows;  // of the texts fitted on, where asked for
};

TfidfFit fit_tfidf(const Texts& texts, const Analysis& analysis, const Weighting& weighting, const Limits& limits,
                   bool with_rows, int threads, Monitor* monitor = nullptr);

SparseRows transform_tfidf(const TfidfView& model, const Texts& texts, const Analysis& analysis,
                           const Weighting& weighting, int threads, Monitor* monitor = nullptr);

// The words of every text in their order, by the number of their term; at most `longest` of each text.
struct WordRows {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> words;
};
struct WordNumbers {
    std::int32_t first = 0;     // number of term 0
    std::int32_t unknown = -1;  // number of words that are no term; negative: they are left out
    std::int64_t longest = 0;
};
void check(const WordNumbers& numbers, const TfidfView& model);
WordRows word_rows(const TfidfView& model, const Texts& texts, const Analysis& analysis, const WordNumbers& numbers,
                   int threads, Monitor* monitor = nullptr);

// The terms as text: words joined by one blank, characters by nothing.
struct TermTexts {
    std::vector<char> bytes;
    std::vector<std::int64_t> offsets;
};
TermTexts spell_terms(const TfidfView& model, const Analysis& analysis);

}  // namespace treetop

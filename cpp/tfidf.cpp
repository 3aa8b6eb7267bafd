#include "tfidf.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "lexicon.hpp"
#include "require.hpp"
#include "vocabulary.hpp"

namespace treetop {
namespace {

// Turns the sorted (column, count) entries of one row into weights.
class Weigher {
public:
    Weigher(std::span<const float> idf, const Weighting& weighting) : idf_(idf), weighting_(weighting) {}

    void weigh(std::span<const Entry> row, std::int32_t* indices, float* data) {
        double occurrences = 0;
        if (weighting_.saturation > 0) {
            for (const Entry item : row) occurrences += weighting_.binary ? 1 : count_of(item);
        }
        double sum = 0;
        values_.clear();
        for (const Entry item : row) {
            const double count = weighting_.binary ? 1 : count_of(item);
            double tf = weighting_.sublinear_tf && count > 1 ? 1 + std::log(count) : count;
            if (weighting_.saturation > 0) tf /= tf + occurrences / weighting_.saturation;
            TREETOP_ASSERT(column_of(item) < idf_.size());
            const double value = tf * idf_[column_of(item)];
            sum += weighting_.norm == Norm::l2 ? value * value : value;
            values_.push_back(value);
        }
        double scale = 1;
        if (weighting_.norm != Norm::none && sum > 0) scale = 1 / (weighting_.norm == Norm::l2 ? std::sqrt(sum) : sum);
        for (std::size_t i = 0; i < row.size(); ++i) {
            indices[i] = static_cast<std::int32_t>(column_of(row[i]));
            data[i] = static_cast<float>(values_[i] * scale);
        }
    }

private:
    std::span<const float> idf_;
    Weighting weighting_;
    std::vector<double> values_;
};

// Weighs blocks of sorted rows into one matrix, freeing each block when it is done.
SparseRows assemble(std::vector<RowBlock>& blocks, std::span<const float> idf, const Weighting& weighting,
                    int threads) {
    SparseRows rows;
    std::vector<std::size_t> first{0};  // row of each block
    rows.indptr.push_back(0);
    for (const RowBlock& block : blocks) {
        for (const std::uint32_t length : block.lengths) rows.indptr.push_back(rows.indptr.back() + length);
        first.push_back(rows.indptr.size() - 1);
    }
    const auto total = static_cast<std::size_t>(rows.indptr.back());
    rows.indices.resize(total);
    rows.data.resize(total);
    std::vector<Weigher> weighers(static_cast<std::size_t>(std::max(threads, 1)), Weigher(idf, weighting));
    parallel_for(static_cast<std::int64_t>(blocks.size()), threads, [&](std::int64_t index, int worker) {
        RowBlock& block = blocks[static_cast<std::size_t>(index)];
        std::size_t at = 0;
        std::size_t row = first[static_cast<std::size_t>(index)];
        for (const std::uint32_t length : block.lengths) {
            const auto out = static_cast<std::size_t>(rows.indptr[row++]);
            weighers[static_cast<std::size_t>(worker)].weigh(std::span(block.entries).subspan(at, length),
                                                              rows.indices.data() + out, rows.data.data() + out);
            at += length;
        }
        block = {};
    });
    return rows;
}

// Renumbers the rows' nodes to columns, drops those that are not chosen and sorts each row.
void renumber_rows(Counts& counts, const std::vector<std::uint32_t>& column, int threads) {
    parallel_for(static_cast<std::int64_t>(counts.node_of.size()), threads, [&](std::int64_t part, int) {
        for (std::uint32_t& node : counts.node_of[static_cast<std::size_t>(part)]) node = column[node];
    });
    parallel_for(static_cast<std::int64_t>(counts.blocks.size()), threads, [&](std::int64_t index, int) {
        RowBlock& block = counts.blocks[static_cast<std::size_t>(index)];
        const std::vector<std::uint32_t>& column_of_node = counts.node_of[static_cast<std::size_t>(block.part)];
        auto from = block.entries.begin(), to = from;
        for (std::uint32_t& length : block.lengths) {
            const auto begin = to;
            for (const auto end = from + length; from != end; ++from) {
                const std::uint32_t number = column_of_node[column_of(*from)];
                if (number != kNone) *to++ = entry(number, count_of(*from));
            }
            std::sort(begin, to);
            length = static_cast<std::uint32_t>(to - begin);
        }
        block.entries.erase(to, block.entries.end());
    });
}

// Numbers read from a stored vocabulary are checked before they are used, so that damaged arrays give an error
// and no stray access.
std::string_view word_at(const TfidfView& model, std::uint32_t word) {
    if (word < model.word_nodes.size()) {
        const std::int64_t begin = model.word_offsets[word], end = model.word_offsets[word + 1];
        if (0 <= begin && begin <= end && end <= static_cast<std::int64_t>(model.word_bytes.size())) {
            return {model.word_bytes.data() + begin, static_cast<std::size_t>(end - begin)};
        }
    }
    throw std::invalid_argument("the stored vocabulary is damaged");
}

// The word of the vocabulary, or kNone.
std::uint32_t find_word(const TfidfView& model, const char* bytes, std::size_t length) {
    const std::uint64_t hash = hash_word(bytes, length);
    const std::size_t mask = model.word_slots.size() - 1;
    std::size_t at = hash & mask;
    for (std::size_t tries = 0; tries <= mask; at = (at + 1) & mask, ++tries) {
        const std::uint64_t slot = model.word_slots[at];
        if (slot == 0) return kNone;
        if ((slot ^ hash) >> 32 != 0) continue;
        const auto word = static_cast<std::uint32_t>(slot) - 1;
        if (word_at(model, word) == std::string_view(bytes, length)) return word;
    }
    return kNone;
}

// Numbers the words of a text, up to a limit.
struct WordSink {
    const TfidfView& model;
    const WordNumbers& numbers;
    std::vector<std::int32_t>& words;
    std::size_t limit;  // of `words`

    void symbol(const char* bytes, std::size_t length) {
        if (words.size() >= limit) return;
        const std::uint32_t word = find_word(model, bytes, length);
        const std::uint32_t term = word == kNone ? kNone : model.word_nodes[word];
        if (term < model.idf.size()) {
            words.push_back(numbers.first + static_cast<std::int32_t>(term));
        } else if (numbers.unknown >= 0) {
            words.push_back(numbers.unknown);
        }
    }
    void end_segment() {}
};

// Looks up the terms of a text in a stored vocabulary.
class Reader {
public:
    Reader(const TfidfView& model, const Analysis& analysis) : model_(model), walk_(analysis) {}

    // Appends the sorted row of the text to `entries`; returns its length.
    std::uint32_t read(std::string_view text, std::vector<Entry>& entries) {
        found_.clear();
        walk_.walk(text, *this);
        std::sort(found_.begin(), found_.end());
        const std::size_t begin = entries.size();
        for (std::size_t i = 0; i < found_.size();) {
            std::size_t end = i + 1;
            while (end < found_.size() && found_[end] == found_[i]) ++end;
            entries.push_back(entry(found_[i], static_cast<std::uint32_t>(end - i)));
            i = end;
        }
        return static_cast<std::uint32_t>(entries.size() - begin);
    }

    std::uint32_t symbol(const char* bytes, std::size_t length) const { return find_word(model_, bytes, length); }
    std::uint32_t first(std::uint32_t word, bool counted) {
        TREETOP_ASSERT(word < model_.word_nodes.size());
        const std::uint32_t node = model_.word_nodes[word];
        if (counted) note(node);
        return node;
    }
    std::uint32_t next(std::uint32_t parent, std::uint32_t word, bool counted) {
        const std::size_t mask = model_.gram_slots.size() / 3 - 1;
        std::size_t at = hash_gram(parent, word) & mask;
        for (std::size_t tries = 0; tries <= mask; at = (at + 1) & mask, ++tries) {
            const std::uint32_t* slot = &model_.gram_slots[3 * at];
            if (slot[2] == kNone) break;
            if (slot[0] != parent || slot[1] != word) continue;
            if (counted) note(slot[2]);
            return slot[2];
        }
        return kNone;
    }
    void prefetch_next(std::uint32_t parent, std::uint32_t word) const {
        prefetch(&model_.gram_slots[3 * (hash_gram(parent, word) & (model_.gram_slots.size() / 3 - 1))]);
    }

private:
    void note(std::uint32_t node) {
        if (node < model_.idf.size()) found_.push_back(node);
    }

    TfidfView model_;
    NgramWalk walk_;
    std::vector<std::uint32_t> found_;
};

}  // namespace

std::string_view Texts::operator[](std::int64_t i) const {
    const std::int64_t begin = offsets[static_cast<std::size_t>(i)], end = offsets[static_cast<std::size_t>(i) + 1];
    if (begin < 0 || end < begin || end > static_cast<std::int64_t>(bytes.size())) {
        throw std::invalid_argument("the offsets of the texts do not match their buffer");
    }
    return bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

TfidfView view(const TfidfModel& model) {
    return {model.word_bytes, model.word_offsets, model.word_slots, model.word_nodes, model.gram_slots, model.idf};
}

void check(const TfidfView& model) {
    const std::size_t grams = model.gram_slots.size() / 3;
    const bool fits = model.word_offsets.size() == model.word_nodes.size() + 1 &&
                      std::has_single_bit(model.word_slots.size()) && std::has_single_bit(grams) &&
                      3 * grams == model.gram_slots.size() &&
                      model.idf.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (!fits) throw std::invalid_argument("the arrays of the vocabulary are inconsistent");
}

void check(const Texts& texts) {
    const auto& offsets = texts.offsets;
    require(!offsets.empty(), "offsets must have at least one entry");
    require(offsets.front() >= 0 && std::ranges::is_sorted(offsets) &&
                offsets.back() <= static_cast<std::int64_t>(texts.bytes.size()),
            "offsets must ascend inside the buffer");
}

void check(const Analysis& analysis) {
    require(1 <= analysis.ngram_min && analysis.ngram_min <= analysis.ngram_max && analysis.ngram_max <= 255,
            "n-gram lengths must lie between 1 and 255");
    require(analysis.shortest_word >= 1, "words must have at least one character");
    require(analysis.first_line >= 1, "the first line must count at least once");
}

void check(const WordNumbers& numbers, const TfidfView& model) {
    require(numbers.first >= 0 && numbers.longest >= 0, "numbers and lengths of words must not be negative");
    require(model.idf.size() <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max() - numbers.first),
            "the numbers of the words are too large");
}

TfidfFit fit_tfidf(const Texts& texts, const Analysis& analysis, const Weighting& weighting, const Limits& limits,
                   bool with_rows, int threads, Monitor* monitor) {
    TREETOP_ASSERT((check(texts), check(analysis), true));
    const bool with_tf = limits.max_features > 0 && !weighting.binary;
    Counts counts = count_terms(texts, analysis, with_tf, with_rows, threads, monitor);
    Vocabulary vocabulary = choose_vocabulary(counts.lexicon, weighting, limits, texts.size());
    check(view(vocabulary.model));
    counts.lexicon = {};
    TfidfFit fit;
    fit.model = std::move(vocabulary.model);
    if (with_rows) {
        renumber_rows(counts, vocabulary.column_of, threads);
        fit.rows = assemble(counts.blocks, fit.model.idf, weighting, threads);
    }
    return fit;
}

SparseRows transform_tfidf(const TfidfView& model, const Texts& texts, const Analysis& analysis,
                           const Weighting& weighting, int threads, Monitor* monitor) {
    check(model);
    TREETOP_ASSERT((check(texts), check(analysis), true));
    const std::int64_t count = (texts.size() + kTextsPerBlock - 1) / kTextsPerBlock;
    std::vector<RowBlock> blocks(static_cast<std::size_t>(count));
    const int workers = static_cast<int>(std::max<std::int64_t>(std::min<std::int64_t>(threads, count), 1));
    std::vector<Reader> readers(static_cast<std::size_t>(workers), Reader(model, analysis));
    parallel_blocks(
        texts.size(), kTextsPerBlock, workers,
        [&](std::int64_t begin, std::int64_t end, int worker) {
            RowBlock& block = blocks[static_cast<std::size_t>(begin / kTextsPerBlock)];
            for (std::int64_t i = begin; i < end; ++i) {
                block.lengths.push_back(readers[static_cast<std::size_t>(worker)].read(texts[i], block.entries));
            }
        },
        monitor);
    return assemble(blocks, model.idf, weighting, workers);
}

WordRows word_rows(const TfidfView& model, const Texts& texts, const Analysis& analysis, const WordNumbers& numbers,
                   int threads, Monitor* monitor) {
    check(model);
    TREETOP_ASSERT((check(texts), check(analysis), check(numbers, model), true));
    const std::int64_t count = (texts.size() + kTextsPerBlock - 1) / kTextsPerBlock;
    std::vector<std::vector<std::int32_t>> blocks(static_cast<std::size_t>(count));
    WordRows rows;
    rows.indptr.resize(static_cast<std::size_t>(texts.size()) + 1, 0);
    parallel_blocks(
        texts.size(), kTextsPerBlock, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            auto& words = blocks[static_cast<std::size_t>(begin / kTextsPerBlock)];
            Cutter cutter(Analyzer::word, analysis.lowercase, analysis.shortest_word);
            for (std::int64_t i = begin; i < end; ++i) {
                const std::size_t before = words.size();
                cutter.cut(texts[i], WordSink{model, numbers, words, before + static_cast<std::size_t>(numbers.longest)});
                rows.indptr[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(words.size() - before);
            }
        },
        monitor);
    for (std::size_t i = 1; i < rows.indptr.size(); ++i) rows.indptr[i] += rows.indptr[i - 1];
    rows.words.reserve(static_cast<std::size_t>(rows.indptr.back()));
    for (auto& block : blocks) {
        rows.words.insert(rows.words.end(), block.begin(), block.end());
        block = {};
    }
    return rows;
}

TermTexts spell_terms(const TfidfView& model, const Analysis& analysis) {
    check(model);
    std::vector<Node> nodes(model.word_nodes.size() + model.gram_slots.size() / 3, {kNone, kNone});
    const auto put = [&](std::uint32_t node, std::uint32_t parent, std::uint32_t word) {
        if (node < nodes.size()) nodes[node] = {parent, word};
    };
    for (std::size_t word = 0; word < model.word_nodes.size(); ++word) {
        put(model.word_nodes[word], kNone, static_cast<std::uint32_t>(word));
    }
    for (std::size_t at = 0; at < model.gram_slots.size(); at += 3) {
        put(model.gram_slots[at + 2], model.gram_slots[at], model.gram_slots[at + 1]);
    }
    // Damaged arrays may repeat their longest word in every term.
    const std::size_t stored = model.word_bytes.size() + 4 * (model.gram_slots.size() + 2 * model.word_slots.size());
    const std::size_t most = (std::size_t{1} << 26) + 16 * static_cast<std::size_t>(analysis.ngram_max) * stored;
    TermTexts terms;
    terms.offsets.push_back(0);
    const bool of_words = analysis.analyzer == Analyzer::word || analysis.analyzer == Analyzer::blank;
    std::vector<std::uint32_t> words;
    for (std::size_t term = 0; term < model.idf.size(); ++term) {
        words.clear();
        std::size_t node = term;
        for (int i = 0; i < analysis.ngram_max && node < nodes.size(); ++i) {
            words.push_back(nodes[node].word);
            node = nodes[node].parent;
        }
        for (std::size_t i = words.size(); i-- > 0;) {
            const std::string_view word = word_at(model, words[i]);
            terms.bytes.insert(terms.bytes.end(), word.begin(), word.end());
            if (i > 0 && of_words) terms.bytes.push_back(' ');
        }
        if (terms.bytes.size() > most) throw std::invalid_argument("the stored vocabulary is damaged: its terms are too long");
        terms.offsets.push_back(static_cast<std::int64_t>(terms.bytes.size()));
    }
    return terms;
}

}  // namespace treetop

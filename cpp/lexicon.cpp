#include "lexicon.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ngrams.hpp"

namespace treetop {
namespace {

// Counts the n-grams of one text after another: what one thread keeps for itself.
class Counter {
public:
    Counter(const Analysis& analysis, bool with_tf) : walk_(analysis), with_tf_(with_tf) {}

    // Appends the row of the text to `entries`; returns its length.
    std::uint32_t count(std::string_view text, std::vector<Entry>& entries) {
        entries_ = &entries;
        begin_ = entries.size();
        walk_.walk(text, *this);
        const std::size_t added = entries.size() - begin_;
        if (with_tf_) {
            for (std::size_t i = begin_; i < entries.size(); ++i) {
                lexicon_.tf[column_of(entries[i])] += count_of(entries[i]);
            }
        }
        return static_cast<std::uint32_t>(added);
    }

    Lexicon take_lexicon() {
        lexicon_.words = std::move(words_.list);
        return std::move(lexicon_);
    }

    std::uint32_t symbol(const char* bytes, std::size_t length) {
        const std::uint32_t word = words_.find_or_add({bytes, length}, hash_word(bytes, length));
        if (word == singles_.size()) {
            singles_.push_back({next_number(lexicon_.nodes.size()), kNone});
            lexicon_.append({kNone, word}, 1, with_tf_);
        }
        return word;
    }
    std::uint32_t first(std::uint32_t word, bool counted) {
        Single& single = singles_[word];
        if (counted) note(single.node, single.place);
        return single.node;
    }
    std::uint32_t next(std::uint32_t parent, std::uint32_t word, bool counted) {
        const std::uint32_t fresh = next_number(lexicon_.nodes.size());
        GramTable::Slot& slot = grams_.find_or_add(parent, word, fresh);
        if (slot.node == fresh) {
            const auto longer = static_cast<std::uint8_t>(lexicon_.length[parent] + 1);
            lexicon_.append({parent, word}, longer, with_tf_);
        }
        if (counted) note(slot.node, slot.note);
        return slot.node;
    }
    void prefetch_next(std::uint32_t parent, std::uint32_t word) const { grams_.prefetch_slot(parent, word); }

private:
    struct Single {
        std::uint32_t node, place;
    };

    // `place` is the node's position in the row where it last occurred; valid for this row if the node is there.
    void note(std::uint32_t node, std::uint32_t& place) {
        const std::size_t at = begin_ + place;
        if (at < entries_->size() && column_of((*entries_)[at]) == node) {
            ++(*entries_)[at];
            return;
        }
        place = static_cast<std::uint32_t>(entries_->size() - begin_);
        entries_->push_back(entry(node, 1));
        ++lexicon_.df[node];
    }

    NgramWalk walk_;
    bool with_tf_;
    WordTable words_;
    GramTable grams_;
    std::vector<Single> singles_;  // of each word
    Lexicon lexicon_;
    std::vector<Entry>* entries_ = nullptr;
    std::size_t begin_ = 0;
};

// Lexicons of several threads as one. Keys are dealt out to `parts.size()` shares by their hash; each share is
// merged by one task and numbered from 0; then shares are laid end to end. Words first, then n-grams by length,
// for the key of an n-gram is made of its parent's and its word's merged numbers.
class Merge {
public:
    Merge(std::vector<Lexicon> parts, bool with_tf, int threads)
        : parts_(std::move(parts)), with_tf_(with_tf), threads_(threads), shares_(parts_.size()) {}

    Lexicon run(int longest, std::vector<std::vector<std::uint32_t>>& node_of) {
        for (const Lexicon& part : parts_) node_of.emplace_back(part.nodes.size());
        merge_words();
        for (int length = 1; length <= longest; ++length) merge_grams(length, node_of);
        return std::move(merged_);
    }

private:
    std::size_t share_of(std::uint64_t hash) const { return (hash >> 32) % shares_; }

    template <typename Task>
    void for_each(Task&& task) {
        parallel_for(static_cast<std::int64_t>(shares_), threads_,
                     [&](std::int64_t index, int) { task(static_cast<std::size_t>(index)); });
    }

    void merge_words() {
        std::vector<WordTable> tables(shares_);
        for (const Lexicon& part : parts_) word_of_.emplace_back(part.words.size());
        for_each([&](std::size_t share) {
            for (std::size_t p = 0; p < parts_.size(); ++p) {
                const WordList& words = parts_[p].words;
                for (std::size_t i = 0; i < words.size(); ++i) {
                    if (share_of(words.hashes[i]) != share) continue;
                    word_of_[p][i] = tables[share].find_or_add(words[i], words.hashes[i]);
                }
            }
        });
        std::vector<std::uint32_t> base;
        for (WordTable& table : tables) {
            base.push_back(static_cast<std::uint32_t>(merged_.words.size()));
            for (std::size_t i = 0; i < table.list.size(); ++i) {
                next_number(merged_.words.size());
                merged_.words.append(table.list[i], table.list.hashes[i]);
            }
            table = {};
        }
        for_each([&](std::size_t p) {
            WordList& words = parts_[p].words;
            for (std::size_t i = 0; i < words.size(); ++i) word_of_[p][i] += base[share_of(words.hashes[i])];
            words = {};
        });
    }

    void merge_grams(int length, std::vector<std::vector<std::uint32_t>>& node_of) {
        for_each([&](std::size_t p) {
            Lexicon& part = parts_[p];
            for (std::size_t i = 0; i < part.nodes.size(); ++i) {
                if (part.length[i] != length) continue;
                TREETOP_ASSERT(part.nodes[i].parent == kNone || part.nodes[i].parent < i);
                Node& node = part.nodes[i];
                if (node.parent != kNone) node.parent = node_of[p][node.parent];
                node.word = word_of_[p][node.word];
            }
        });
        std::vector<Lexicon> merged(shares_);
        for_each([&](std::size_t share) {
            GramTable table;
            Lexicon& mine = merged[share];
            for (std::size_t p = 0; p < parts_.size(); ++p) {
                const Lexicon& part = parts_[p];
                for (std::size_t i = 0; i < part.nodes.size(); ++i) {
                    const Node& node = part.nodes[i];
                    if (part.length[i] != length || share_of(hash_gram(node.parent, node.word)) != share) continue;
                    const std::uint32_t fresh = next_number(mine.nodes.size());
                    const std::uint32_t found = table.find_or_add(node.parent, node.word, fresh).node;
                    if (found == fresh) mine.append(node, part.length[i], with_tf_);
                    mine.df[found] += part.df[i];
                    if (with_tf_) mine.tf[found] += part.tf[i];
                    node_of[p][i] = found;
                }
            }
        });
        std::vector<std::uint32_t> base;
        for (Lexicon& mine : merged) {
            base.push_back(next_number(merged_.nodes.size()));
            append(merged_.nodes, mine.nodes);
            append(merged_.length, mine.length);
            append(merged_.df, mine.df);
            append(merged_.tf, mine.tf);
        }
        next_number(merged_.nodes.size());
        for_each([&](std::size_t p) {
            const Lexicon& part = parts_[p];
            for (std::size_t i = 0; i < part.nodes.size(); ++i) {
                if (part.length[i] != length) continue;
                node_of[p][i] += base[share_of(hash_gram(part.nodes[i].parent, part.nodes[i].word))];
            }
        });
    }

    template <typename T>
    static void append(std::vector<T>& to, std::vector<T>& from) {
        to.insert(to.end(), from.begin(), from.end());
        from = {};
    }

    std::vector<Lexicon> parts_;
    bool with_tf_;
    int threads_;
    std::size_t shares_;
    std::vector<std::vector<std::uint32_t>> word_of_;  // of each part: part's word → merged word
    Lexicon merged_;
};

}  // namespace

Counts count_terms(const Texts& texts, const Analysis& analysis, bool with_tf, bool with_rows, int threads,
                   Monitor* monitor) {
    const std::int64_t blocks = (texts.size() + kTextsPerBlock - 1) / kTextsPerBlock;
    const auto workers = static_cast<std::size_t>(std::max<std::int64_t>(std::min<std::int64_t>(threads, blocks), 1));
    Counts counts;
    if (with_rows) counts.blocks.resize(static_cast<std::size_t>(blocks));
    std::vector<Counter> counters(workers, Counter(analysis, with_tf));
    std::vector<std::vector<Entry>> scratch(workers);
    parallel_blocks(
        texts.size(), kTextsPerBlock, static_cast<int>(workers),
        [&](std::int64_t begin, std::int64_t end, int worker) {
            std::vector<Entry>& entries = scratch[static_cast<std::size_t>(worker)];
            Counter& counter = counters[static_cast<std::size_t>(worker)];
            entries.clear();
            if (!with_rows) {
                for (std::int64_t i = begin; i < end; ++i, entries.clear()) counter.count(texts[i], entries);
                return;
            }
            RowBlock& block = counts.blocks[static_cast<std::size_t>(begin / kTextsPerBlock)];
            block.part = worker;
            for (std::int64_t i = begin; i < end; ++i) block.lengths.push_back(counter.count(texts[i], entries));
            block.entries.assign(entries.begin(), entries.end());
        },
        monitor);

    std::vector<Lexicon> parts;
    for (Counter& counter : counters) {
        parts.push_back(counter.take_lexicon());
        counter = Counter(analysis, with_tf);  // frees the hash tables
    }
    if (parts.size() == 1) {
        counts.lexicon = std::move(parts[0]);
        counts.node_of.emplace_back(counts.lexicon.nodes.size());
        std::iota(counts.node_of[0].begin(), counts.node_of[0].end(), 0U);
    } else {
        counts.lexicon = Merge(std::move(parts), with_tf, threads).run(analysis.ngram_max, counts.node_of);
    }
    return counts;
}

}  // namespace treetop

#include "vocabulary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace treetop {
namespace {

using Flags = std::vector<std::uint8_t>;
using Numbers = std::vector<std::uint32_t>;

// The chosen nodes and all they begin with.
Flags with_beginnings(const Lexicon& lexicon, Flags flags) {
    for (std::size_t i = flags.size(); i-- > 0;) {
        if (flags[i] != 0 && lexicon.nodes[i].parent != kNone) flags[lexicon.nodes[i].parent] = 1;
    }
    return flags;
}

// The words of the needed nodes in the order of their bytes, which is the order of their code points.
Numbers sorted_words(const Lexicon& lexicon, const Flags& needed) {
    Flags used(lexicon.words.size(), 0);
    for (std::size_t i = 0; i < needed.size(); ++i) {
        if (needed[i] != 0) used[lexicon.nodes[i].word] = 1;
    }
    struct Key {  // most words differ in their first eight bytes, compared as one number
        std::uint64_t head;
        std::uint32_t word;
    };
    std::vector<Key> keys;
    for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i] == 0) continue;
        const std::string_view word = lexicon.words[i];
        std::uint64_t head = 0;
        for (std::size_t k = 0; k < 8; ++k) {
            head = (head << 8) | (k < word.size() ? static_cast<unsigned char>(word[k]) : 0);
        }
        keys.push_back({head, static_cast<std::uint32_t>(i)});
    }
    std::sort(keys.begin(), keys.end(), [&](const Key& a, const Key& b) {
        return a.head != b.head ? a.head < b.head : lexicon.words[a.word] < lexicon.words[b.word];
    });
    Numbers words;
    words.reserve(keys.size());
    for (const Key& key : keys) words.push_back(key.word);
    return words;
}

// The needed nodes in the order of their texts: a node before those it begins, siblings by their last word.
// (Words are joined by a blank, which sorts before every word character, so this is the order of the joined
// bytes.) A child's place is its parent's, plus one, plus the sizes of the siblings' subtrees before it.
Numbers sorted_nodes(const Lexicon& lexicon, const Flags& needed, const Numbers& words) {
    const std::size_t count = needed.size();
    Numbers rank(lexicon.words.size(), 0);
    for (std::size_t i = 0; i < words.size(); ++i) rank[words[i]] = static_cast<std::uint32_t>(i);

    std::vector<std::size_t> begin(words.size() + 1, 0);
    Numbers subtree(count, 0);
    int longest = 0;
    std::size_t total = 0;
    for (std::size_t i = count; i-- > 0;) {
        if (needed[i] == 0) continue;
        const Node& node = lexicon.nodes[i];
        ++total;
        ++begin[rank[node.word] + 1];
        ++subtree[i];
        if (node.parent != kNone) subtree[node.parent] += subtree[i];
        longest = std::max<int>(longest, lexicon.length[i]);
    }
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    Numbers by_word(total);
    for (std::size_t i = 0; i < count; ++i) {
        if (needed[i] != 0) by_word[begin[rank[lexicon.nodes[i].word]]++] = static_cast<std::uint32_t>(i);
    }

    Numbers order(total), free_place(count, 0);
    std::uint32_t free_root = 0;
    for (int length = 1; length <= longest; ++length) {
        for (const std::uint32_t i : by_word) {
            if (lexicon.length[i] != length) continue;
            const std::uint32_t parent = lexicon.nodes[i].parent;
            std::uint32_t& place = parent == kNone ? free_root : free_place[parent];
            order[place] = i;
            free_place[i] = place + 1;
            place += subtree[i];
        }
    }
    return order;
}

// Keeps the `limit` most frequent of the chosen terms; of equally frequent ones those earlier in `order`.
void keep_most_frequent(const Lexicon& lexicon, const Numbers& order, std::size_t limit, bool binary, Flags& chosen) {
    struct Term {
        std::uint64_t frequency;
        std::uint32_t place;
    };
    std::vector<Term> terms;
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (chosen[order[i]] == 0) continue;
        terms.push_back({binary ? lexicon.df[order[i]] : lexicon.tf[order[i]], static_cast<std::uint32_t>(i)});
    }
    if (terms.size() <= limit) return;
    const auto cut = terms.begin() + static_cast<std::ptrdiff_t>(limit);
    std::nth_element(terms.begin(), cut, terms.end(), [](const Term& a, const Term& b) {
        return a.frequency != b.frequency ? a.frequency > b.frequency : a.place < b.place;
    });
    for (auto term = cut; term != terms.end(); ++term) chosen[order[term->place]] = 0;
}

float idf_of(double df, double texts, const Weighting& weighting) {
    const double smooth = weighting.smooth_idf ? 1 : 0;
    switch (weighting.idf) {
        case Idf::sklearn: return static_cast<float>(std::log((smooth + texts) / (smooth + df)) + 1);
        case Idf::pecos: return static_cast<float>(std::max(std::log(texts / (df + smooth)), 0.0));
        case Idf::none: break;
    }
    return 1;
}

// `number`: lexicon's node → model's node.
void lay_out_words(const Lexicon& lexicon, const Flags& needed, const Numbers& words, const Numbers& number,
                   TfidfModel& model, Numbers& word_number) {
    model.word_slots.assign(std::bit_ceil(2 * std::max<std::size_t>(words.size(), 1)), 0);
    model.word_nodes.assign(words.size(), kNone);
    model.word_offsets.push_back(0);
    const std::size_t mask = model.word_slots.size() - 1;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = lexicon.words[words[i]];
        model.word_bytes.insert(model.word_bytes.end(), word.begin(), word.end());
        model.word_offsets.push_back(static_cast<std::int64_t>(model.word_bytes.size()));
        const std::uint64_t hash = lexicon.words.hashes[words[i]];
        std::size_t at = hash & mask;
        while (model.word_slots[at] != 0) at = (at + 1) & mask;
        model.word_slots[at] = word_slot(hash, static_cast<std::uint32_t>(i));
        word_number[words[i]] = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
        const Node& node = lexicon.nodes[i];
        if (needed[i] != 0 && node.parent == kNone) model.word_nodes[word_number[node.word]] = number[i];
    }
}

void lay_out_grams(const Lexicon& lexicon, const Numbers& nodes, const Numbers& number, const Numbers& word_number,
                   TfidfModel& model) {
    Numbers grams;
    for (const std::uint32_t i : nodes) {
        if (lexicon.nodes[i].parent != kNone) grams.push_back(i);
    }
    model.gram_slots.assign(3 * std::bit_ceil(std::max<std::size_t>(grams.size() * 3 / 2, 1) + 1), kNone);
    const std::size_t mask = model.gram_slots.size() / 3 - 1;
    constexpr std::size_t kAhead = 16;
    std::vector<std::size_t> home(grams.size());
    for (std::size_t i = 0; i < grams.size(); ++i) {
        const Node& node = lexicon.nodes[grams[i]];
        home[i] = hash_gram(number[node.parent], word_number[node.word]) & mask;
    }
    for (std::size_t i = 0; i < grams.size(); ++i) {
        if (i + kAhead < grams.size()) prefetch(&model.gram_slots[3 * home[i + kAhead]]);
        std::size_t at = home[i];
        while (model.gram_slots[3 * at + 2] != kNone) at = (at + 1) & mask;
        const Node& node = lexicon.nodes[grams[i]];
        model.gram_slots[3 * at] = number[node.parent];
        model.gram_slots[3 * at + 1] = word_number[node.word];
        model.gram_slots[3 * at + 2] = number[grams[i]];
    }
}

}  // namespace

Vocabulary choose_vocabulary(const Lexicon& lexicon, const Weighting& weighting, const Limits& limits,
                             std::int64_t texts) {
    const std::size_t count = lexicon.nodes.size();
    Flags chosen(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t df = lexicon.df[i];
        if (df == 0 || df < limits.min_count || df > limits.max_count) continue;
        // With pecos idf a term of (nearly) all texts weighs nothing: it is no feature.
        chosen[i] = weighting.idf != Idf::pecos || idf_of(df, static_cast<double>(texts), weighting) > 0 ? 1 : 0;
    }
    Flags needed = with_beginnings(lexicon, chosen);
    Numbers words = sorted_words(lexicon, needed);
    Numbers nodes = sorted_nodes(lexicon, needed, words);
    if (limits.max_features > 0) {
        keep_most_frequent(lexicon, nodes, static_cast<std::size_t>(limits.max_features), weighting.binary, chosen);
        needed = with_beginnings(lexicon, chosen);
        Flags used(lexicon.words.size(), 0);
        for (std::size_t i = 0; i < count; ++i) {
            if (needed[i] != 0) used[lexicon.nodes[i].word] = 1;
        }
        std::erase_if(words, [&](std::uint32_t word) { return used[word] == 0; });
        std::erase_if(nodes, [&](std::uint32_t node) { return needed[node] == 0; });
    }
    std::stable_partition(nodes.begin(), nodes.end(), [&](std::uint32_t node) { return chosen[node] != 0; });

    Vocabulary vocabulary;
    TfidfModel& model = vocabulary.model;
    Numbers number(count, kNone), word_number(lexicon.words.size(), kNone);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        number[nodes[i]] = static_cast<std::uint32_t>(i);
        if (chosen[nodes[i]] == 0) continue;
        model.idf.push_back(idf_of(lexicon.df[nodes[i]], static_cast<double>(texts), weighting));
    }
    lay_out_words(lexicon, needed, words, number, model, word_number);
    lay_out_grams(lexicon, nodes, number, word_number, model);
    vocabulary.column_of = std::move(number);
    for (std::size_t i = 0; i < count; ++i) {
        if (chosen[i] == 0) vocabulary.column_of[i] = kNone;
    }
    return vocabulary;
}

}  // namespace treetop

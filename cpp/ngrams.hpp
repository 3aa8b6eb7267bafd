// Walks all n-grams of a text, shortest first, so that each is found from its parent with one look-up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ngram_tables.hpp"
#include "tokens.hpp"

namespace treetop {

struct Analysis {
    Analyzer analyzer = Analyzer::word;
    bool lowercase = true;
    int ngram_min = 1;
    int ngram_max = 1;
    int shortest_word = 2;  // characters
    int first_line = 1;     // times that the first of several lines, a title, is counted
};

// Book must offer
//   symbol(bytes, length) -> word                     kNone for a word it does not know
//   first(word, counted) -> node                      the n-gram of one symbol
//   next(parent, word, counted) -> node               the n-gram one symbol longer than `parent`, or kNone
//   prefetch_next(parent, word)
// `counted` says that the n-gram is a term of the text, not only the beginning of one.
class NgramWalk {
public:
    explicit NgramWalk(const Analysis& analysis)
        : analysis_(analysis), cutter_(analysis.analyzer, analysis.lowercase, analysis.shortest_word) {}

    template <typename Book>
    void walk(std::string_view text, Book& book) {
        if (text.size() >= kNone) throw std::length_error("a text of four gigabytes or more");
        if (analysis_.first_line > 1) {
            const std::string_view title = first_of_several_lines(text);
            for (int again = 1; again < analysis_.first_line && !title.empty(); ++again) walk_once(title, book);
        }
        walk_once(text, book);
    }

private:
    static constexpr std::size_t kAhead = 8;

    // Empty where there is one line only; blank lines do not count.
    static std::string_view first_of_several_lines(std::string_view text) {
        constexpr std::string_view kBlank = " \t\r\n";
        const auto begin = text.find_first_not_of(kBlank);
        if (begin == text.npos) return {};
        const auto end = text.find('\n', begin);
        if (end == text.npos || text.find_first_not_of(kBlank, end) == text.npos) return {};
        return text.substr(begin, end - begin);
    }

    template <typename Book>
    void walk_once(std::string_view text, Book& book) {
        symbols_.clear();
        whole_.clear();
        cutter_.cut(text, Sink<Book>{*this, book});
        nodes_.resize(symbols_.size());
        for (std::size_t i = 0; i < symbols_.size(); ++i) {
            nodes_[i] = symbols_[i] == kNone ? kNone : book.first(symbols_[i], counted(1, i));
        }
        for (int length = 2; length <= analysis_.ngram_max; ++length) {
            // From the back, so that nodes_[i - 1] is still the n-gram one shorter that ends before symbol i.
            for (std::size_t i = symbols_.size(); i-- > 0;) {
                if (i > kAhead && is_known(i - kAhead)) {
                    book.prefetch_next(nodes_[i - kAhead - 1], symbols_[i - kAhead]);
                }
                nodes_[i] = is_known(i) ? book.next(nodes_[i - 1], symbols_[i], counted(length, i)) : kNone;
            }
        }
    }

    template <typename Book>
    struct Sink {
        NgramWalk& self;
        Book& book;
        std::size_t begin = 0;

        void symbol(const char* bytes, std::size_t length) { self.symbols_.push_back(book.symbol(bytes, length)); }
        void end_segment() {
            self.note_short_segment(begin);
            self.symbols_.push_back(kNone);
            begin = self.symbols_.size();
        }
    };

    // char_wb counts a word shorter than the shortest n-gram once, as a whole.
    void note_short_segment(std::size_t begin) {
        const std::size_t length = symbols_.size() - begin;
        if (analysis_.analyzer != Analyzer::char_wb || length >= static_cast<std::size_t>(analysis_.ngram_min)) return;
        whole_.resize(symbols_.size(), 0);
        whole_.back() = static_cast<int>(length);
    }

    bool is_known(std::size_t i) const { return i > 0 && symbols_[i] != kNone && nodes_[i - 1] != kNone; }
    bool counted(int length, std::size_t i) const {
        return length >= analysis_.ngram_min || (i < whole_.size() && whole_[i] == length);
    }

    Analysis analysis_;
    Cutter cutter_;
    std::vector<std::uint32_t> symbols_;  // of the text; kNone after each segment and for unknown words
    std::vector<std::uint32_t> nodes_;    // the n-gram of the current length that ends at each symbol
    std::vector<int> whole_;              // at the last symbol of a short segment: its length
};

}  // namespace treetop

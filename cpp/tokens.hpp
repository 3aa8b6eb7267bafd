// Cuts a text into symbols, the units n-grams are made of: words, or single characters.
//
// The rules are scikit-learn's, but for blank. The whole text is lower-cased first; then
//   word     runs of two or more word characters (letters, digits, underscore)        one segment per text
//            (or of another number)
//   blank    the characters between blanks (U+0020), as PECOS does                    one segment per text
//   chars    every character, where two or more white spaces in a row are one blank   one segment per text
//   char_wb  every character of " word " for the words between white space            one segment per word
// n-grams never cross the border of a segment.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "unicode.hpp"

namespace treetop {

enum class Analyzer { word, blank, chars, char_wb };

// For an ASCII byte that belongs to a word, the byte as it appears in the token; 0 for every other byte.
constexpr std::array<char, 256> ascii_word_bytes(bool lowercase) {
    std::array<char, 256> bytes{};
    for (char c = '0'; c <= '9'; ++c) bytes[static_cast<std::size_t>(c)] = c;
    for (char c = 'a'; c <= 'z'; ++c) bytes[static_cast<std::size_t>(c)] = c;
    for (char c = 'A'; c <= 'Z'; ++c) bytes[static_cast<std::size_t>(c)] = lowercase ? static_cast<char>(c + 32) : c;
    bytes['_'] = '_';
    return bytes;
}
inline constexpr auto kAsciiWord = ascii_word_bytes(false);
inline constexpr auto kAsciiLowerWord = ascii_word_bytes(true);

class Cutter {
public:
    // Bytes that may be read, whatever they hold, after a symbol given to the sink.
    static constexpr std::size_t kSlack = 8;

    Cutter(Analyzer analyzer, bool lowercase, int shortest_word = 2)
        : analyzer_(analyzer), lowercase_(lowercase), shortest_(static_cast<std::size_t>(shortest_word)) {}

    // Calls sink.symbol(bytes, length) for each symbol and sink.end_segment() after each segment.
    template <typename Sink>
    void cut(std::string_view text, Sink&& sink) {
        switch (analyzer_) {
            case Analyzer::word: return cut_words(text, sink);
            case Analyzer::blank: return cut_at_blanks(text, sink);
            case Analyzer::chars: return cut_characters(text, sink);
            case Analyzer::char_wb: return cut_characters_in_words(text, sink);
        }
    }

private:
    template <typename Sink>
    void cut_words(std::string_view text, Sink& sink) {
        const auto& ascii = lowercase_ ? kAsciiLowerWord : kAsciiWord;
        // Lower-casing at most doubles the bytes of a character (checked where the tables are made), and a byte that is
        // not UTF-8 is no word character.
        token_.resize(std::max(token_.size(), 2 * text.size() + kSlack));
        char* const token = token_.data();
        std::size_t length = 0, characters = 0;
        const auto close = [&] {
            if (characters >= shortest_) sink.symbol(token, length);
            length = characters = 0;
        };
        std::size_t at = 0;
        while (at < text.size()) {
            const std::size_t run = at;
            while (at < text.size()) {
                const char byte = ascii[static_cast<unsigned char>(text[at])];
                if (byte == 0) break;
                token[length++] = byte;
                ++at;
            }
            characters += at - run;
            if (at == text.size()) break;
            if (static_cast<unsigned char>(text[at]) < 0x80) {
                close();
                ++at;
                continue;
            }
            next_character(text, at, [&](char32_t code) {
                if (!unicode::has(code, unicode::kWord)) return close();
                length += unicode::encode(code, token + length);
                TREETOP_ASSERT(length + kSlack <= token_.size());
                ++characters;
            });
        }
        close();
        sink.end_segment();
    }

    template <typename Sink>
    void cut_at_blanks(std::string_view text, Sink& sink) {
        // A byte that is not UTF-8 becomes three: those of U+FFFD.
        token_.resize(std::max(token_.size(), 3 * text.size() + kSlack));
        std::size_t length = 0, characters = 0;
        const auto close = [&] {
            if (characters >= shortest_) sink.symbol(token_.data(), length);
            length = characters = 0;
        };
        for (std::size_t at = 0; at < text.size();) {
            next_character(text, at, [&](char32_t code) {
                if (code == U' ') return close();
                length += unicode::encode(code, token_.data() + length);
                TREETOP_ASSERT(length + kSlack <= token_.size());
                ++characters;
            });
        }
        close();
        sink.end_segment();
    }

    template <typename Sink>
    void cut_characters(std::string_view text, Sink& sink) {
        char32_t space = 0;  // the last white space of a run, not yet given
        std::size_t spaces = 0;
        const auto close = [&] {
            if (spaces > 0) give(spaces == 1 ? space : U' ', sink);
            spaces = 0;
        };
        for (std::size_t at = 0; at < text.size();) {
            next_character(text, at, [&](char32_t code) {
                if (unicode::has(code, unicode::kSpace)) {
                    space = code;
                    ++spaces;
                } else {
                    close();
                    give(code, sink);
                }
            });
        }
        close();
        sink.end_segment();
    }

    template <typename Sink>
    void cut_characters_in_words(std::string_view text, Sink& sink) {
        bool inside = false;
        const auto close = [&] {
            if (!inside) return;
            give(U' ', sink);
            sink.end_segment();
            inside = false;
        };
        for (std::size_t at = 0; at < text.size();) {
            next_character(text, at, [&](char32_t code) {
                if (unicode::has(code, unicode::kSpace)) return close();
                if (!inside) give(U' ', sink);
                inside = true;
                give(code, sink);
            });
        }
        close();
    }

    // Reads the character at text[at], moves `at` past it and takes its lower-case form if requested.
    template <typename Take>
    void next_character(std::string_view text, std::size_t& at, Take&& take) {
        const std::size_t begin = at;
        const char32_t code = unicode::decode(text, at);
        if (lowercase_) {
            unicode::lower(text, begin, at, code, take);
        } else {
            take(code);
        }
    }

    template <typename Sink>
    void give(char32_t code, Sink& sink) {
        char bytes[4 + kSlack] = {};
        sink.symbol(bytes, unicode::encode(code, bytes));
    }

    Analyzer analyzer_;
    bool lowercase_;
    std::size_t shortest_;  // characters of a word, at least 1
    std::vector<char> token_;
};

}  // namespace treetop

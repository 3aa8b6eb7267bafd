#include "xmc_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "csr_flaw.hpp"
#include "decimal.hpp"
#include "parallel.hpp"
#include "require.hpp"

namespace treetop {
namespace {

constexpr std::size_t kSegment = std::size_t{1} << 18;  // bytes that a thread parses at a time, or a line
constexpr std::int64_t kRows = 1024;                    // rows that a thread prints at a time

bool is_space(char character) { return character == ' ' || (character >= '\t' && character <= '\r'); }
bool is_digit(char character) { return character >= '0' && character <= '9'; }

// A whole number and where it ends; beyond the range of column ids it stays too large.
std::uint64_t parse_whole(const char*& at, const char* last) {
    std::uint64_t value = 0;
    for (; at < last && is_digit(*at); ++at) {
        if (value <= 0xFFFFFFFFU) value = 10 * value + static_cast<std::uint64_t>(*at - '0');
    }
    return value;
}

class LineParser {
public:
    LineParser(std::string_view text, const XmcSizes& sizes, XmcRows& rows)
        : text_(text), sizes_(sizes), rows_(rows) {}

    // One line without its end. False: `kind`, `begin` and `end` say what is wrong.
    bool parse(const char* at, const char* last) {
        at = skip_space(at, last);
        const char* word = word_end(at, last);
        if (std::find(at, word, ':') == word) {
            if (!label_list(at, word)) return false;
            at = word;
        }
        for (at = skip_space(at, last); at < last; at = skip_space(at, last)) {
            if (!feature(at, last)) return false;
        }
        rows_.indptr.push_back(static_cast<std::int64_t>(rows_.indices.size()));
        rows_.label_indptr.push_back(static_cast<std::int64_t>(rows_.labels.size()));
        return true;
    }

    XmcFaultKind kind{};
    std::int64_t begin = 0, end = 0;

private:
    static const char* skip_space(const char* at, const char* last) {
        while (at < last && is_space(*at)) ++at;
        return at;
    }

    static const char* word_end(const char* at, const char* last) {
        while (at < last && !is_space(*at)) ++at;
        return at;
    }

    bool fault(XmcFaultKind what, const char* first, const char* last) {
        kind = what;
        begin = first - text_.data();
        end = last - text_.data();
        return false;
    }

    bool label_list(const char* at, const char* word) {
        const char* const first = at;
        while (at < word) {
            const char* const number = at;
            const auto label = parse_whole(at, word);
            const bool more = at < word && *at == ',';
            if (at == number || (at < word && !more) || (more && at + 1 == word)) {
                return fault(XmcFaultKind::label_list, first, word);
            }
            if (label >= static_cast<std::uint64_t>(sizes_.labels)) {
                return fault(XmcFaultKind::label_range, number, at);
            }
            rows_.labels.push_back(static_cast<std::int32_t>(label));
            at += more ? 1 : 0;
        }
        return true;
    }

    bool feature(const char*& at, const char* last) {
        const char* const word = at;
        const auto id = parse_whole(at, last);
        const char* const colon = at;
        const bool has_value = colon > word && colon < last && *colon == ':';
        const char* const number = has_value ? colon + 1 : colon;
        const char* rest = number;
        const double value = has_value ? parse_decimal(rest, last) : 0.0;
        if (rest == number || (rest < last && !is_space(*rest))) {
            return fault(XmcFaultKind::feature, word, word_end(word, last));
        }
        if (id >= static_cast<std::uint64_t>(sizes_.features)) return fault(XmcFaultKind::feature_range, word, colon);
        rows_.indices.push_back(static_cast<std::int32_t>(id));
        rows_.data.push_back(static_cast<float>(value));
        at = rest;
        return true;
    }

    std::string_view text_;
    const XmcSizes& sizes_;
    XmcRows& rows_;
};

struct Segment {  // some lines of the text
    const char *first, *last;
    XmcRows rows;
    std::vector<char> empty;  // which rows are
    std::optional<XmcFault> fault;
};

std::vector<Segment> cut(std::string_view text) {
    std::vector<Segment> segments;
    for (const char *at = text.data(), *last = at + text.size(); at < last;) {
        const char* end = last;
        if (static_cast<std::size_t>(last - at) > kSegment) {
            const char* from = at + kSegment;
            const auto* line_end = static_cast<const char*>(std::memchr(from, '\n', static_cast<std::size_t>(last - from)));
            end = line_end == nullptr ? last : line_end + 1;
        }
        segments.push_back({at, end, {}, {}, {}});
        at = end;
    }
    return segments;
}

void parse(Segment& segment, std::string_view text, const XmcSizes& sizes) {
    LineParser parser(text, sizes, segment.rows);
    std::int64_t line = 0;
    for (const char* at = segment.first; at < segment.last; ++line) {
        const auto* found = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(segment.last - at)));
        const char* end = found == nullptr ? segment.last : found;
        if (!parser.parse(at, end)) {
            segment.fault = XmcFault{parser.kind, line, parser.begin, parser.end};
            return;
        }
        segment.empty.push_back(std::all_of(at, end, is_space) ? 1 : 0);
        at = found == nullptr ? end : end + 1;
    }
}

// Empty lines have no entries: only their row pointers go.
void drop_empty_lines(Segment& segment, std::int64_t from) {
    std::size_t kept = static_cast<std::size_t>(std::max<std::int64_t>(from, 0));
    for (std::size_t row = kept; row < segment.empty.size(); ++row) {
        if (segment.empty[row] != 0) continue;
        segment.rows.indptr[kept + 1] = segment.rows.indptr[row + 1];
        segment.rows.label_indptr[kept + 1] = segment.rows.label_indptr[row + 1];
        ++kept;
    }
    if (kept >= segment.empty.size()) return;
    segment.rows.indptr.resize(kept + 1);
    segment.rows.label_indptr.resize(kept + 1);
}

template <typename T>
void append(std::vector<T>& whole, const std::vector<T>& part) {
    whole.insert(whole.end(), part.begin(), part.end());
}

void append_pointers(std::vector<std::int64_t>& whole, const std::vector<std::int64_t>& part) {
    const auto base = whole.back();
    for (std::size_t row = 1; row < part.size(); ++row) whole.push_back(base + part[row]);
}

}  // namespace

void check(const XmcSizes& sizes) {
    require(sizes.rows >= 0 && 0 <= sizes.features && sizes.features <= kAnyColumn && 0 <= sizes.labels &&
                sizes.labels <= kAnyColumn,
            "a number of rows, features or labels is out of range");
}

std::optional<XmcFault> parse_xmc(std::string_view text, const XmcSizes& sizes, int threads, XmcRows& rows) {
    TREETOP_ASSERT((check(sizes), true));
    std::vector<Segment> segments = cut(text);
    parallel_for(static_cast<std::int64_t>(segments.size()), threads,
                 [&](std::int64_t index, int) { parse(segments[static_cast<std::size_t>(index)], text, sizes); });

    XmcRows all;
    std::int64_t line = 0;
    std::size_t entries = 0, labels = 0;
    for (const auto& segment : segments) {
        if (segment.fault) {
            auto fault = *segment.fault;
            fault.line += line;
            return fault;
        }
        line += static_cast<std::int64_t>(segment.empty.size());
        entries += segment.rows.indices.size();
        labels += segment.rows.labels.size();
    }
    all.indptr.reserve(static_cast<std::size_t>(line) + 1);
    all.label_indptr.reserve(static_cast<std::size_t>(line) + 1);
    all.indices.reserve(entries);
    all.data.reserve(entries);
    all.labels.reserve(labels);
    for (auto& segment : segments) {
        const auto before = static_cast<std::int64_t>(all.indptr.size()) - 1;
        drop_empty_lines(segment, sizes.rows - before);
        append_pointers(all.indptr, segment.rows.indptr);
        append_pointers(all.label_indptr, segment.rows.label_indptr);
        append(all.indices, segment.rows.indices);
        append(all.data, segment.rows.data);
        append(all.labels, segment.rows.labels);
        segment.rows = {};
    }
    rows = std::move(all);
    return std::nullopt;
}

void check(const Csr& features, const Pattern& labels, std::int64_t begin, std::int64_t end) {
    require(0 <= begin && begin <= end && end <= features.rows && features.rows == labels.rows,
            "a row number is out of range");
}

std::vector<char> print_xmc(const Csr& features, const Pattern& labels, std::int64_t begin, std::int64_t end,
                            int threads) {
    TREETOP_ASSERT((check(features, labels, begin, end), true) && sound(features, Order::any) && sound(labels, Order::any));
    constexpr std::size_t kId = 11;  // characters of a column id at most
    std::vector<std::vector<char>> parts(static_cast<std::size_t>((end - begin + kRows - 1) / kRows));
    parallel_blocks(end - begin, kRows, threads, [&](std::int64_t first, std::int64_t last, int) {
        auto& part = parts[static_cast<std::size_t>(first / kRows)];
        const auto count = [&](const Pattern& matrix) {
            return static_cast<std::size_t>(matrix.indptr[begin + last] - matrix.indptr[begin + first]);
        };
        part.resize(count(features) * (kId + kFloatDigits + 2) + count(labels) * (kId + 1) +
                    static_cast<std::size_t>(last - first));
        char* at = part.data();
        for (std::int64_t row = begin + first; row < begin + last; ++row) {
            const auto given = labels.row(row);
            for (std::size_t j = 0; j < given.size(); ++j) {
                if (j > 0) *at++ = ',';
                at = std::to_chars(at, at + kId, given[j]).ptr;
            }
            const auto ids = features.row(row);
            const auto values = features.values(row);
            for (std::size_t j = 0; j < ids.size(); ++j) {
                *at++ = ' ';
                at = std::to_chars(at, at + kId, ids[j]).ptr;
                *at++ = ':';
                at = print_float(at, values[j]);
            }
            *at++ = '\n';
        }
        TREETOP_ASSERT(static_cast<std::size_t>(at - part.data()) <= part.size());
        part.resize(static_cast<std::size_t>(at - part.data()));
    });
    std::vector<char> text;
    std::size_t size = 0;
    for (const auto& part : parts) size += part.size();
    text.reserve(size);
    for (const auto& part : parts) text.insert(text.end(), part.begin(), part.end());
    return text;
}

}  // namespace treetop

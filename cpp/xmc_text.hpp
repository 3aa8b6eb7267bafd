// The Extreme Classification Repository's text format: a line "label,label feature:value feature:value" per example.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "csr.hpp"

namespace treetop {

struct XmcRows {  // a matrix of features and one of labels, columns as in the text
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> data;
    std::vector<std::int64_t> label_indptr{0};
    std::vector<std::int32_t> labels;
};

enum class XmcFaultKind { label_list, label_range, feature, feature_range };

struct XmcFault {  // the first thing that is wrong
    XmcFaultKind kind;
    std::int64_t line;  // from 0
    std::int64_t begin, end;  // its position in the text
};

struct XmcSizes {
    std::int64_t rows, features, labels;
};

// Throws std::invalid_argument where ids below these sizes would not be column ids.
void check(const XmcSizes& sizes);

// Parses whole lines on `threads` threads. A line that begins with a feature, or is empty, has no labels; white space
// is that of ASCII. Empty lines after the first `sizes.rows` are left out.
// A fault leaves `rows` as it was. Trusts nothing of the text, and sizes that check() accepts.
std::optional<XmcFault> parse_xmc(std::string_view text, const XmcSizes& sizes, int threads, XmcRows& rows);

// Throws std::invalid_argument where print_xmc() could not trust what it is given.
void check(const Csr& features, const Pattern& labels, std::int64_t begin, std::int64_t end);

// The lines of rows [begin, end), which check() accepts. Numbers have the fewest digits that give the same float back.
std::vector<char> print_xmc(const Csr& features, const Pattern& labels, std::int64_t begin, std::int64_t end,
                            int threads);

}  // namespace treetop

#include "check.hpp"
#include "decimal.hpp"
#include "xmc_text.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

using namespace treetop;

namespace {

double parsed(std::string_view text) {
    const char* at = text.data();
    const double value = parse_decimal(at, text.data() + text.size());
    CHECK(at == text.data() + text.size());
    return value;
}

std::string printed(float value) {
    char buffer[kFloatDigits];
    return {buffer, print_float(buffer, value)};
}

XmcRows rows_of(std::string_view text, const XmcSizes& sizes, int threads = 1) {
    XmcRows rows;
    CHECK(!parse_xmc(text, sizes, threads, rows));
    return rows;
}

void test_numbers() {
    // Short, long, halfway between two doubles, at and beyond the ends of the range.
    for (const char* text :
         {"0", "1", "1.", ".5", "0.25", "1e5", "1E+5", "25e-3", "0.1", "123456789.125", "9007199254740993", "1e22", "1e23",
          "8.5e-30", "3.4028236e38", "1e39", "1e-45", "1e-50", "4.9406564584124654e-324", "1e-400", "0e999999999999999",
          "0.000000000000000000000000000001", "100000000000000000000000000000000000000000", "1.7976931348623157e308",
          "1.00000005960464477539062500001", "0.3000000000000000000000000000000000000000000001"}) {
        CHECK(parsed(text) == std::strtod(text, nullptr));
        CHECK(parsed("-" + std::string(text)) == -std::strtod(text, nullptr));
        CHECK(parsed("+" + std::string(text)) == std::strtod(text, nullptr));
    }
    CHECK(std::isinf(parsed("1e400")) && std::isinf(parsed("1e99999999999999999999")));
    CHECK(std::signbit(parsed("-0")));
    for (const std::string_view text : {"", "-", ".", "e5", "x", "nan", "inf"}) {
        const char* at = text.data();
        parse_decimal(at, text.data() + text.size());
        CHECK(at == text.data());
    }
    const std::string_view partly = "1.5e+x";
    const char* at = partly.data();
    CHECK(parse_decimal(at, partly.data() + partly.size()) == 1.5 && at == partly.data() + 3);

    CHECK(printed(1.0F) == "1" && printed(0.25F) == "0.25" && printed(-0.1F) == "-0.1" && printed(1e-5F) == "1e-05");
    for (std::uint32_t bits = 1; bits < 0x7F800000U; bits += 49999) {
        const auto value = std::bit_cast<float>(bits);
        CHECK(static_cast<float>(parsed(printed(-value))) == -value);
    }
    CHECK(parsed(printed(std::numeric_limits<float>::max())) > 3.4e38);
}

void test_lines() {
    const XmcSizes sizes{4, 5, 4};
    const auto rows = rows_of("2,0 0:1 3:0.25\r\n 1:-2e-1\n\n1\t4:.5 0:1e39\n \n\n", sizes);
    CHECK((rows.indptr == std::vector<std::int64_t>{0, 2, 3, 3, 5}));
    CHECK((rows.indices == std::vector<std::int32_t>{0, 3, 1, 4, 0}));
    CHECK((rows.data == std::vector<float>{1, 0.25F, -0.2F, 0.5F, std::numeric_limits<float>::infinity()}));
    CHECK((rows.label_indptr == std::vector<std::int64_t>{0, 2, 2, 2, 3}));
    CHECK((rows.labels == std::vector<std::int32_t>{2, 0, 1}));
    CHECK(rows_of("", sizes).indptr.size() == 1);
    CHECK(rows_of("1", sizes).labels.size() == 1);
    CHECK(rows_of("\n\n\n\n\n1\n\n", sizes).indptr.size() == 6);  // a row too many is counted, empty ones are not
}

void test_faults() {
    struct Case {
        const char* line;
        XmcFaultKind kind;
        const char* what;
    };
    for (const auto& [line, kind, what] : std::vector<Case>{
             {"0;1 1:1", XmcFaultKind::label_list, "0;1"},
             {"0,,1 1:1", XmcFaultKind::label_list, "0,,1"},
             {"0, 1:1", XmcFaultKind::label_list, "0,"},
             {",0", XmcFaultKind::label_list, ",0"},
             {"0,17 1:1", XmcFaultKind::label_range, "17"},
             {"99999999999999999999999", XmcFaultKind::label_range, "99999999999999999999999"},
             {"0 1:1 2:nan", XmcFaultKind::feature, "2:nan"},
             {"0 1:1:2 2", XmcFaultKind::feature, "1:1:2"},
             {"0 1: 2", XmcFaultKind::feature, "1:"},
             {"0 :1", XmcFaultKind::feature, ":1"},
             {"0 1:1e", XmcFaultKind::feature, "1:1e"},
             {"0 7", XmcFaultKind::feature, "7"},
             {"-1:2", XmcFaultKind::feature, "-1:2"},
             {"0 3:1 4294967296:1", XmcFaultKind::feature_range, "4294967296"},
         }) {
        const std::string text = "0 1:1\n\n" + std::string(line) + "\n0;\n";
        XmcRows rows;
        const auto fault = parse_xmc(text, {9, 5, 4}, 1, rows);
        CHECK(fault && fault->kind == kind && fault->line == 2);
        if (fault) CHECK(text.substr(static_cast<std::size_t>(fault->begin), static_cast<std::size_t>(fault->end - fault->begin)) == what);
        CHECK(rows.indptr.size() == 1);
    }
}

// Many segments: the same rows, and the same first fault, on any number of threads; and back to the same text.
void test_threads() {
    std::string text;
    const std::int64_t lines = 60000;
    for (std::int64_t line = 0; line < lines; ++line) {
        text += std::to_string(line % 7) + "," + std::to_string(line % 11 + 7);
        for (std::int64_t j = 0; j < line % 5; ++j) {
            text += " " + std::to_string((line + 31 * j) % 1000) + ":" + printed(0.37F * static_cast<float>(line + j));
        }
        text += "\n";
    }
    const XmcSizes sizes{lines, 1000, 18};
    const auto one = rows_of(text, sizes, 1), three = rows_of(text, sizes, 3);
    CHECK(one.indptr == three.indptr && one.indices == three.indices && one.data == three.data);
    CHECK(one.label_indptr == three.label_indptr && one.labels == three.labels);
    CHECK(static_cast<std::int64_t>(one.indptr.size()) == lines + 1);

    Csr features;
    features.rows = lines;
    features.cols = 1000;
    features.indptr = one.indptr.data();
    features.indices = one.indices.data();
    features.data = one.data.data();
    const Pattern labels{lines, 18, one.label_indptr.data(), one.labels.data()};
    for (const int threads : {1, 3}) {
        const auto all = print_xmc(features, labels, 0, lines, threads);
        CHECK(std::string_view(all.data(), all.size()) == text);
    }
    const auto head = print_xmc(features, labels, 0, 1500, 2), tail = print_xmc(features, labels, 1500, lines, 2);
    CHECK(std::string(head.begin(), head.end()) + std::string(tail.begin(), tail.end()) == text);

    for (const std::int64_t bad : {50000, 20000}) {
        std::size_t at = 0;
        for (std::int64_t line = 0; line < bad; ++line) at = text.find('\n', at) + 1;
        text[at] = 'x';
        for (const int threads : {1, 3}) {
            XmcRows rows;
            const auto fault = parse_xmc(text, sizes, threads, rows);
            CHECK(fault && fault->line == bad && fault->kind == XmcFaultKind::label_list);
        }
    }
}

}  // namespace

int main() {
    test_numbers();
    test_lines();
    test_faults();
    test_threads();
    return finish();
}

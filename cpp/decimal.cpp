#include "decimal.hpp"

#include <charconv>
#include <cstdint>
#include <limits>
#include <version>

// libc++ long lacked charconv for floating-point numbers; streams in the classic locale do the same, slowly.
#if !defined(__cpp_lib_to_chars)
#include <locale>
#include <sstream>
#include <string>
#endif

namespace treetop {
namespace {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kLargestPower = 22;  // of 10 that a double holds exactly
constexpr std::uint64_t kLargestWhole = std::uint64_t{1} << 53;

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// The nearest double to an unsigned decimal number whose first significant digit is at 10^magnitude or below.
double nearest(const char* first, const char* last, std::int64_t magnitude) {
    const double beyond = magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    double value = 0.0;
#if defined(__cpp_lib_to_chars)
    return std::from_chars(first, last, value).ec == std::errc{} ? value : beyond;
#else
    std::istringstream stream{std::string(first, last)};
    stream.imbue(std::locale::classic());
    return stream >> value ? value : beyond;
#endif
}

}  // namespace

double parse_decimal(const char*& first, const char* last) {
    const char* at = first;
    const bool negative = at < last && *at == '-';
    if (at < last && (*at == '-' || *at == '+')) ++at;
    const char* const start = at;

    // value = whole · 10^exponent as long as no digit was dropped
    std::uint64_t whole = 0;
    std::int64_t exponent = 0;
    int digits = 0;
    bool exact = true, any = false;
    const auto take = [&](std::int64_t place) {
        for (; at < last && is_digit(*at); ++at) {
            any = true;
            if (digits < 19) {
                whole = 10 * whole + static_cast<std::uint64_t>(*at - '0');
                digits += whole != 0 ? 1 : 0;
                exponent += place;
            } else {
                exact = false;
                exponent += place + 1;
            }
        }
    };
    take(0);
    if (at < last && *at == '.') {
        ++at;
        take(-1);
    }
    if (!any) return 0.0;
    if (at < last && (*at == 'e' || *at == 'E')) {
        const char* power = at + 1;
        const bool down = power < last && *power == '-';
        if (power < last && (*power == '-' || *power == '+')) ++power;
        if (power < last && is_digit(*power)) {
            std::int64_t size = 0;
            for (; power < last && is_digit(*power); ++power) {
                if (size < 1'000'000'000'000) size = 10 * size + (*power - '0');
            }
            exponent += down ? -size : size;
            at = power;
        }
    }
    first = at;

    double value = 0.0;
    // Both factors are exact, so that one multiplication or division rounds once.
    if (exact && whole <= kLargestWhole && exponent >= -kLargestPower && exponent <= kLargestPower) {
        value = static_cast<double>(whole);
        value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
    } else if (whole != 0) {
        value = nearest(start, at, exponent + digits);
    }
    return negative ? -value : value;
}

char* print_float(char* first, float value) {
#if defined(__cpp_lib_to_chars)
    return std::to_chars(first, first + kFloatDigits, value).ptr;
#else
    std::string text;
    for (int precision = 6; precision <= 9; ++precision) {
        std::ostringstream stream;
        stream.imbue(std::locale::classic());
        stream.precision(precision);
        stream << value;
        text = stream.str();
        const char* at = text.data();
        if (static_cast<float>(parse_decimal(at, at + text.size())) == value) break;
    }
    return text.copy(first, kFloatDigits) + first;
#endif
}

}  // namespace treetop

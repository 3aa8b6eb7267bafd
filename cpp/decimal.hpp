// Decimal numbers in texts: digits to double and float to digits, the same in every locale.
#pragma once

#include <cstddef>

namespace treetop {

// The value of [+-]digits[.digits][e[+-]digits] at the start of [first, last), rounded to the nearest double; too
// large ones become infinite. `first` moves past the number, or stays if there is none.
double parse_decimal(const char*& first, const char* last);

// The fewest digits that give `value` back. Writes at most kFloatDigits characters and returns the end.
inline constexpr std::size_t kFloatDigits = 16;
char* print_float(char* first, float value);

}  // namespace treetop

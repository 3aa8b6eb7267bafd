// Numbers in texts, next to what the C library reads; and floats printed and read again.
#include <cmath>
#include <cstdlib>
#include <string>

#include "decimal.hpp"
#include "input.hpp"

namespace {

void run(Input& input) {
    const auto bits = input.value<std::uint32_t>();
    const auto value = std::bit_cast<float>(bits);
    if (std::isfinite(value)) {
        char digits[treetop::kFloatDigits];
        const char* const end = treetop::print_float(digits, value);
        EXPECT(end > digits && end <= digits + treetop::kFloatDigits);
        const char* at = digits;
        EXPECT(static_cast<float>(treetop::parse_decimal(at, end)) == value && at == end);
    }
    const std::vector<char> text(input.text().begin(), input.text().end());
    const char* at = text.data();
    const double read = treetop::parse_decimal(at, text.data() + text.size());
    EXPECT(text.data() <= at && at <= text.data() + text.size());
    if (at == text.data()) return;
    const std::string number(text.data(), at);
    EXPECT(read == std::strtod(number.c_str(), nullptr));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

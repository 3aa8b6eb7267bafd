// The bytes of a fuzzer as numbers and arrays. Numbers are taken from the end, so that the front can be a text.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <vector>

// What must hold of every result, whatever the input.
#define EXPECT(...)                                                                       \
    do {                                                                                  \
        if (!(__VA_ARGS__)) {                                                             \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #__VA_ARGS__); \
            std::abort();                                                                 \
        }                                                                                 \
    } while (false)

class Input {
public:
    Input(const std::uint8_t* bytes, std::size_t size) : bytes_(bytes), size_(size) {}

    // The next number; 0 once no bytes are left.
    template <typename T>
    T value() {
        T number{};
        if (size_ < sizeof(T)) {
            size_ = 0;
            return number;
        }
        size_ -= sizeof(T);
        std::memcpy(&number, bytes_ + size_, sizeof(T));
        return number;
    }

    // In [0, bound), bound >= 1.
    std::int64_t below(std::int64_t bound) {
        if (bound <= 0x100) return value<std::uint8_t>() % bound;
        return static_cast<std::int64_t>(value<std::uint32_t>()) % bound;
    }
    bool once_in(std::int64_t times) { return below(times) == times - 1; }  // false once no bytes are left

    // A small number of eighths; now and then one that is hard to compute with.
    float number() {
        const auto byte = value<std::uint8_t>();
        if (byte < 0xF8) return static_cast<float>(static_cast<std::int8_t>(byte)) / 8.0F;
        using limits = std::numeric_limits<float>;
        constexpr float kHard[] = {limits::quiet_NaN(), limits::infinity(),   -limits::infinity(), limits::max(),
                                   limits::lowest(),    limits::denorm_min(), limits::min(),       -0.0F};
        return kHard[byte - 0xF8];
    }

    // The bytes that no number has taken; they stay.
    std::string_view text() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

    bool empty() const { return size_ == 0; }

private:
    const std::uint8_t* bytes_;
    std::size_t size_;
};

// Changes some numbers of an array, and now and then its length, as damage or an attacker would.
template <typename T>
void damage(Input& input, std::vector<T>& values) {
    for (auto times = input.below(4); times > 0; --times) {
        if (values.empty() || input.once_in(16)) {
            values.resize(static_cast<std::size_t>(input.below(static_cast<std::int64_t>(values.size()) + 3)));
            values.shrink_to_fit();  // so that a sanitizer sees reads behind the end
            continue;
        }
        T& place = values[static_cast<std::size_t>(input.below(static_cast<std::int64_t>(values.size())))];
        if constexpr (std::is_floating_point_v<T>) {
            place = input.number();
        } else {
            using U = std::make_unsigned_t<T>;
            switch (input.below(6)) {
                case 0: place = static_cast<T>(static_cast<U>(place) + 1U); break;
                case 1: place = static_cast<T>(static_cast<U>(place) - 1U); break;
                case 2: place = std::numeric_limits<T>::max(); break;
                case 3: place = std::numeric_limits<T>::min(); break;
                case 4: place = static_cast<T>(static_cast<U>(place) ^ (U{1} << input.below(8 * sizeof(T)))); break;
                default: place = input.value<T>();
            }
        }
    }
}

// Runs a fuzzer's task; what a door rejects is no fault.
template <typename Task>
int attack(const std::uint8_t* bytes, std::size_t size, Task&& task) {
    Input input(bytes, size);
    try {
        task(input);
    } catch (const std::invalid_argument&) {
    } catch (const std::length_error&) {
    }
    return 0;
}

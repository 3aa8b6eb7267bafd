// The check of a door: what comes from outside either passes or is rejected with a sentence.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace treetop {

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Whether pointers into another array ascend from 0.
inline bool ascending(std::span<const std::int64_t> values) {
    return !values.empty() && values.front() == 0 && std::is_sorted(values.begin(), values.end());
}

// Whether they also end at the size of that array.
inline bool ascending_to(std::span<const std::int64_t> values, std::size_t last) {
    return ascending(values) && values.back() == static_cast<std::int64_t>(last);
}

}  // namespace treetop

#include "key_match.hpp"
#include "check.hpp"

#include <cstring>
#include <vector>

namespace {

template <typename Key>
void both_ways(std::uint64_t pattern) {
    std::uint8_t bytes[treetop::kKeyGroup * sizeof(Key)];
    for (std::size_t i = 0; i < treetop::kKeyGroup; ++i) {
        const auto key = static_cast<Key>((pattern >> (4 * i)) & 3U);  // some keys several times
        const auto wide = static_cast<Key>(key == 3 ? static_cast<Key>(-1) : key);
        std::memcpy(bytes + i * sizeof(Key), &wide, sizeof(Key));
    }
    for (const Key key : {Key{0}, Key{1}, Key{2}, static_cast<Key>(-1), Key{77}}) {
        const auto found = treetop::match_keys_plainly<Key>(bytes, key);
        CHECK(treetop::match_keys<Key>(bytes, key) == found);
        CHECK(found <= 0xFFFFU && (key != Key{77} || found == 0));
    }
}

}  // namespace

int main() {
    const std::uint16_t keys[16] = {7, 0, 0, 9};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(keys);
    CHECK(treetop::match_keys<std::uint16_t>(bytes, 9) == 8U);
    CHECK(treetop::match_keys<std::uint16_t>(bytes, 0) == 0xFFF6U);
    std::uint64_t pattern = 1;
    for (int round = 0; round < 100; ++round) {
        pattern = pattern * 6364136223846793005U + 1442695040888963407U;
        both_ways<std::uint8_t>(pattern);
        both_ways<std::uint16_t>(pattern);
        both_ways<std::uint32_t>(pattern);
    }
    return finish();
}

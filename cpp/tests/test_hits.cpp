#include "check.hpp"
#include "hits.hpp"

#include <cstdint>
#include <vector>

int main() {
    const std::vector<std::int64_t> truth_ptr{0, 2, 2, 5}, predicted_ptr{0, 3, 4, 6};
    const std::vector<std::int32_t> truth_ids{1, 4, 0, 2, 9}, predicted_ids{4, 2, 1, 7, 9, 3};
    const treetop::Pattern truth{3, 10, truth_ptr.data(), truth_ids.data()};
    const treetop::Pattern predicted{3, 10, predicted_ptr.data(), predicted_ids.data()};
    const std::vector<std::uint8_t> expected{1, 0, 1, 0, 1, 0};
    CHECK(treetop::hits(truth, predicted, 1) == expected);
    CHECK(treetop::hits(truth, predicted, 3) == expected);
    return finish();
}

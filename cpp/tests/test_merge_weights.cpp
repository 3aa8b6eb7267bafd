#include "merge_weights.hpp"
#include "check.hpp"
#include "plain_level.hpp"

#include <vector>

int main() {
    // Two parents of three and two children; child 1 of the first is replaced, and gets a sibling.
    const TestLevel level({0, 3, 5}, {0, 3, 4}, {2, 4, 7, 4}, {0, 2, 3, 5, 6}, {0, 1, 1, 0, 2, 1},
                          {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F}, {0, 0, 0, 0, 0}, 8, true);
    const std::vector<std::int64_t> parents{0}, offsets{0, 2}, chunks{0, 3}, rows{0, 1, 3, 4};
    const std::vector<std::uint8_t> replaced{0, 1, 0, 0, 0};
    const std::vector<std::int32_t> features{0, 2, 6}, children{1, 0, 1, 0}, names{1, 3};
    const std::vector<float> weights{10.0F, 20.0F, 30.0F, 40.0F};
    for (const int threads : {1, 2}) {
        const auto merged = treetop::merge_weights(
            level.level, {parents, replaced, {offsets, chunks, features, rows, children, weights}, names}, 8, threads);
        CHECK((merged.chunks == std::vector<std::int64_t>{0, 4}));
        CHECK((merged.features == std::vector<std::int32_t>{0, 2, 6, 7}));
        CHECK((merged.rows == std::vector<std::int64_t>{0, 1, 4, 5, 7}));
        CHECK((merged.children == std::vector<std::int32_t>{3, 0, 1, 3, 1, 0, 2}));
        CHECK((merged.weights == std::vector<float>{10.0F, 1.0F, 20.0F, 30.0F, 40.0F, 4.0F, 5.0F}));
    }
    return finish();
}

#include "check.hpp"
#include "label_vectors.hpp"
#include "matrix.hpp"

#include <limits>
#include <vector>

// One label with two texts; the sums of three features are 3, infinity less infinity, and -4.
int main() {
    const float infinity = std::numeric_limits<float>::infinity();
    const Matrix labels{{0, 2}, {0, 1}, {1.0F, 1.0F}, 2};
    const Matrix texts{{0, 3, 6}, {0, 1, 2, 0, 1, 2}, {1.0F, infinity, -2.0F, 2.0F, -infinity, -2.0F}, 3};
    const auto all = treetop::aggregate(labels.view(), texts.view(), {0, 1, false}, 1);
    CHECK((all.indices == std::vector<std::int32_t>{0, 2}) && (all.data == std::vector<float>{3.0F, -4.0F}));
    const auto largest = treetop::aggregate(labels.view(), texts.view(), {1, 1, false}, 1);
    CHECK((largest.indices == std::vector<std::int32_t>{2}));
    return finish();
}

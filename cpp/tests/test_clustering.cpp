#include "check.hpp"
#include "clustering.hpp"
#include "matrix.hpp"
#include "random.hpp"
#include "simd.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

// Two planted groups: even items use features 0..9, odd ones 10..19.
Matrix two_groups(int n) {
    Matrix vectors;
    vectors.cols = 20;
    treetop::Random random(7);
    for (int i = 0; i < n; ++i) {
        const int base = i % 2 == 0 ? 0 : 10;
        for (int f = 0; f < 10; ++f) {
            if (random.below(2) == 0 && f > 0) continue;
            vectors.indices.push_back(base + f);
            vectors.data.push_back(0.3F + 0.01F * static_cast<float>(random.below(10)));
        }
        vectors.indptr.push_back(static_cast<std::int64_t>(vectors.indices.size()));
    }
    return vectors;
}

// Features that many items have (0..9), that few have (10..309), and that one has (the others).
Matrix of_all_frequencies(int n) {
    Matrix vectors;
    vectors.cols = 310 + n;
    treetop::Random random(5);
    for (int i = 0; i < n; ++i) {
        const auto topic = static_cast<std::int32_t>(random.below(60));
        for (std::int32_t f = 0; f < 10; ++f) {
            if (random.below(3) != 0) vectors.indices.push_back(f);
        }
        for (std::int32_t f = 10 + 5 * topic; f < 15 + 5 * topic; ++f) vectors.indices.push_back(f);
        if (i % 2 == 0) vectors.indices.push_back(310 + i);
        while (vectors.data.size() < vectors.indices.size()) {
            vectors.data.push_back(0.1F + 0.01F * static_cast<float>(random.below(30)));
        }
        vectors.indptr.push_back(static_cast<std::int64_t>(vectors.indices.size()));
    }
    return vectors;
}

bool is_permutation(std::vector<std::int32_t> order) {
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] != static_cast<std::int32_t>(i)) return false;
    }
    return true;
}

}  // namespace

int main() {
    for (const int n : {1000, 1001}) {
        const auto vectors = two_groups(n);
        treetop::ClusterOptions options;
        const auto one = treetop::balanced_clusters(vectors.view(), {2}, options);
        CHECK(is_permutation(one.order));
        CHECK(one.offsets.size() == 2);
        CHECK((one.offsets[0] == std::vector<std::int64_t>{0, 2}));
        CHECK((one.offsets[1] == std::vector<std::int64_t>{0, n / 2, n}));  // 500/500 and 500/501
        if (n == 1000) {
            for (int i = 1; i < 500; ++i) CHECK(one.order[i] % 2 == one.order[0] % 2);
        }
        options.threads = 3;
        const auto two = treetop::balanced_clusters(vectors.view(), {2, 16, 64}, options);
        options.threads = 1;
        const auto again = treetop::balanced_clusters(vectors.view(), {2, 16, 64}, options);
        CHECK(two.order == again.order);
        CHECK(two.offsets == again.offsets);
        CHECK(two.offsets.size() == 4 && two.offsets[3].size() == 65);
        for (std::size_t p = 0; p + 1 < two.offsets[3].size(); ++p) {
            const auto size = two.offsets[3][p + 1] - two.offsets[3][p];
            CHECK(size == n / 64 || size == n / 64 + 1);
        }
        // Any number of clusters, not only powers of two.
        const auto seven = treetop::balanced_clusters(vectors.view(), {7, 50}, options);
        CHECK(seven.offsets[0].back() == 7 && seven.offsets[1].back() == 50);
        CHECK(is_permutation(seven.order));
    }

    // Nearly as many clusters as items: every cluster has an item.
    const auto few = two_groups(8);
    const auto tight = treetop::balanced_clusters(few.view(), {5, 7}, {});
    CHECK(is_permutation(tight.order));
    for (std::size_t p = 0; p < 7; ++p) CHECK(tight.offsets[2][p] < tight.offsets[2][p + 1]);
    CHECK(tight.offsets[1].back() == 7 && tight.offsets[2].back() == 8);

    // Values whose sums overflow still give an order.
    auto huge = two_groups(300);
    for (auto& value : huge.data) value = 3e38F;
    CHECK(is_permutation(treetop::balanced_clusters(huge.view(), {4}, {}).order));

    const auto vectors = two_groups(300);
    treetop::ClusterOptions options;
    options.seed = 3;
    const auto loose = treetop::unbalanced_clusters(vectors.view(), 2, 10, 1, options);
    CHECK(is_permutation(loose.order));
    CHECK(loose.offsets.size() == 2);
    options.threads = 2;
    const auto deep = treetop::unbalanced_clusters(vectors.view(), 8, 10, 3, options);
    options.threads = 1;
    const auto deep_again = treetop::unbalanced_clusters(vectors.view(), 8, 10, 3, options);
    CHECK(is_permutation(deep.order));
    CHECK(deep.order == deep_again.order && deep.offsets == deep_again.offsets);
    std::int64_t nodes = 1;
    for (const auto& offsets : deep.offsets) {
        CHECK(static_cast<std::int64_t>(offsets.size()) == nodes + 1);
        CHECK(offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()));
        nodes = offsets.back();
    }
    CHECK(nodes == 300);

    // The same clusters with any instructions, on any number of threads.
    const auto topics = of_all_frequencies(2000);
    for (const bool spherical : {true, false}) {
        options.spherical = spherical;
        options.threads = 1;
        const auto wide = treetop::unbalanced_clusters(topics.view(), 70, 20, 2, options);
        CHECK(is_permutation(wide.order));
        CHECK(wide.offsets.size() == 3 && wide.offsets[0].back() > 16);
        for (const auto& set : treetop::kernel_sets()) {
            CHECK(treetop::use_kernels(set));
            options.threads = 3;
            const auto again = treetop::unbalanced_clusters(topics.view(), 70, 20, 2, options);
            CHECK(again.order == wide.order && again.offsets == wide.offsets);
        }
        for (std::size_t p = 0; p + 1 < wide.offsets[2].size(); ++p) CHECK(wide.offsets[2][p + 1] - wide.offsets[2][p] > 1);
    }
    // No feature that two items share.
    const Matrix strangers{{0, 1, 2, 3, 4}, {0, 1, 2, 3}, {1.0F, 1.0F, 1.0F, 1.0F}, 4};
    CHECK(is_permutation(treetop::balanced_clusters(strangers.view(), {2}, options).order));
    options.threads = 1;
    CHECK(is_permutation(treetop::unbalanced_clusters(huge.view(), 20, 10, 2, options).order));
    const Matrix nothing{{0, 0, 0, 0, 0}, {}, {}, 3};
    CHECK(is_permutation(treetop::unbalanced_clusters(nothing.view(), 20, 1, 2, options).order));

    // Means by distance: items of one direction and two lengths (1 and 3) are told apart by their length.
    Matrix lengths;
    lengths.cols = 1;
    for (int i = 0; i < 40; ++i) {
        lengths.indices.push_back(0);
        lengths.data.push_back((i % 2 == 0 ? 1.0F : 3.0F) + 0.001F * static_cast<float>(i));
        lengths.indptr.push_back(i + 1);
    }
    options.spherical = false;
    const auto apart = treetop::unbalanced_clusters(lengths.view(), 2, 4, 1, options);
    CHECK((apart.offsets.back() == std::vector<std::int64_t>{0, 20, 40}));
    for (int i = 0; i < 20; ++i) CHECK(apart.order[i] % 2 == apart.order[0] % 2);
    return finish();
}

// Matrices that the door accepts: label vectors, the graph of labels and clustering.
#include <algorithm>
#include <numeric>

#include "clustering.hpp"
#include "label_graph.hpp"
#include "label_vectors.hpp"
#include "matrices.hpp"

namespace {

treetop::Csr view(const treetop::OwnedCsr& owned, std::int64_t cols) {
    return treetop::checked_csr(owned.indptr, owned.indices, owned.data, cols, treetop::Order::ascending, 1);
}

void expect_tree(const treetop::Clusters& clusters, std::int64_t labels) {
    auto order = clusters.order;
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> all(static_cast<std::size_t>(labels));
    std::iota(all.begin(), all.end(), 0);
    EXPECT(order == all);
    std::int64_t parents = 1;
    for (const auto& offsets : clusters.offsets) {
        EXPECT(static_cast<std::int64_t>(offsets.size()) == parents + 1 && offsets.front() == 0);
        EXPECT(std::is_sorted(offsets.begin(), offsets.end()));
        parents = offsets.back();
    }
    EXPECT(parents == labels);
}

void run(Input& input) {
    // What is done comes first: a large matrix may take all bytes that are left.
    const int threads = input.once_in(32) ? 2 : 1;
    const bool graph_of_labels = input.once_in(2), balanced = input.once_in(2);
    const treetop::ClusterOptions clustering{static_cast<int>((input.below(5) + 1) % 5), input.once_in(2),
                                             input.value<std::uint64_t>(), threads};
    const auto branching = static_cast<int>(input.once_in(4) ? 40 : input.below(6));
    const std::int64_t leaf_size = input.below(6);
    const auto depth = static_cast<int>(input.below(4));
    std::vector<std::int64_t> sizes;
    for (auto levels = input.below(4); levels > 0; --levels) sizes.push_back(input.below(12));
    const bool many = input.once_in(8);  // enough for more clusters than two lines of lanes hold
    Matrix texts = matrix_of(input, many ? 70 + input.below(60) : input.below(20), input.below(24));
    const auto documents = static_cast<std::int64_t>(texts.indptr.size()) - 1;
    Matrix given = matrix_of(input, input.below(12), documents);
    Matrix back = transposed(given);
    const treetop::Csr features = entered(input, texts);
    const treetop::Csr labels = entered(input, given);

    if (labels.cols == features.rows) {
        const treetop::VectorOptions options{input.below(6) - 1, static_cast<std::int32_t>(input.below(4)),
                                             input.once_in(2)};
        const auto vectors = treetop::aggregate(labels, features, options, threads);
        EXPECT(view(vectors, features.cols).rows == labels.rows);
    }
    if (graph_of_labels) {
        const treetop::Pattern other = entered(input, back);
        const treetop::WalkOptions options{static_cast<int>(input.below(16)), 0.5, static_cast<int>(input.below(4)),
                                           input.value<std::uint64_t>(), threads};
        treetop::check(labels, other, options);
        const auto graph = treetop::label_graph(labels, other, options);
        EXPECT(view(graph, labels.rows).rows == labels.rows);
        return;
    }
    treetop::check(clustering);
    expect_tree(balanced ? treetop::balanced_clusters(features, sizes, clustering)
                         : treetop::unbalanced_clusters(features, branching, leaf_size, depth, clustering),
                features.rows);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

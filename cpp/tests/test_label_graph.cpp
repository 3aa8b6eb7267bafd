#include "check.hpp"
#include "label_graph.hpp"

#include <cstdint>
#include <vector>

// Documents {0, 1}, {1} and {2}; label 3 has none.
int main() {
    const std::vector<std::int64_t> documents_ptr{0, 1, 3, 4, 4}, labels_ptr{0, 2, 3, 4};
    const std::vector<std::int32_t> documents{0, 0, 1, 2}, labels{0, 1, 1, 2};
    const treetop::Pattern documents_of{4, 3, documents_ptr.data(), documents.data()};
    const treetop::Pattern labels_of{3, 4, labels_ptr.data(), labels.data()};

    treetop::WalkOptions options;
    options.hops = 10'000;
    options.restart = 1.0;  // every hop begins at the label itself
    const auto graph = treetop::label_graph(documents_of, labels_of, options);
    CHECK((graph.indptr == std::vector<std::int64_t>{0, 2, 4, 5, 6}));
    CHECK((graph.indices == std::vector<std::int32_t>{0, 1, 0, 1, 2, 3}));
    CHECK(graph.data[0] + graph.data[1] == 10'000 && graph.data[0] > 4'700 && graph.data[0] < 5'300);
    CHECK(graph.data[2] > 2'250 && graph.data[2] < 2'750);  // the first of two documents, the first of its two labels
    CHECK(graph.data[4] == 10'000 && graph.data[5] == 1);

    options.threads = 3;
    const auto again = treetop::label_graph(documents_of, labels_of, options);
    CHECK(graph.indptr == again.indptr && graph.indices == again.indices && graph.data == again.data);

    // The most visited label alone, and the label itself; a walk that continues from where it is meets the others.
    options.neighbours = 1;
    options.restart = 0.0;
    const auto few = treetop::label_graph(documents_of, labels_of, options);
    CHECK((few.indptr == std::vector<std::int64_t>{0, 2, 3, 4, 5}));
    CHECK((few.indices == std::vector<std::int32_t>{0, 1, 1, 2, 3}) && few.data[1] > few.data[0]);
    return finish();
}

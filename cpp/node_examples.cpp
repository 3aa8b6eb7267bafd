#include "node_examples.hpp"

#include <algorithm>
#include <cmath>

namespace treetop {

// Counts the shared features of the node's documents, and gives those that occur twice or more the numbers 1, 2, …
// by decreasing frequency (a counting sort); the others get -1.
void NodeGatherer::number_features(NodeExamples& node) {
    number_.resize(static_cast<std::size_t>(rows_->shared_features), 0);
    touched_.clear();
    for (const auto document : node.documents) {
        TREETOP_ASSERT(0 <= document && document < rows_->rows());
        const auto row = static_cast<std::size_t>(document);
        for (auto j = rows_->indptr[row]; j < rows_->indptr[row + 1]; ++j) {
            const auto feature = rows_->indices[static_cast<std::size_t>(j)];
            if (number_[static_cast<std::size_t>(feature)]++ == 0) touched_.push_back(feature);
        }
    }
    const auto n = node.documents.size();
    starts_.assign(n + 2, 0);
    for (const auto feature : touched_) {
        const auto count = static_cast<std::size_t>(number_[static_cast<std::size_t>(feature)]);
        TREETOP_ASSERT(count <= n);  // else a document is listed twice, or a feature in a document
        if (count > 1) ++starts_[n - count + 1];
    }
    for (std::size_t c = 1; c < starts_.size(); ++c) starts_[c] += starts_[c - 1];
    node.names.resize(static_cast<std::size_t>(starts_.back()));
    for (const auto feature : touched_) {
        auto& number = number_[static_cast<std::size_t>(feature)];
        if (number > 1) {
            const auto place = starts_[n - static_cast<std::size_t>(number)]++;
            node.names[static_cast<std::size_t>(place)] = rows_->names[static_cast<std::size_t>(feature)];
            number = static_cast<std::int32_t>(place) + 1;
        } else {
            number = -1;
        }
    }
}

void NodeGatherer::gather(NodeExamples& node) {
    number_features(node);
    node.indptr.assign(1, 0);
    node.indices.clear();
    node.values.clear();
    node.squares.clear();
    node.weights.clear();
    node.sums.assign(node.names.size(), 0.0F);
    node.own_indptr.assign(1, 0);
    node.own_names.clear();
    node.own_values.clear();
    node.own_squares.clear();
    node.own_largest.clear();
    node.sums_square = 0.0;

    for (const auto document : node.documents) {
        const auto row = static_cast<std::size_t>(document);
        const float weight = rows_->weight(document);
        double square = 0.0, own_square = 0.0;
        float largest = 0.0F;
        const auto add_own = [&](std::int32_t name, float value) {
            node.own_names.push_back(name);
            node.own_values.push_back(value);
            own_square += double{value} * double{value};
            largest = std::max(largest, std::abs(value));
        };
        for (auto j = rows_->indptr[row]; j < rows_->indptr[row + 1]; ++j) {
            const auto feature = static_cast<std::size_t>(rows_->indices[static_cast<std::size_t>(j)]);
            const float value = rows_->values[static_cast<std::size_t>(j)];
            if (number_[feature] < 0) {
                add_own(rows_->names[feature], value);
                continue;
            }
            const auto number = number_[feature] - 1;
            TREETOP_ASSERT(0 <= number && static_cast<std::size_t>(number) < node.sums.size());
            node.indices.push_back(number);
            node.values.push_back(value);
            node.sums[static_cast<std::size_t>(number)] += weight * value;
            square += double{value} * double{value};
        }
        for (auto j = rows_->own_indptr[row]; j < rows_->own_indptr[row + 1]; ++j) {
            add_own(rows_->own_ids[static_cast<std::size_t>(j)], rows_->own_values[static_cast<std::size_t>(j)]);
        }
        node.indptr.push_back(static_cast<std::int64_t>(node.indices.size()));
        node.squares.push_back(static_cast<float>(square + own_square));
        node.weights.push_back(weight);
        node.own_indptr.push_back(static_cast<std::int64_t>(node.own_names.size()));
        node.own_squares.push_back(static_cast<float>(own_square));
        node.own_largest.push_back(largest);
        node.sums_square += double{weight} * double{weight} * own_square;
    }
    for (const float sum : node.sums) node.sums_square += double{sum} * double{sum};
    for (const auto feature : touched_) number_[static_cast<std::size_t>(feature)] = 0;
}

Examples examples_of(const NodeExamples& node) {
    Examples examples;
    examples.features = static_cast<std::int32_t>(node.names.size() + node.own_names.size());
    examples.indices.reserve(node.indices.size() + node.own_names.size());
    examples.values.reserve(examples.indices.capacity());
    for (std::size_t i = 0; i < node.documents.size(); ++i) {
        double square = 0.0;
        const auto add = [&](std::int64_t number, float value) {
            examples.indices.push_back(static_cast<std::int32_t>(number));
            examples.values.push_back(value);
            square += double{value} * double{value};
        };
        for (auto j = node.indptr[i]; j < node.indptr[i + 1]; ++j) {
            add(node.indices[static_cast<std::size_t>(j)], node.values[static_cast<std::size_t>(j)]);
        }
        for (auto e = node.own_indptr[i]; e < node.own_indptr[i + 1]; ++e) {
            add(node.features() + e, node.own_values[static_cast<std::size_t>(e)]);
        }
        examples.indptr.push_back(static_cast<std::int64_t>(examples.indices.size()));
        examples.squares.push_back(square);
    }
    return examples;
}

}  // namespace treetop

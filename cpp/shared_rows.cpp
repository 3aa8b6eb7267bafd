#include "shared_rows.hpp"

#include <algorithm>
#include <stdexcept>

#include "csr_flaw.hpp"
#include "parallel.hpp"
#include "require.hpp"

namespace treetop {

SharedRows::SharedRows(const Csr& features, int threads) : source(features) {
    TREETOP_ASSERT(sound(features));
    const auto cols = static_cast<std::size_t>(features.cols);
    const std::int64_t entries = features.nnz();
    std::vector<std::int32_t> number(cols, 0);  // how often a feature occurs, then its new number or -1 for own
    for (std::int64_t j = 0; j < entries; ++j) ++number[static_cast<std::size_t>(features.indices[j])];

    // Counting sort by decreasing frequency; equal ones keep their order.
    std::vector<std::int64_t> starts(static_cast<std::size_t>(features.rows) + 2, 0);
    const auto place_of = [&](std::int32_t count) { return static_cast<std::size_t>(features.rows - count); };
    for (const auto count : number) {
        if (count > features.rows) throw std::invalid_argument("a row has the same feature twice");
        if (count > 1) ++starts[place_of(count) + 1];
    }
    for (std::size_t c = 1; c < starts.size(); ++c) starts[c] += starts[c - 1];
    shared_features = starts.back();
    names.resize(static_cast<std::size_t>(shared_features));
    for (std::size_t f = 0; f < cols; ++f) {
        if (number[f] > 1) {
            const auto place = starts[place_of(number[f])]++;
            names[static_cast<std::size_t>(place)] = static_cast<std::int32_t>(f);
            number[f] = static_cast<std::int32_t>(place);
        } else {
            number[f] = -1;
        }
    }

    indptr.assign(static_cast<std::size_t>(features.rows) + 1, 0);
    own_indptr.assign(static_cast<std::size_t>(features.rows) + 1, 0);
    parallel_blocks(features.rows, 4096, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            std::int64_t own = 0;
            for (const auto id : features.row(i)) own += number[static_cast<std::size_t>(id)] < 0 ? 1 : 0;
            own_indptr[static_cast<std::size_t>(i) + 1] = own;
            indptr[static_cast<std::size_t>(i) + 1] = static_cast<std::int64_t>(features.row(i).size()) - own;
        }
    });
    for (std::size_t i = 1; i < indptr.size(); ++i) {
        indptr[i] += indptr[i - 1];
        own_indptr[i] += own_indptr[i - 1];
    }
    indices.resize(static_cast<std::size_t>(indptr.back()));
    values.resize(indices.size());
    own_ids.resize(static_cast<std::size_t>(own_indptr.back()));
    own_values.resize(own_ids.size());
    parallel_blocks(features.rows, 4096, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            auto shared = static_cast<std::size_t>(indptr[static_cast<std::size_t>(i)]);
            auto own = static_cast<std::size_t>(own_indptr[static_cast<std::size_t>(i)]);
            const auto ids = features.row(i);
            const auto row_values = features.values(i);
            for (std::size_t j = 0; j < ids.size(); ++j) {
                const auto place = number[static_cast<std::size_t>(ids[j])];
                if (place < 0) {
                    own_ids[own] = ids[j];
                    own_values[own++] = row_values[j];
                } else {
                    indices[shared] = place;
                    values[shared++] = row_values[j];
                }
            }
        }
    });
}

void SharedRows::weigh(std::span<const float> given) {
    require(static_cast<std::int64_t>(given.size()) == rows(), "one weight per row is needed");
    require(std::ranges::all_of(given, [](float weight) { return weight > 0.0F; }), "weights must be above 0");
    weights.assign(given.begin(), given.end());
}

std::vector<float> SharedRows::own_squares() const {
    std::vector<float> squares(static_cast<std::size_t>(rows()), 0.0F);
    for (std::size_t i = 0; i < squares.size(); ++i) {
        for (auto j = own_indptr[i]; j < own_indptr[i + 1]; ++j) {
            squares[i] += own_values[static_cast<std::size_t>(j)] * own_values[static_cast<std::size_t>(j)];
        }
    }
    return squares;
}

}  // namespace treetop

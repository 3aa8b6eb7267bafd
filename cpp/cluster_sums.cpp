#include "cluster_sums.hpp"

#include <algorithm>

#include "checked.hpp"
#include "parallel.hpp"
#include "simd.hpp"

namespace treetop {
namespace {

constexpr std::int64_t kBlockEntries = 1 << 15;
constexpr std::size_t kRowLines = 2;  // a row of up to this many lines is as cheap as a list

}  // namespace

// One feature's sums while they are made.
struct ClusterSums::Block {
    std::vector<float> sums;
    std::vector<std::int32_t> seen;  // per cluster: the feature that touched it last
    std::vector<std::int32_t> touched;
};

void ClusterSums::prepare(const ClusterRows& rows, std::size_t clusters, int threads) {
    rows_ = rows;
    clusters_ = clusters;
    lines_ = (clusters + kLanes - 1) / kLanes;
    transpose(threads);
    cut_blocks();

    const auto features = static_cast<std::size_t>(rows.features);
    has_row_.assign(features, 0);
    list_most_ = lines_ <= kRowLines ? 0 : kListMost;
    std::size_t frequent = features;
    if (list_most_ > 0) {
        frequent = 0;
        while (frequent < features && column_starts_[frequent + 1] - column_starts_[frequent] > kListMost) ++frequent;
        lists_.resize(features);
    }
    table_.resize(frequent * lines_);
    block_squares_.resize((blocks_.size() - 1) * clusters);
}

// Every thread takes a range of features and reads all vectors; within a feature the vectors ascend.
void ClusterSums::transpose(int threads) {
    const auto features = static_cast<std::size_t>(rows_.features);
    column_starts_.assign(features + 1, 0);
    for (const auto feature : rows_.indices) {
        TREETOP_ASSERT(0 <= feature && feature < rows_.features);
        ++column_starts_[static_cast<std::size_t>(feature) + 1];
    }
    for (std::size_t f = 0; f < features; ++f) column_starts_[f + 1] += column_starts_[f];
    column_rows_.resize(rows_.indices.size());
    column_values_.resize(rows_.indices.size());

    const auto entries = static_cast<std::int64_t>(rows_.indices.size());
    const auto border = [&](std::int64_t part) {
        const auto at = std::lower_bound(column_starts_.begin(), column_starts_.end(), entries * part / threads);
        return static_cast<std::int32_t>(at - column_starts_.begin());
    };
    std::vector<std::int64_t> next(column_starts_.begin(), column_starts_.end() - 1);
    parallel_for(threads, threads, [&](std::int64_t part, int) {
        const std::int32_t first = border(part), last = border(part + 1);
        for (std::size_t i = 0; i < rows_.count(); ++i) {
            for (auto j = rows_.indptr[i]; j < rows_.indptr[i + 1]; ++j) {
                const auto feature = rows_.indices[static_cast<std::size_t>(j)];
                if (feature < first || feature >= last) continue;
                const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(feature)]++);
                column_rows_[at] = static_cast<std::int32_t>(i);
                column_values_[at] = rows_.values[static_cast<std::size_t>(j)];
            }
        }
    });
}

void ClusterSums::cut_blocks() {
    blocks_.assign(1, 0);
    std::int64_t begin = 0;
    for (std::int64_t f = 0; f < rows_.features; ++f) {
        const auto end = column_starts_[static_cast<std::size_t>(f) + 1];
        if (end - begin < kBlockEntries && f + 1 < rows_.features) continue;
        blocks_.push_back(f + 1);
        begin = end;
    }
}

void ClusterSums::update(std::span<const std::int32_t> clusters, int threads) {
    const auto blocks = blocks_.size() - 1;
    std::vector<Block> scratch(static_cast<std::size_t>(std::max(threads, 1)));
    parallel_for(static_cast<std::int64_t>(blocks), threads, [&](std::int64_t block, int worker) {
        sum_features(static_cast<std::size_t>(block), clusters, scratch[static_cast<std::size_t>(worker)]);
    });
    squares_.assign(clusters_, 0.0);
    sizes_.assign(clusters_, 0);
    for (std::size_t b = 0; b < blocks; ++b) {
        for (std::size_t c = 0; c < clusters_; ++c) squares_[c] += block_squares_[b * clusters_ + c];
    }
    for (std::size_t i = 0; i < clusters.size(); ++i) {
        if (clusters[i] == kNowhere) continue;
        const auto c = static_cast<std::size_t>(clusters[i]);
        squares_[c] += double{rows_.own_squares[i]};
        ++sizes_[c];
    }
}

void ClusterSums::sum_features(std::size_t block, std::span<const std::int32_t> clusters, Block& scratch) {
    double* squares = block_squares_.data() + block * clusters_;
    std::fill(squares, squares + clusters_, 0.0);
    auto& [sums, seen, touched] = scratch;
    sums.resize(clusters_);
    seen.assign(clusters_, -1);
    touched.resize(clusters_);
    for (auto f = static_cast<std::size_t>(blocks_[block]); f < static_cast<std::size_t>(blocks_[block + 1]); ++f) {
        std::size_t count = 0;
        for (auto at = column_starts_[f]; at < column_starts_[f + 1]; ++at) {
            const auto cluster = clusters[static_cast<std::size_t>(column_rows_[static_cast<std::size_t>(at)])];
            if (cluster == kNowhere) continue;
            const auto c = static_cast<std::size_t>(cluster);
            TREETOP_ASSERT(cluster >= 0 && c < clusters_);
            if (seen[c] != static_cast<std::int32_t>(f)) {
                seen[c] = static_cast<std::int32_t>(f);
                touched[count++] = cluster;
                sums[c] = 0.0F;
            }
            sums[c] += column_values_[static_cast<std::size_t>(at)];
        }
        for (std::size_t t = 0; t < count; ++t) {
            const auto c = static_cast<std::size_t>(touched[t]);
            squares[c] += double{sums[c]} * double{sums[c]};
        }
        has_row_[f] = list_most_ == 0 || count > list_most_ ? 1 : 0;
        if (has_row_[f] != 0) {
            TREETOP_ASSERT((f + 1) * lines_ <= table_.size());
            float* row = table_[f * lines_].lanes;
            std::fill(row, row + lines_ * kLanes, 0.0F);
            for (std::size_t t = 0; t < count; ++t) row[touched[t]] = sums[static_cast<std::size_t>(touched[t])];
        } else {
            ClusterList& list = lists_[f];
            for (std::size_t t = 0; t < static_cast<std::size_t>(kListMost); ++t) {
                const bool used = t < count;
                list.clusters[t] = used ? touched[t] : static_cast<std::int32_t>(lines_ * kLanes + t);
                list.sums[t] = used ? sums[static_cast<std::size_t>(touched[t])] : 0.0F;
            }
        }
    }
}

void ClusterSums::multiply(std::size_t row, std::int32_t own, Scratch& scratch) const {
    TREETOP_ASSERT(row < rows_.count() && own < static_cast<std::int32_t>(clusters_));
    const auto begin = static_cast<std::size_t>(rows_.indptr[row]);
    const auto count = static_cast<std::size_t>(rows_.indptr[row + 1]) - begin;
    if (scratch.rows.size() < count) {
        scratch.rows.resize(count);
        scratch.lists.resize(count);
        scratch.row_values.resize(count);
        scratch.list_values.resize(count);
    }
    std::size_t in_rows = 0, in_lists = 0;
    for (std::size_t j = begin; j < begin + count; ++j) {  // without branches, which would be unpredictable
        const auto feature = rows_.indices[j];
        const std::size_t has_row = has_row_[static_cast<std::size_t>(feature)];
        scratch.rows[in_rows] = scratch.lists[in_lists] = feature;
        scratch.row_values[in_rows] = scratch.list_values[in_lists] = rows_.values[j];
        in_rows += has_row;
        in_lists += 1 - has_row;
    }
    scratch.products.assign(lines_ * kLanes + kListMost, 0.0F);
    kernels().cluster_products({table_.empty() ? nullptr : table_[0].lanes, static_cast<std::int64_t>(lines_),
                                scratch.rows.data(), scratch.row_values.data(), static_cast<std::int64_t>(in_rows),
                                lists_.data(), scratch.lists.data(), scratch.list_values.data(),
                                static_cast<std::int64_t>(in_lists), scratch.products.data()});
    if (own != kNowhere) scratch.products[static_cast<std::size_t>(own)] += rows_.own_squares[row];
}

}  // namespace treetop

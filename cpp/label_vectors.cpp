#include "label_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "csr_flaw.hpp"

namespace treetop {
namespace {

using Entry = std::pair<std::int32_t, float>;

// By magnitude, the smaller id first among equals; in any order.
void keep_largest(std::vector<Entry>& entries, std::int64_t size) {
    if (size <= 0 || static_cast<std::int64_t>(entries.size()) <= size) return;
    std::nth_element(entries.begin(), entries.begin() + size, entries.end(), [](const Entry& a, const Entry& b) {
        const float left = std::abs(a.second), right = std::abs(b.second);
        return left != right ? left > right : a.first < b.first;
    });
    entries.resize(static_cast<std::size_t>(size));
}

}  // namespace

OwnedCsr aggregate(const Csr& labels, const Csr& features, const VectorOptions& options, int threads,
                   Monitor* monitor) {
    TREETOP_ASSERT(sound(labels) && sound(features) && labels.cols == features.rows);
    constexpr std::int64_t kBlock = 256;
    const std::int64_t blocks = (labels.rows + kBlock - 1) / kBlock;

    struct Scratch {
        std::vector<float> sum;
        std::vector<std::int32_t> touched;
        std::vector<Entry> kept;
    };
    std::vector<Scratch> scratch(static_cast<std::size_t>(std::max(threads, 1)));
    std::vector<OwnedCsr> parts(static_cast<std::size_t>(blocks));

    std::vector<std::int32_t> frequency;
    if (options.min_documents > 1) {
        frequency.assign(static_cast<std::size_t>(features.cols), 0);
        for (std::int64_t j = 0; j < features.nnz(); ++j) ++frequency[static_cast<std::size_t>(features.indices[j])];
    }

    parallel_blocks(
        labels.rows, kBlock, threads,
        [&](std::int64_t begin, std::int64_t end, int worker) {
            auto& [sum, touched, kept] = scratch[static_cast<std::size_t>(worker)];
            sum.resize(static_cast<std::size_t>(features.cols));
            OwnedCsr& part = parts[static_cast<std::size_t>(begin / kBlock)];
            for (std::int64_t label = begin; label < end; ++label) {
                touched.clear();
                const auto documents = labels.row(label);
                const auto weights = labels.values(label);
                for (std::size_t i = 0; i < documents.size(); ++i) {
                    const auto ids = features.row(documents[i]);
                    const auto values = features.values(documents[i]);
                    for (std::size_t j = 0; j < ids.size(); ++j) {
                        float& slot = sum[static_cast<std::size_t>(ids[j])];
                        if (slot == 0.0F) touched.push_back(ids[j]);
                        slot += weights[i] * values[j];
                    }
                }
                kept.clear();
                double square = 0.0;
                for (const auto id : touched) {
                    // A value that cancelled to zero on the way is listed twice: the second time it is zero.
                    const float value = sum[static_cast<std::size_t>(id)];
                    sum[static_cast<std::size_t>(id)] = 0.0F;
                    square += double{value} * double{value};
                    if (!(std::abs(value) > 0.0F)) continue;  // nor NaN, of values that overflow: it has no order
                    if (!frequency.empty() && frequency[static_cast<std::size_t>(id)] < options.min_documents) continue;
                    kept.emplace_back(id, value);
                }
                keep_largest(kept, options.size);
                std::sort(kept.begin(), kept.end());
                const double scale = options.unit && square > 0.0 ? 1.0 / std::sqrt(square) : 1.0;
                for (const auto& [id, value] : kept) {
                    part.indices.push_back(id);
                    part.data.push_back(static_cast<float>(value * scale));
                }
                part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
            }
        },
        monitor);

    OwnedCsr all;
    all.indptr.reserve(static_cast<std::size_t>(labels.rows) + 1);
    all.indptr.push_back(0);
    std::size_t total = 0;
    for (const auto& part : parts) total += part.indices.size();
    all.indices.reserve(total);
    all.data.reserve(total);
    for (auto& part : parts) {
        const auto base = static_cast<std::int64_t>(all.indices.size());
        for (const auto end : part.indptr) all.indptr.push_back(base + end);
        all.indices.insert(all.indices.end(), part.indices.begin(), part.indices.end());
        all.data.insert(all.data.end(), part.data.begin(), part.data.end());
        part = OwnedCsr{};
    }
    return all;
}

}  // namespace treetop

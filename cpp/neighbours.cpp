#include "neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "csr_flaw.hpp"
#include "require.hpp"

namespace treetop {
namespace {

struct Neighbour {
    float similarity;
    std::int32_t document;
    bool operator<(const Neighbour& other) const {  // the better one first
        return similarity != other.similarity ? similarity > other.similarity : document < other.document;
    }
};

// Finds the nearest documents of one query after another.
class NearestSearch {
public:
    NearestSearch() : sums_(static_cast<std::size_t>(NeighbourIndex::kBlock)) {}

    // Best first; valid until the next call. `skipped` is no neighbour (-1: none is skipped).
    const std::vector<Neighbour>& run(const NeighbourIndex& index, std::span<const std::int32_t> ids,
                                      std::span<const float> values, std::int64_t count, std::int64_t skipped) {
        found_.clear();
        count_ = static_cast<std::size_t>(std::min(count, index.documents));
        const double reach = spread_frequent(index, ids, values);
        for (std::int64_t block = 0; block < index.blocks(); ++block) {
            add_postings(index, block, ids, values);
            // The factor covers the rounding of at most 256 products and sums.
            bound_groups(index, block, static_cast<float>(reach * (1.0 + 1e-4)));
            take_best(index, block, skipped);
        }
        std::sort_heap(found_.begin(), found_.end());
        return found_;
    }

private:
    static constexpr std::int64_t kGroup = 64;  // documents that share a bound

    struct Group {
        float bound;
        std::int32_t number;
        bool operator<(const Group& other) const { return bound < other.bound; }
    };

    // The query's values of the frequent features as a table; returns their Euclidean length.
    double spread_frequent(const NeighbourIndex& index, std::span<const std::int32_t> ids,
                           std::span<const float> values) {
        table_.fill(0.0F);
        double square = 0.0;
        std::size_t j = 0;
        for (std::int64_t slot = 0; slot < index.frequent_count; ++slot) {
            while (j < ids.size() && ids[j] < index.frequent[slot]) ++j;
            if (j == ids.size()) break;
            if (ids[j] != index.frequent[slot]) continue;
            table_[static_cast<std::size_t>(slot)] = values[j];
            square += double{values[j]} * double{values[j]};
        }
        return std::sqrt(square);
    }

    void add_postings(const NeighbourIndex& index, std::int64_t block, std::span<const std::int32_t> ids,
                      std::span<const float> values) {
        std::fill_n(sums_.begin(), std::min(NeighbourIndex::kBlock, index.documents - block * NeighbourIndex::kBlock),
                    0.0F);
        const std::int64_t* starts = index.starts + block * index.features;
        for (std::size_t j = 0; j < ids.size(); ++j) {
            const float value = values[j];
            TREETOP_ASSERT(0 <= ids[j] && ids[j] < index.features);
            for (std::int64_t p = starts[ids[j]], end = starts[ids[j] + 1]; p < end; ++p) {
                sums_[index.members[p]] += value * static_cast<float>(index.codes[p]);
            }
        }
    }

    float bound(const NeighbourIndex& index, std::int64_t first, std::int64_t i) const {
        return index.scales[first + i] * sums_[static_cast<std::size_t>(i)] + reach_ * index.norms[first + i];
    }

    // groups_: a heap of the groups whose best bound can reach the neighbours found so far.
    void bound_groups(const NeighbourIndex& index, std::int64_t block, float reach) {
        reach_ = reach;
        groups_.clear();
        const std::int64_t first = block * NeighbourIndex::kBlock;
        const std::int64_t documents = std::min(NeighbourIndex::kBlock, index.documents - first);
        const float least = least_bound();
        for (std::int64_t begin = 0; begin < documents; begin += kGroup) {
            // Several running maxima, written so that compilers use vector instructions.
            std::array<float, 16> best{};
            const std::int64_t end = std::min(documents, begin + kGroup);
            std::int64_t i = begin;
            for (; i + 16 <= end; i += 16) {
                for (std::int64_t lane = 0; lane < 16; ++lane) {
                    const float here = bound(index, first, i + lane);
                    float& top = best[static_cast<std::size_t>(lane)];
                    top = top < here ? here : top;
                }
            }
            for (; i < end; ++i) best[0] = std::max(best[0], bound(index, first, i));
            const float top = *std::max_element(best.begin(), best.end());
            if (top > 0.0F && top >= least) groups_.push_back({top, static_cast<std::int32_t>(begin / kGroup)});
        }
        std::make_heap(groups_.begin(), groups_.end());
    }

    // What a bound must reach for a document to matter; rounding may take a little off a bound.
    float least_bound() const {
        return found_.size() < count_ ? 0.0F : found_.front().similarity * (1.0F - 1e-5F);
    }

    void take_best(const NeighbourIndex& index, std::int64_t block, std::int64_t skipped) {
        const std::int64_t first = block * NeighbourIndex::kBlock;
        const std::int64_t documents = std::min(NeighbourIndex::kBlock, index.documents - first);
        while (!groups_.empty() && groups_.front().bound >= least_bound()) {
            const std::int64_t begin = groups_.front().number * kGroup;
            std::pop_heap(groups_.begin(), groups_.end());
            groups_.pop_back();
            for (std::int64_t i = begin; i < std::min(documents, begin + kGroup); ++i) {
                const float here = bound(index, first, i);
                if (here > 0.0F && here >= least_bound() && first + i != skipped) consider(index, first, i);
            }
        }
    }

    // found_ is a heap with the worst neighbour in front.
    void consider(const NeighbourIndex& index, std::int64_t first, std::int64_t i) {
        const std::int64_t document = first + i;
        float sum = sums_[static_cast<std::size_t>(i)];
        for (std::int64_t e = index.rows[document]; e < index.rows[document + 1]; ++e) {
            TREETOP_ASSERT(index.slots[e] < table_.size());
            sum += table_[index.slots[e]] * static_cast<float>(index.row_codes[e]);
        }
        const Neighbour fresh{index.scales[document] * sum, static_cast<std::int32_t>(document)};
        if (!(fresh.similarity > 0.0F)) return;
        if (found_.size() == count_) {
            if (!(fresh < found_.front())) return;
            std::pop_heap(found_.begin(), found_.end());
            found_.pop_back();
        }
        found_.push_back(fresh);
        std::push_heap(found_.begin(), found_.end());
    }

    std::vector<float> sums_;  // of the block's documents
    std::array<float, NeighbourIndex::kFrequent> table_{};
    std::vector<Group> groups_;
    std::vector<Neighbour> found_;
    std::size_t count_ = 0;
    float reach_ = 0.0F;
};

struct Choice {
    double score;
    std::int32_t label;
};

// choices: the labels of the neighbours with their shares, best first, at most options.labels.
void count_votes(const std::vector<Neighbour>& neighbours, const Pattern& labels, const Vote& options,
                 std::vector<Choice>& choices) {
    choices.clear();
    if (neighbours.empty()) return;
    double total = 0.0;
    for (const auto& neighbour : neighbours) {
        // Relative to the nearest, so that no power overflows.
        const double weight =
            std::pow(double{neighbour.similarity} / double{neighbours.front().similarity}, options.power);
        total += weight;
        for (const auto label : labels.row(neighbour.document)) choices.push_back({weight, label});
    }
    std::stable_sort(choices.begin(), choices.end(), [](const auto& a, const auto& b) { return a.label < b.label; });
    std::size_t distinct = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (distinct > 0 && choices[distinct - 1].label == choices[i].label) {
            choices[distinct - 1].score += choices[i].score;
        } else {
            choices[distinct++] = choices[i];
        }
    }
    choices.resize(distinct);
    // As the floats that are given back, so that ties are ties.
    for (auto& choice : choices) choice.score = double{static_cast<float>(choice.score / total)};
    const auto keep = static_cast<std::ptrdiff_t>(std::min(static_cast<std::size_t>(options.labels), distinct));
    std::partial_sort(choices.begin(), choices.begin() + keep, choices.end(), [](const auto& a, const auto& b) {
        return a.score != b.score ? a.score > b.score : a.label < b.label;
    });
    choices.resize(static_cast<std::size_t>(keep));
}

// Calls give(neighbours, part) for every query, in order within each part.
template <typename Give>
Ranking for_each_query(const NeighbourIndex& index, const Csr& queries, std::int64_t count, bool skip_own,
                       int threads, Monitor* monitor, Give&& give) {
    constexpr std::int64_t kQueries = 32;
    TREETOP_ASSERT(count >= 1 && queries.cols == index.features && sound(queries));
    std::vector<Ranking> parts(static_cast<std::size_t>((queries.rows + kQueries - 1) / kQueries));
    parallel_blocks(
        queries.rows, kQueries, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            // Kept by the thread: a fresh table for every single query would cost as much as the query.
            thread_local NearestSearch search;
            Ranking& part = parts[static_cast<std::size_t>(begin / kQueries)];
            for (std::int64_t row = begin; row < end; ++row) {
                give(search.run(index, queries.row(row), queries.values(row), count, skip_own ? row : -1), part);
                part.indptr.push_back(static_cast<std::int64_t>(part.ids.size()));
            }
        },
        monitor);
    return join(parts);
}

// The frequent features: those in more than a sixth of the documents, the most frequent kFrequent of them.
std::vector<std::int32_t> frequent_features(const Csr& documents) {
    std::vector<std::int64_t> counts(static_cast<std::size_t>(documents.cols));
    for (std::int64_t e = 0; e < documents.nnz(); ++e) ++counts[static_cast<std::size_t>(documents.indices[e])];
    std::vector<std::int32_t> frequent;
    for (std::size_t f = 0; f < counts.size(); ++f) {
        if (counts[f] > documents.rows / 6) frequent.push_back(static_cast<std::int32_t>(f));
    }
    std::stable_sort(frequent.begin(), frequent.end(), [&](auto a, auto b) {
        return counts[static_cast<std::size_t>(a)] > counts[static_cast<std::size_t>(b)];
    });
    frequent.resize(std::min(frequent.size(), static_cast<std::size_t>(NeighbourIndex::kFrequent)));
    std::sort(frequent.begin(), frequent.end());
    return frequent;
}

std::int8_t code_of(float value, float scale) {
    if (!(scale > 0.0F) || !std::isfinite(value / scale)) return 0;
    // The largest value over its scale is 127, but for rounding, which is coarse where both are denormal.
    return static_cast<std::int8_t>(std::clamp(std::lround(value / scale), -127L, 127L));
}

}  // namespace

NeighbourIndex checked_index(const NeighbourArrays& arrays, std::int64_t features) {
    const auto& [scales, starts, members, codes, frequent, rows, slots, row_codes, norms] = arrays;
    constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    require(scales.size() <= kMost, "there are too many documents");
    NeighbourIndex index;
    index.documents = static_cast<std::int64_t>(scales.size());
    index.features = features;
    index.scales = scales.data();
    index.starts = starts.data();
    index.members = members.data();
    index.codes = codes.data();
    index.frequent_count = static_cast<std::int64_t>(frequent.size());
    index.frequent = frequent.data();
    index.rows = rows.data();
    index.slots = slots.data();
    index.row_codes = row_codes.data();
    index.norms = norms.data();
    // Column ids have 32 bits; a larger number of features could also overflow the product below.
    require(0 <= features && features <= kAnyColumn, "the number of features is out of range");
    require(starts.size() == static_cast<std::size_t>(index.blocks() * features) + 1, "starts and features disagree");
    require(norms.size() == scales.size() && rows.size() == scales.size() + 1, "norms, rows and scales disagree");
    require(ascending_to(starts, members.size()), "starts must ascend from 0 to the number of postings");
    require(ascending_to(rows, slots.size()), "rows must ascend from 0 to the number of frequent entries");
    require(codes.size() == members.size() && row_codes.size() == slots.size(), "entries and codes disagree");
    require(index.frequent_count <= NeighbourIndex::kFrequent, "there are too many frequent features");
    return index;
}

void check(const Vote& options) {
    require(options.neighbours >= 1 && options.labels >= 1, "neighbours and k must be at least 1");
}

void check(const NeighbourIndex& index, const Pattern& labels) {
    require(labels.rows == index.documents, "labels and documents disagree");
}

OwnedNeighbourIndex index_neighbours(const Csr& documents, int threads, Monitor* monitor) {
    TREETOP_ASSERT(sound(documents));
    OwnedNeighbourIndex index;
    index.frequent = frequent_features(documents);
    std::vector<std::int16_t> slot_of(static_cast<std::size_t>(documents.cols), -1);
    for (std::size_t slot = 0; slot < index.frequent.size(); ++slot) {
        slot_of[static_cast<std::size_t>(index.frequent[slot])] = static_cast<std::int16_t>(slot);
    }

    const std::int64_t blocks = (documents.rows + NeighbourIndex::kBlock - 1) / NeighbourIndex::kBlock;
    const auto rows = static_cast<std::size_t>(documents.rows);
    index.scales.resize(rows);
    index.norms.resize(rows);
    index.rows.resize(rows + 1);
    index.starts.resize(static_cast<std::size_t>(blocks * documents.cols) + 1);
    // First how many entries each document and each (block, feature) has, then where they begin, then the entries.
    auto each_entry = [&](std::int64_t d, auto&& by_document, auto&& by_feature) {
        const auto ids = documents.row(d);
        const auto values = documents.values(d);
        for (std::size_t j = 0; j < ids.size(); ++j) {
            const std::int8_t code = code_of(values[j], index.scales[static_cast<std::size_t>(d)]);
            if (code == 0) continue;
            const std::int16_t slot = slot_of[static_cast<std::size_t>(ids[j])];
            if (slot >= 0) {
                by_document(static_cast<std::uint8_t>(slot), code);
            } else {
                by_feature(static_cast<std::size_t>(d / NeighbourIndex::kBlock * documents.cols + ids[j]), code);
            }
        }
    };
    parallel_blocks(documents.rows, NeighbourIndex::kBlock, threads, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t d = begin; d < end; ++d) {
            float largest = 0.0F;
            for (const float value : documents.values(d)) largest = std::max(largest, std::abs(value));
            const auto at = static_cast<std::size_t>(d);
            index.scales[at] = largest / 127.0F;
            double square = 0.0;
            each_entry(
                d,
                [&](std::uint8_t, std::int8_t code) {
                    ++index.rows[at + 1];
                    square += double{static_cast<float>(code)} * double{static_cast<float>(code)};
                },
                [&](std::size_t place, std::int8_t) { ++index.starts[place + 1]; });
            index.norms[at] = static_cast<float>(double{index.scales[at]} * std::sqrt(square));
        }
    });
    std::partial_sum(index.rows.begin(), index.rows.end(), index.rows.begin());
    std::partial_sum(index.starts.begin(), index.starts.end(), index.starts.begin());
    index.slots.resize(static_cast<std::size_t>(index.rows.back()));
    index.row_codes.resize(index.slots.size());
    index.members.resize(static_cast<std::size_t>(index.starts.back()));
    index.codes.resize(index.members.size());
    std::vector<std::int64_t> next(index.starts.begin(), index.starts.end() - 1);
    parallel_blocks(
        documents.rows, NeighbourIndex::kBlock, threads,
        [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t d = begin; d < end; ++d) {
                auto row = static_cast<std::size_t>(index.rows[static_cast<std::size_t>(d)]);
                each_entry(
                    d,
                    [&](std::uint8_t slot, std::int8_t code) {
                        index.slots[row] = slot;
                        index.row_codes[row++] = code;
                    },
                    [&](std::size_t place, std::int8_t code) {
                        const auto at = static_cast<std::size_t>(next[place]++);
                        index.members[at] = static_cast<std::uint16_t>(d - begin);
                        index.codes[at] = code;
                    });
            }
        },
        monitor);
    return index;
}

Ranking nearest(const NeighbourIndex& index, const Csr& queries, std::int64_t count, bool skip_own, int threads,
                Monitor* monitor) {
    return for_each_query(index, queries, count, skip_own, threads, monitor,
                          [](const std::vector<Neighbour>& neighbours, Ranking& part) {
                              for (const auto& neighbour : neighbours) {
                                  part.ids.push_back(neighbour.document);
                                  part.scores.push_back(neighbour.similarity);
                              }
                          });
}

Ranking vote(const NeighbourIndex& index, const Pattern& labels, const Csr& queries, const Vote& options, int threads,
             Monitor* monitor) {
    TREETOP_ASSERT((check(options), check(index, labels), true) && sound(labels, Order::any));
    return for_each_query(index, queries, options.neighbours, options.skip_own, threads, monitor,
                          [&](const std::vector<Neighbour>& neighbours, Ranking& part) {
                              thread_local std::vector<Choice> choices;
                              count_votes(neighbours, labels, options, choices);
                              for (const auto& choice : choices) {
                                  part.ids.push_back(choice.label);
                                  part.scores.push_back(static_cast<float>(choice.score));
                              }
                          });
}

}  // namespace treetop

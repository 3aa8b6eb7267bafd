#include "merge_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "checked_level.hpp"
#include "require.hpp"

namespace treetop {
namespace {

struct Entry {
    std::int32_t feature, child;
    float weight;
    bool operator<(const Entry& other) const {
        return feature != other.feature ? feature < other.feature : child < other.child;
    }
};

std::vector<Entry> entries_below(const Level& level, const Replacement& replacement, std::size_t number,
                                 std::int64_t features) {
    const std::int64_t parent = replacement.parents[number];
    const Triples old = unpack(level, {&parent, 1});
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < old.nodes.size(); ++i) {
        if (replacement.replaced[static_cast<std::size_t>(old.nodes[i])] || old.features[i] >= features) continue;
        const auto child = static_cast<std::int32_t>(old.nodes[i] - level.offsets[parent]);
        entries.push_back({old.features[i], child, old.weights[i]});
    }
    std::sort(entries.begin(), entries.end());

    const PlainLevel& trained = replacement.trained;
    const auto kept = static_cast<std::ptrdiff_t>(entries.size());
    const auto names = replacement.children.subspan(static_cast<std::size_t>(trained.offsets[number]));
    for (auto r = static_cast<std::size_t>(trained.chunks[number]);
         r < static_cast<std::size_t>(trained.chunks[number + 1]); ++r) {
        const auto end = static_cast<std::size_t>(trained.rows[r + 1]);
        for (auto e = static_cast<std::size_t>(trained.rows[r]); e < end; ++e) {
            const auto child = names[static_cast<std::size_t>(trained.children[e])];
            entries.push_back({trained.features[r], child, trained.weights[e]});
        }
    }
    std::inplace_merge(entries.begin(), entries.begin() + kept, entries.end());
    return entries;
}

}  // namespace

void check(const Level& level, const Replacement& replacement, std::int64_t features) {
    check(replacement.trained, features);
    const auto& offsets = replacement.trained.offsets;
    check_parents(level, replacement.parents);
    require(replacement.parents.size() + 1 == offsets.size(), "one chunk of new weights per parent is needed");
    require(static_cast<std::int64_t>(replacement.replaced.size()) == level.nodes(), "one mark per node is needed");
    require(static_cast<std::int64_t>(replacement.children.size()) == offsets.back(),
            "one name per new node is needed");
}

TrainedLevel merge_weights(const Level& level, const Replacement& replacement, std::int64_t features, int threads) {
    TREETOP_ASSERT((check(level, replacement, features), true));
    const std::size_t count = replacement.parents.size();
    std::vector<std::vector<Entry>> chunks(count);
    parallel_for(static_cast<std::int64_t>(count), threads, [&](std::int64_t number, int) {
        const auto place = static_cast<std::size_t>(number);
        chunks[place] = entries_below(level, replacement, place, features);
    });
    TrainedLevel merged;
    merged.chunks.push_back(0);
    merged.rows.push_back(0);
    for (auto& entries : chunks) {
        for (std::size_t i = 0; i < entries.size(); ++i) {
            merged.children.push_back(entries[i].child);
            merged.weights.push_back(entries[i].weight);
            if (i + 1 < entries.size() && entries[i + 1].feature == entries[i].feature) continue;
            merged.features.push_back(entries[i].feature);
            merged.rows.push_back(static_cast<std::int64_t>(merged.children.size()));
        }
        merged.chunks.push_back(static_cast<std::int64_t>(merged.features.size()));
        entries = {};
    }
    return merged;
}

}  // namespace treetop

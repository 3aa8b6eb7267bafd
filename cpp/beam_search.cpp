#include "beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace treetop {
namespace {

struct Candidate {
    float score;  // products are summed as logarithms, so that tiny scores keep their order
    float raw;    // decides between equal scores: all u >= 1 are the same to a hinge
    std::int32_t id;
    bool operator<(const Candidate& other) const {
        if (score != other.score) return score > other.score;
        return raw != other.raw ? raw > other.raw : id < other.id;
    }
};

// NaN, from damaged weights or values that overflow, has no place in an order: it ranks last.
float orderable(float raw) { return std::isnan(raw) ? -std::numeric_limits<float>::infinity() : raw; }

double log_transform(const Transform& transform, double u) {
    if (transform.kind == Transform::Kind::sigmoid) {
        return u >= 0.0 ? -std::log1p(std::exp(-u)) : u - std::log1p(std::exp(u));
    }
    const double gap = std::max(0.0, 1.0 - u);
    double power = gap;
    for (int p = 1; p < transform.power; ++p) power *= gap;
    return -power;
}

float combine(const Transform& transform, float u, float parent) {
    if (transform.kind == Transform::Kind::raw) return u;
    const double value = log_transform(transform, double{u});
    if (transform.noisy_or) return static_cast<float>(1.0 - (1.0 - std::exp(value)) * (1.0 - double{parent}));
    return static_cast<float>(value + transform.discount * double{parent});
}

void add_row(const Level& level, std::int64_t row, float value, float* out) {
    for (std::int64_t e = level.rows[row]; e < level.rows[row + 1]; ++e) {
        out[level.children[e]] += value * level.weights[e];
    }
}

// Walks a block of rows down the tree together, so that a chunk of weights is fetched once for all its queries.
class BlockSearch {
public:
    BlockSearch(const Search& search, const Csr& queries) : search_(search), queries_(queries) {}

    Ranking run(std::int64_t begin, std::int64_t end) {
        begin_ = begin;
        const auto count = static_cast<std::size_t>(end - begin);
        // The root: log 1 where scores multiply, 0 where they meet in a noisy or.
        beam_.assign(count, {Candidate{0.0F, 0.0F, 0}});
        for (std::size_t t = 0; t < search_.levels.size(); ++t) descend(t);

        Ranking ranking;
        const Transform& transform = search_.transforms.back();
        const bool exponentiate =
            transform.kind != Transform::Kind::raw && !transform.noisy_or && !transform.log;
        for (const auto& row : beam_) {
            for (const auto& candidate : row) {
                ranking.ids.push_back(candidate.id);
                ranking.scores.push_back(exponentiate ? std::exp(candidate.score) : candidate.score);
            }
            ranking.indptr.push_back(static_cast<std::int64_t>(ranking.ids.size()));
        }
        return ranking;
    }

private:
    struct Visit {
        std::int32_t query;   // in the block
        std::int64_t output;  // where its children's scores go
    };

    void descend(std::size_t t) {
        const Level& level = search_.levels[t];
        const Transform& transform = search_.transforms[t];
        group_by_node(level);
        score_chunks(level);

        const bool last = t + 1 == search_.levels.size();
        const std::int32_t* labels = last ? search_.labels : nullptr;
        const auto keep = static_cast<std::size_t>(search_.beams[t]);
        std::size_t output = 0;
        std::vector<Candidate> candidates;
        for (auto& row : beam_) {
            candidates.clear();
            for (const auto& [parent_score, parent_raw, node] : row) {
                const std::int64_t first = level.offsets[node];
                const std::int64_t width = level.width(node);
                if (level.carries(node)) {
                    candidates.push_back({parent_score, parent_raw, static_cast<std::int32_t>(first)});
                    ++output;
                    continue;
                }
                for (std::int64_t c = 0; c < width; ++c, ++output) {
                    const auto id = static_cast<std::int32_t>(first + c);
                    const float raw = orderable(outputs_[output]);
                    candidates.push_back({combine(transform, raw, parent_score), raw, labels ? labels[id] : id});
                }
            }
            if (candidates.size() > keep) {
                std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(keep),
                                 candidates.end());
                candidates.resize(keep);
            }
            std::sort(candidates.begin(), candidates.end());
            row.assign(candidates.begin(), candidates.end());
        }
    }

    // visits_ sorted by node: a counting sort over the nodes of the level above.
    void group_by_node(const Level& level) {
        starts_.assign(static_cast<std::size_t>(level.parents) + 1, 0);
        std::size_t total = 0;
        for (const auto& row : beam_) {
            for (const auto& candidate : row) ++starts_[static_cast<std::size_t>(candidate.id) + 1];
            total += row.size();
        }
        for (std::size_t p = 1; p < starts_.size(); ++p) starts_[p] += starts_[p - 1];
        visits_.resize(total);
        std::int64_t output = 0;
        for (std::size_t q = 0; q < beam_.size(); ++q) {
            for (const auto& candidate : beam_[q]) {
                auto& place = starts_[static_cast<std::size_t>(candidate.id)];
                visits_[static_cast<std::size_t>(place++)] = {static_cast<std::int32_t>(q), output};
                output += level.width(candidate.id);
            }
        }
        outputs_.resize(static_cast<std::size_t>(output));
        // Each start has moved to the start of the next node; shift back.
        std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
        starts_[0] = 0;
    }

    void score_chunks(const Level& level) {
        for (std::int64_t parent = 0; parent < level.parents; ++parent) {
            const auto from = static_cast<std::size_t>(starts_[static_cast<std::size_t>(parent)]);
            const auto to = static_cast<std::size_t>(starts_[static_cast<std::size_t>(parent) + 1]);
            if (from == to || level.carries(parent)) continue;
            const std::span<const Visit> visits(visits_.data() + from, to - from);
            const float* biases = level.biases + level.offsets[parent];
            for (const auto& visit : visits) {
                std::copy(biases, biases + level.width(parent), outputs_.begin() + visit.output);
            }
            if (visits.size() > 1) {
                score_by_map(level, parent, visits);
            } else {
                score_by_merge(level, parent, visits.front());
            }
        }
    }

    // Many queries: a table feature -> row, filled once for the chunk.
    void score_by_map(const Level& level, std::int64_t parent, std::span<const Visit> visits) {
        row_of_.resize(static_cast<std::size_t>(queries_.cols), -1);
        const std::int64_t begin = level.chunks[parent];
        const std::int64_t end = level.chunks[parent + 1];
        for (std::int64_t r = begin; r < end; ++r) row_of_[static_cast<std::size_t>(level.features[r])] = r;
        for (const auto& visit : visits) {
            const auto ids = queries_.row(begin_ + visit.query);
            const auto values = queries_.values(begin_ + visit.query);
            float* out = outputs_.data() + visit.output;
            for (std::size_t j = 0; j < ids.size(); ++j) {
                const std::int64_t row = row_of_[static_cast<std::size_t>(ids[j])];
                if (row >= 0) add_row(level, row, values[j], out);
            }
        }
        for (std::int64_t r = begin; r < end; ++r) row_of_[static_cast<std::size_t>(level.features[r])] = -1;
    }

    // One query: for each of its features gallop ahead in the chunk's sorted features.
    void score_by_merge(const Level& level, std::int64_t parent, const Visit& visit) {
        const auto ids = queries_.row(begin_ + visit.query);
        const auto values = queries_.values(begin_ + visit.query);
        float* out = outputs_.data() + visit.output;
        const std::int32_t* at = level.features + level.chunks[parent];
        const std::int32_t* end = level.features + level.chunks[parent + 1];
        for (std::size_t j = 0; j < ids.size() && at < end; ++j) {
            std::ptrdiff_t stride = 1;
            while (stride < end - at && at[stride] < ids[j]) stride *= 2;
            at = std::lower_bound(at, at + std::min(stride + 1, end - at), ids[j]);
            if (at < end && *at == ids[j]) add_row(level, at - level.features, values[j], out);
        }
    }

    const Search& search_;
    const Csr& queries_;
    std::int64_t begin_ = 0;
    std::vector<std::vector<Candidate>> beam_;
    std::vector<Visit> visits_;
    std::vector<std::int64_t> starts_;
    std::vector<float> outputs_;
    std::vector<std::int64_t> row_of_;  // -1 between uses
};

// Rows per block: enough to share chunks, few enough that the scores of a block stay small.
std::int64_t block_rows(const Search& search, std::int64_t rows, int threads) {
    constexpr std::int64_t kScores = std::int64_t{1} << 22;
    std::int64_t widest = 1;
    std::int64_t beam = 1;
    for (std::size_t t = 0; t < search.levels.size(); ++t) {
        const Level& level = search.levels[t];
        std::int64_t width = 0;
        for (std::int64_t p = 0; p < level.parents; ++p) width = std::max(width, level.width(p));
        widest = std::max(widest, std::min(beam * width, level.nodes()));
        beam = search.beams[t];
    }
    const std::int64_t fair = (rows + threads - 1) / std::max(threads, 1);
    return std::clamp<std::int64_t>(std::min(kScores / widest, fair), 1, 4096);
}

}  // namespace

Ranking search(const Search& search, const Csr& queries, int threads, Monitor* monitor) {
    const std::int64_t block = block_rows(search, queries.rows, threads);
    std::vector<Ranking> parts(static_cast<std::size_t>((queries.rows + block - 1) / block));
    std::vector<BlockSearch> workers(static_cast<std::size_t>(std::max(threads, 1)), BlockSearch(search, queries));
    parallel_blocks(
        queries.rows, block, threads,
        [&](std::int64_t begin, std::int64_t end, int worker) {
            parts[static_cast<std::size_t>(begin / block)] = workers[static_cast<std::size_t>(worker)].run(begin, end);
        },
        monitor);
    return join(parts);
}

}  // namespace treetop

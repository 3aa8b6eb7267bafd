#include "beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "chunk_scores.hpp"
#include "csr_flaw.hpp"
#include "require.hpp"

namespace treetop {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Candidate {
    float score;  // products are summed as logarithms, so that tiny scores keep their order
    float raw;    // breaks ties: all u >= 1 are the same to a hinge
    std::int32_t id;
    bool operator<(const Candidate& other) const {
        if (score != other.score) return score > other.score;
        return raw != other.raw ? raw > other.raw : id < other.id;
    }
};

// NaN, from damaged weights or values that overflow, ranks last.
float orderable(float raw) { return std::isnan(raw) ? kLowest : raw; }

double log_transform(const Transform& transform, double u) {
    if (transform.kind == Transform::Kind::sigmoid) {
        return u >= 0.0 ? -std::log1p(std::exp(-u)) : u - std::log1p(std::exp(u));
    }
    const double gap = std::max(0.0, 1.0 - u);
    double power = gap;
    for (int p = 1; p < transform.power; ++p) power *= gap;
    return -power;
}

// What the parent adds to the logarithm of a product.
double share(const Transform& transform, float parent) {
    return transform.discount == 0.0 ? 0.0 : transform.discount * double{parent};
}

float combine(const Transform& transform, float u, float parent) {
    if (transform.kind == Transform::Kind::raw) return u;
    const double value = log_transform(transform, double{u});
    if (transform.noisy_or) return orderable(static_cast<float>(1.0 - (1.0 - std::exp(value)) * (1.0 - double{parent})));
    return orderable(static_cast<float>(value + share(transform, parent)));
}

// A raw score below which combine() cannot reach `wanted`: the inverse transform, minus a little slack.
float least_raw(const Transform& transform, float wanted, float parent) {
    if (transform.kind == Transform::Kind::raw) return wanted;
    if (transform.noisy_or) return kLowest;
    const double most = share(transform, parent);
    const double slack = 1e-6 * (std::abs(double{wanted}) + std::abs(most)) + 1e-9;
    const double loss = std::max(0.0, most - double{wanted}) + slack;  // the largest -log T(u) that can reach it
    const double exact = transform.kind == Transform::Kind::sigmoid
                             ? -loss - std::log(-std::expm1(-loss))
                             : 1.0 - std::pow(loss, 1.0 / transform.power);
    return static_cast<float>(exact - 1e-6 * (1.0 + std::abs(exact)));
}

// Keeps the best `most` candidates in the given memory: a heap with the worst on top once it is full.
class Best {
public:
    Best(Candidate* place, std::int32_t& count, std::int32_t most) : place_(place), count_(count), most_(most) {}

    bool full() const { return count_ == most_; }
    const Candidate& worst() const { return place_[0]; }

    bool offer(const Candidate& candidate) {
        if (!full()) {
            place_[count_++] = candidate;
            if (full()) std::make_heap(place_, place_ + count_);
            return true;
        }
        if (!(candidate < place_[0])) return false;
        std::pop_heap(place_, place_ + count_);
        place_[count_ - 1] = candidate;
        std::push_heap(place_, place_ + count_);
        return true;
    }

private:
    Candidate* place_;
    std::int32_t& count_;
    std::int32_t most_;
};

// The candidates of a block of rows after one level: `most` places for each row.
struct Beam {
    std::int32_t most = 0;
    std::vector<Candidate> places;
    std::vector<std::int32_t> counts;

    void clear(std::size_t rows, std::int64_t most_nodes) {
        most = static_cast<std::int32_t>(most_nodes);
        places.resize(rows * static_cast<std::size_t>(most));
        counts.assign(rows, 0);
    }
    std::span<Candidate> row(std::size_t r) {
        return {places.data() + r * static_cast<std::size_t>(most), static_cast<std::size_t>(counts[r])};
    }
    Best best(std::size_t r) { return {places.data() + r * static_cast<std::size_t>(most), counts[r], most}; }
};

// Walks a block of rows down the tree together, so that a chunk of weights is fetched once for all its queries.
class BlockSearch {
public:
    BlockSearch(const Search& search, const Csr& queries) : search_(search), queries_(queries) {
        std::int64_t widest = kLeastScores;
        for (const Level& level : search.levels) widest = std::max(widest, level.widest);
        scores_.resize(static_cast<std::size_t>(widest));
    }

    Ranking run(std::int64_t begin, std::int64_t end) {
        begin_ = begin;
        const auto rows = static_cast<std::size_t>(end - begin);
        scatter_features(begin, end);
        if (search_.start == nullptr) {
            // The root: log 1 where scores multiply, 0 where they combine by noisy-or.
            beam_.clear(rows, 1);
            for (std::size_t r = 0; r < rows; ++r) beam_.best(r).offer({0.0F, 0.0F, 0});
        } else {
            begin_with(*search_.start, rows);
        }
        for (std::size_t t = 0; t < search_.levels.size(); ++t) descend(t);
        return ranking();
    }

private:
    struct Visit {
        std::int32_t row;   // in the block
        std::int32_t rank;  // of the node in the row's beam
    };

    void begin_with(const Csr& start, std::size_t rows) {
        std::int64_t most = 1;
        for (std::size_t r = 0; r < rows; ++r) {
            const std::int64_t* indptr = start.indptr + begin_ + static_cast<std::int64_t>(r);
            most = std::max(most, indptr[1] - indptr[0]);
        }
        beam_.clear(rows, most);
        const bool multiplies = search_.transforms.front().multiplies();
        for (std::size_t r = 0; r < rows; ++r) {
            const std::int64_t row = begin_ + static_cast<std::int64_t>(r);
            const auto nodes = start.row(row);
            const auto scores = start.values(row);
            for (std::size_t j = 0; j < nodes.size(); ++j) {
                const float score = multiplies ? std::log(std::max(scores[j], 0.0F)) : scores[j];
                beam_.best(r).offer({orderable(score), 0.0F, nodes[j]});
            }
            std::ranges::sort(beam_.row(r), std::less<>{});
        }
    }

    void scatter_features(std::int64_t begin, std::int64_t end) {
        const int bits = feature_bits(queries_.cols);
        const std::int64_t first = queries_.indptr[begin];
        hashes_.resize(static_cast<std::size_t>(queries_.indptr[end] - first));
        const std::int32_t* features = queries_.indices + first;
        for (std::size_t j = 0; j < hashes_.size(); ++j) hashes_[j] = scatter(features[j], bits);
    }

    void descend(std::size_t t) {
        const Level& level = search_.levels[t];
        const std::size_t rows = beam_.counts.size();
        // Room for one even where there are no nodes: a beam without room has no worst candidate to compare with.
        next_.clear(rows, std::max<std::int64_t>(std::min(search_.beams[t], level.nodes()), 1));
        // The best nodes of the beams go first: with their children, many rows need not visit the others.
        std::int32_t from = 0;
        for (const std::int32_t to : {std::min(kFirstRanks, beam_.most), beam_.most}) {
            visits_.clear();
            for (std::size_t r = 0; r < rows; ++r) {
                const auto row = beam_.row(r);
                const auto end = std::min<std::size_t>(static_cast<std::size_t>(to), row.size());
                for (auto rank = static_cast<std::size_t>(from); rank < end; ++rank) {
                    if (hopeless(t, row[rank], next_.best(r))) break;
                    visits_.push_back({static_cast<std::int32_t>(r), static_cast<std::int32_t>(rank)});
                }
            }
            if (rows > 1) group_by_node(level);
            for (const Visit& visit : visits_) expand(t, visit);
            from = to;
        }
        for (std::size_t r = 0; r < rows; ++r) std::ranges::sort(next_.row(r), std::less<>{});
        std::swap(beam_, next_);
    }

    // Whether no child of the node can enter: no T(u) is more than 1.
    bool hopeless(std::size_t t, const Candidate& parent, const Best& best) const {
        const Transform& transform = search_.transforms[t];
        if (!transform.multiplies() || !best.full()) return false;
        return static_cast<float>(share(transform, parent.score)) < best.worst().score;
    }

    const Candidate& node_of(const Visit& visit) {
        return beam_.row(static_cast<std::size_t>(visit.row))[static_cast<std::size_t>(visit.rank)];
    }

    Query query_of(const Visit& visit) const {
        const std::int64_t row = begin_ + visit.row;
        const auto first = static_cast<std::size_t>(queries_.indptr[row] - queries_.indptr[begin_]);
        const auto features = queries_.row(row);
        return {features, std::span(hashes_).subspan(first, features.size()), queries_.values(row)};
    }

    void expand(std::size_t t, const Visit& visit) {
        const Level& level = search_.levels[t];
        const Transform& transform = search_.transforms[t];
        const Candidate parent = node_of(visit);
        Best best = next_.best(static_cast<std::size_t>(visit.row));
        if (hopeless(t, parent, best)) return;
        TREETOP_ASSERT(0 <= parent.id && parent.id < level.parents);
        const std::int64_t first = level.offsets[parent.id];
        if (level.carries(parent.id)) {
            best.offer({parent.score, parent.raw, static_cast<std::int32_t>(first)});
            return;
        }
        score_chunk(level, parent.id, query_of(visit), scores_.data());

        const std::int32_t* labels = t + 1 == search_.levels.size() ? search_.labels.data() : nullptr;
        float least = best.full() ? least_raw(transform, best.worst().score, parent.score) : kLowest;
        const std::int64_t width = level.width(parent.id);
        TREETOP_ASSERT(static_cast<std::size_t>(width) <= scores_.size());
        for (std::int64_t c = 0; c < width; ++c) {
            if (scores_[static_cast<std::size_t>(c)] < least) continue;
            const float raw = orderable(scores_[static_cast<std::size_t>(c)]);
            const auto id = static_cast<std::int32_t>(first + c);
            const bool entered = best.offer({combine(transform, raw, parent.score), raw, labels ? labels[id] : id});
            if (!entered) least = least_raw(transform, best.worst().score, parent.score);
        }
    }

    // A counting sort of the visits over the nodes of the level above.
    void group_by_node(const Level& level) {
        starts_.assign(static_cast<std::size_t>(level.parents) + 1, 0);
        const auto place = [this](const Visit& visit) { return static_cast<std::size_t>(node_of(visit).id); };
        for (const Visit& visit : visits_) ++starts_[place(visit) + 1];
        for (std::size_t p = 1; p < starts_.size(); ++p) starts_[p] += starts_[p - 1];
        sorted_.resize(visits_.size());
        for (const Visit& visit : visits_) sorted_[static_cast<std::size_t>(starts_[place(visit)]++)] = visit;
        std::swap(visits_, sorted_);
    }

    Ranking ranking() {
        Ranking ranking;
        const Transform& transform = search_.transforms.back();
        const bool exponentiate = transform.multiplies() && !transform.log;
        for (std::size_t r = 0; r < beam_.counts.size(); ++r) {
            for (const auto& candidate : beam_.row(r)) {
                ranking.ids.push_back(candidate.id);
                ranking.scores.push_back(exponentiate ? std::exp(candidate.score) : candidate.score);
            }
            ranking.indptr.push_back(static_cast<std::int64_t>(ranking.ids.size()));
        }
        return ranking;
    }

    static constexpr std::int32_t kFirstRanks = 2;

    const Search& search_;
    const Csr& queries_;
    std::int64_t begin_ = 0;
    std::vector<std::uint32_t> hashes_;  // of the block's features
    Beam beam_, next_;
    std::vector<Visit> visits_, sorted_;
    std::vector<std::int64_t> starts_;
    std::vector<float> scores_;  // of the children of one node
};

// Rows per block: enough to share chunks, few enough that every thread has several blocks and the beams stay small.
std::int64_t block_rows(const Search& search, std::int64_t rows, int threads) {
    constexpr std::int64_t kCandidates = std::int64_t{1} << 20;
    std::int64_t widest = 1;
    for (std::size_t t = 0; t < search.levels.size(); ++t) {
        widest = std::max(widest, std::min(search.beams[t], search.levels[t].nodes()));
    }
    const std::int64_t fair = rows / (4 * std::max<std::int64_t>(threads, 1));
    return std::clamp<std::int64_t>(std::min(kCandidates / widest, fair), 1, 8192);
}

}  // namespace

void check(const Search& search, const Csr& queries) {
    const auto& [levels, transforms, beams, labels, start] = search;
    require(!levels.empty(), "a search needs at least one level");
    require(transforms.size() == levels.size() && beams.size() == levels.size(),
            "one transform, discount and beam size per level are needed");
    for (std::size_t t = 0; t < levels.size(); ++t) {
        require(beams[t] >= 1, "beam sizes must be at least 1");
        require(std::isfinite(transforms[t].discount) && transforms[t].discount >= 0, "discounts must be 0 or more");
        require(levels[t].features == queries.cols, "the input has a different number of features than the model");
        require(t == 0 ? start != nullptr || levels[t].parents == 1 : levels[t].parents == levels[t - 1].nodes(),
                "the levels are inconsistent");
    }
    require(labels.empty() || static_cast<std::int64_t>(labels.size()) == levels.back().nodes(),
            "one label per leaf is needed");
    if (start == nullptr) return;
    require(start->rows == queries.rows, "every query needs nodes to start from");
    require(start->cols == levels.front().parents, "a parent is out of range");
}

Ranking search(const Search& search, const Csr& queries, int threads, Monitor* monitor) {
    TREETOP_ASSERT((check(search, queries), true) && sound(queries));
    TREETOP_ASSERT(search.start == nullptr || sound(*search.start, Order::any));
    const std::int64_t block = block_rows(search, queries.rows, threads);
    const std::int64_t blocks = (queries.rows + block - 1) / block;
    const int workers = static_cast<int>(std::clamp<std::int64_t>(blocks, 1, std::max(threads, 1)));
    std::vector<Ranking> parts(static_cast<std::size_t>(blocks));
    std::vector<BlockSearch> searches(static_cast<std::size_t>(workers), BlockSearch(search, queries));
    parallel_blocks(
        queries.rows, block, workers,
        [&](std::int64_t begin, std::int64_t end, int worker) {
            parts[static_cast<std::size_t>(begin / block)] = searches[static_cast<std::size_t>(worker)].run(begin, end);
        },
        monitor);
    return join(parts);
}

}  // namespace treetop

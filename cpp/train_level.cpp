#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "level.hpp"

namespace treetop {
namespace {

struct Chunk {  // the weights of one parent's children, as in Level
    std::vector<std::int32_t> features;
    std::vector<std::int64_t> row_ends;
    std::vector<std::int32_t> children;
    std::vector<float> weights;
};

struct Entry {
    std::int32_t feature;  // local
    std::int32_t child;
    float weight;
};

// Gathers the documents of a node and renumbers their features, in ascending order, to a small dense range.
class Gatherer {
public:
    void gather(const Csr& features, const std::vector<std::int32_t>& documents, Examples& examples,
                std::vector<std::int32_t>& global) {
        local_.resize(static_cast<std::size_t>(features.cols), -1);
        global.clear();
        std::size_t entries = 0;
        for (const auto document : documents) {
            entries += features.row(document).size();
            for (const auto feature : features.row(document)) {
                auto& number = local_[static_cast<std::size_t>(feature)];
                if (number < 0) {
                    number = 0;
                    global.push_back(feature);
                }
            }
        }
        std::sort(global.begin(), global.end());
        for (std::size_t j = 0; j < global.size(); ++j) {
            local_[static_cast<std::size_t>(global[j])] = static_cast<std::int32_t>(j);
        }
        examples.indptr.assign(1, 0);
        examples.indices.clear();
        examples.values.clear();
        examples.squares.clear();
        examples.indices.reserve(entries);
        examples.values.reserve(entries);
        examples.features = static_cast<std::int32_t>(global.size());
        for (const auto document : documents) {
            const auto ids = features.row(document);
            const auto values = features.values(document);
            double square = 0.0;
            for (std::size_t j = 0; j < ids.size(); ++j) {
                examples.indices.push_back(local_[static_cast<std::size_t>(ids[j])]);
                examples.values.push_back(values[j]);
                square += double{values[j]} * double{values[j]};
            }
            examples.indptr.push_back(static_cast<std::int64_t>(examples.indices.size()));
            examples.squares.push_back(square);
        }
        for (const auto feature : global) local_[static_cast<std::size_t>(feature)] = -1;
    }

private:
    std::vector<std::int32_t> local_;  // -1 between uses
};

struct LabelScratch {
    DualSolver solver;
    std::vector<std::int32_t> active;
    std::vector<signed char> sign;
    std::vector<double> cost;
};

struct NodeScratch {
    Gatherer gatherer;
    Examples examples;
    std::vector<std::int32_t> documents;
    std::vector<std::int32_t> global;
    LabelScratch label;
};

class LevelTrainer {
public:
    LevelTrainer(const LevelProblem& problem, int threads, Monitor* monitor)
        : problem_(problem),
          threads_(std::max(threads, 1)),
          monitor_(monitor),
          nodes_(static_cast<std::size_t>(threads_)),
          chunks_(problem.offsets.size() - 1),
          biases_(static_cast<std::size_t>(problem.offsets.back()), 0.0F) {}

    TrainedLevel run() {
        // Big nodes go first, one at a time with their children spread over the threads; then all the others,
        // node beside node. Which of the two a node is changes nothing in its result.
        std::vector<std::int64_t> order(chunks_.size());
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::vector<double> work(chunks_.size());
        for (std::size_t p = 0; p < work.size(); ++p) {
            double entries = 0.0;
            for (const auto document : problem_.shortlist.row(static_cast<std::int64_t>(p))) {
                entries += static_cast<double>(problem_.features.row(document).size());
            }
            work[p] = entries * static_cast<double>(width(static_cast<std::int64_t>(p)));
        }
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return work[a] > work[b]; });
        const double fair_share = std::accumulate(work.begin(), work.end(), 0.0) / (4.0 * threads_);
        std::size_t big = 0;
        if (threads_ > 1) {
            while (big < order.size() && work[static_cast<std::size_t>(order[big])] > fair_share) ++big;
        }

        for (std::size_t i = 0; i < big; ++i) train_node(order[i], 0, threads_);
        const auto rest = static_cast<std::int64_t>(order.size() - big);
        parallel_for(rest, threads_, [&](std::int64_t index, int worker) {
            train_node(order[big + static_cast<std::size_t>(index)], worker, 1);
        });
        return join();
    }

private:
    std::int64_t width(std::int64_t parent) const { return problem_.offsets[parent + 1] - problem_.offsets[parent]; }

    void train_node(std::int64_t parent, int worker, int inner_threads) {
        const std::int64_t children = width(parent);
        if (children == 0 || (children == 1 && !problem_.last)) {
            finish(children, worker);
            return;
        }
        NodeScratch& node = nodes_[static_cast<std::size_t>(worker)];
        const auto shared = collect_documents(parent, node.documents);
        node.gatherer.gather(problem_.features, node.documents, node.examples, node.global);

        std::vector<std::vector<Entry>> entries(static_cast<std::size_t>(children));
        if (inner_threads > 1) {
            std::vector<LabelScratch> scratch(static_cast<std::size_t>(inner_threads));
            parallel_for(children, inner_threads, [&](std::int64_t child, int inner) {
                train_label(parent, child, node, shared, scratch[static_cast<std::size_t>(inner)],
                            entries[static_cast<std::size_t>(child)]);
                finish(1, inner);
            });
        } else {
            for (std::int64_t child = 0; child < children; ++child) {
                train_label(parent, child, node, shared, node.label, entries[static_cast<std::size_t>(child)]);
            }
            finish(children, worker);
        }
        chunks_[static_cast<std::size_t>(parent)] = to_chunk(entries, node.global);
    }

    // The shortlist first, then positives of any child that the shortlist misses. Returns the shortlist's length.
    std::int32_t collect_documents(std::int64_t parent, std::vector<std::int32_t>& documents) const {
        const auto listed = problem_.shortlist.row(parent);
        documents.assign(listed.begin(), listed.end());
        std::vector<std::int32_t> missing;
        for (std::int64_t c = problem_.offsets[parent]; c < problem_.offsets[parent + 1]; ++c) {
            for (const auto document : problem_.positives.row(c)) {
                if (!std::binary_search(listed.begin(), listed.end(), document)) missing.push_back(document);
            }
        }
        std::sort(missing.begin(), missing.end());
        missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
        documents.insert(documents.end(), missing.begin(), missing.end());
        return static_cast<std::int32_t>(listed.size());
    }

    void train_label(std::int64_t parent, std::int64_t child, const NodeScratch& node, std::int32_t shared,
                     LabelScratch& scratch, std::vector<Entry>& entries) {
        const std::int64_t label = problem_.offsets[parent] + child;
        const auto& options = problem_.solver;
        scratch.active.resize(static_cast<std::size_t>(shared));
        std::iota(scratch.active.begin(), scratch.active.end(), 0);
        scratch.sign.assign(static_cast<std::size_t>(shared), -1);
        scratch.cost.assign(static_cast<std::size_t>(shared), options.cost_negative);

        const auto documents = problem_.positives.row(label);
        const auto costs = problem_.positives.values(label);
        const auto listed_end = node.documents.begin() + shared;
        for (std::size_t i = 0; i < documents.size(); ++i) {
            const double cost = options.cost_positive * double{costs[i]};
            auto place = std::lower_bound(node.documents.begin(), listed_end, documents[i]);
            if (place != listed_end && *place == documents[i]) {
                const auto at = static_cast<std::size_t>(place - node.documents.begin());
                scratch.sign[at] = 1;
                scratch.cost[at] = cost;
            } else {
                place = std::lower_bound(listed_end, node.documents.end(), documents[i]);
                scratch.active.push_back(static_cast<std::int32_t>(place - node.documents.begin()));
                scratch.sign.push_back(1);
                scratch.cost.push_back(cost);
            }
        }

        const std::uint64_t seed = problem_.seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(label);
        scratch.solver.solve(node.examples, scratch.active, scratch.sign, scratch.cost, options, seed);
        const auto& weights = scratch.solver.weights();
        for (std::size_t f = 0; f < weights.size(); ++f) {
            if (weights[f] != 0.0 && std::abs(weights[f]) >= problem_.threshold) {
                entries.push_back({static_cast<std::int32_t>(f), static_cast<std::int32_t>(child),
                                   static_cast<float>(weights[f])});
            }
        }
        biases_[static_cast<std::size_t>(label)] = static_cast<float>(scratch.solver.bias());
    }

    // From label-major to feature-major by counting; children stay in order inside a row.
    static Chunk to_chunk(const std::vector<std::vector<Entry>>& entries, const std::vector<std::int32_t>& global) {
        std::vector<std::int64_t> places(global.size() + 1, 0);
        for (const auto& of_child : entries) {
            for (const auto& entry : of_child) ++places[static_cast<std::size_t>(entry.feature) + 1];
        }
        Chunk chunk;
        for (std::size_t f = 0; f < global.size(); ++f) {
            const bool used = places[f + 1] > 0;
            places[f + 1] += places[f];
            if (used) {
                chunk.features.push_back(global[f]);
                chunk.row_ends.push_back(places[f + 1]);
            }
        }
        chunk.children.resize(static_cast<std::size_t>(places.back()));
        chunk.weights.resize(chunk.children.size());
        for (const auto& of_child : entries) {
            for (const auto& entry : of_child) {
                const auto place = static_cast<std::size_t>(places[static_cast<std::size_t>(entry.feature)]++);
                chunk.children[place] = entry.child;
                chunk.weights[place] = entry.weight;
            }
        }
        return chunk;
    }

    void finish(std::int64_t labels, int worker) {
        const auto done = finished_.fetch_add(labels) + labels;
        if (monitor_ != nullptr && worker == 0) monitor_->report(done, problem_.offsets.back());
    }

    TrainedLevel join() {
        TrainedLevel level;
        level.chunks.push_back(0);
        level.rows.push_back(0);
        for (auto& chunk : chunks_) {
            const auto base = static_cast<std::int64_t>(level.children.size());
            level.features.insert(level.features.end(), chunk.features.begin(), chunk.features.end());
            for (const auto end : chunk.row_ends) level.rows.push_back(base + end);
            level.children.insert(level.children.end(), chunk.children.begin(), chunk.children.end());
            level.weights.insert(level.weights.end(), chunk.weights.begin(), chunk.weights.end());
            level.chunks.push_back(static_cast<std::int64_t>(level.features.size()));
            chunk = Chunk{};
        }
        level.biases = std::move(biases_);
        return level;
    }

    const LevelProblem& problem_;
    int threads_;
    Monitor* monitor_;
    std::vector<NodeScratch> nodes_;
    std::vector<Chunk> chunks_;
    std::vector<float> biases_;
    std::atomic<std::int64_t> finished_{0};
};

}  // namespace

TrainedLevel train_level(const LevelProblem& problem, int threads, Monitor* monitor) {
    return LevelTrainer(problem, threads, monitor).run();
}

}  // namespace treetop

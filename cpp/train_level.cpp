#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "label_solver.hpp"
#include "lane_solver.hpp"
#include "level.hpp"
#include "node_examples.hpp"

namespace treetop {
namespace {

struct Chunk {  // the weights of one parent's children, as in Level
    std::vector<std::int32_t> features;
    std::vector<std::int64_t> row_ends;
    std::vector<std::int32_t> children;
    std::vector<float> weights;
};

struct NodeScratch {
    explicit NodeScratch(const SharedRows& rows) : gatherer(rows) {}
    NodeGatherer gatherer;
    NodeExamples examples;
    Examples whole;   // the same with all features in one range, for solvers of one label
    Columns columns;  // of `whole`, where the solver goes by feature
    std::vector<std::int32_t> positions;  // of all children's positives in the node's examples, child after child
    std::vector<std::int64_t> starts;
};

struct LabelScratch {
    LabelSolver solver;
    std::vector<std::int32_t> active;
    std::vector<signed char> sign;
    std::vector<double> cost;
};

class LevelTrainer {
public:
    LevelTrainer(const LevelProblem& problem, int threads, Monitor* monitor)
        : problem_(problem),
          threads_(std::max(threads, 1)),
          monitor_(monitor),
          nodes_(static_cast<std::size_t>(threads_), NodeScratch(*problem.rows)),
          plain_(problem.solver.loss == Loss::squared_hinge && problem.solver.l1 <= 0.0),
          solvers_(static_cast<std::size_t>(plain_ ? threads_ : 0)),
          labels_(static_cast<std::size_t>(plain_ ? 0 : threads_)),
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
                entries += static_cast<double>(problem_.rows->source.row(document).size());
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
        const auto listed = collect_documents(parent, node.examples.documents);
        node.gatherer.gather(node.examples);
        locate_positives(parent, listed, node);
        if (!plain_) node.whole = examples_of(node.examples);
        if (problem_.solver.l1 > 0.0) node.columns = columns_of(node.whole);

        // Labels of about the same frequency settle after about as many passes: they share a block of lanes.
        std::vector<std::int32_t> order(static_cast<std::size_t>(children));
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
            return node.starts[a + 1] - node.starts[a] > node.starts[b + 1] - node.starts[b];
        });
        const std::int64_t block_size = plain_ ? kLanes : 1;
        const std::int64_t blocks = (children + block_size - 1) / block_size;
        std::vector<std::vector<WeightEntry>> entries(static_cast<std::size_t>(blocks));
        parallel_for(blocks, inner_threads, [&](std::int64_t block, int inner) {
            const int solver = inner_threads > 1 ? inner : worker;
            auto& found = entries[static_cast<std::size_t>(block)];
            const auto first = static_cast<std::size_t>(block * block_size);
            const auto count = std::min(static_cast<std::size_t>(block_size), order.size() - first);
            if (plain_) {
                train_lanes(parent, std::span(order).subspan(first, count), node, listed,
                            solvers_[static_cast<std::size_t>(solver)], found);
            } else {
                train_label(parent, order[first], node, listed, labels_[static_cast<std::size_t>(solver)], found);
            }
            finish(static_cast<std::int64_t>(count), solver);
        });
        chunks_[static_cast<std::size_t>(parent)] = to_chunk(entries, node.examples);
    }

    // The shortlist first, then positives of any child that the shortlist misses. Returns the shortlist's length.
    std::int64_t collect_documents(std::int64_t parent, std::vector<std::int32_t>& documents) const {
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
        return static_cast<std::int64_t>(listed.size());
    }

    void locate_positives(std::int64_t parent, std::int64_t listed, NodeScratch& node) const {
        const auto& documents = node.examples.documents;
        const auto listed_end = documents.begin() + listed;
        node.positions.clear();
        node.starts.assign(1, 0);
        for (std::int64_t c = problem_.offsets[parent]; c < problem_.offsets[parent + 1]; ++c) {
            for (const auto document : problem_.positives.row(c)) {
                auto place = std::lower_bound(documents.begin(), listed_end, document);
                if (place == listed_end || *place != document) {
                    place = std::lower_bound(listed_end, documents.end(), document);
                }
                node.positions.push_back(static_cast<std::int32_t>(place - documents.begin()));
            }
            node.starts.push_back(static_cast<std::int64_t>(node.positions.size()));
        }
    }

    void train_lanes(std::int64_t parent, std::span<const std::int32_t> children, const NodeScratch& node,
                     std::int64_t listed, LaneSolver& solver, std::vector<WeightEntry>& entries) {
        std::vector<LaneLabel> labels;
        for (const auto child : children) {
            const auto begin = static_cast<std::size_t>(node.starts[static_cast<std::size_t>(child)]);
            const auto end = static_cast<std::size_t>(node.starts[static_cast<std::size_t>(child) + 1]);
            labels.push_back({child, std::span(node.positions).subspan(begin, end - begin),
                              problem_.positives.values(problem_.offsets[parent] + child)});
        }
        const auto name = static_cast<std::uint64_t>(problem_.offsets[parent] + children.front());
        solver.solve(node.examples, listed, labels, problem_.solver, problem_.threshold,
                     problem_.seed * 0x9E3779B97F4A7C15ull + name, entries);
        for (std::size_t lane = 0; lane < labels.size(); ++lane) {
            biases_[static_cast<std::size_t>(problem_.offsets[parent] + children[lane])] = solver.bias_of(lane);
        }
    }

    void train_label(std::int64_t parent, std::int32_t child, const NodeScratch& node, std::int64_t listed,
                     LabelScratch& scratch, std::vector<WeightEntry>& entries) {
        const auto& options = problem_.solver;
        const std::int64_t label = problem_.offsets[parent] + child;
        const auto shared = static_cast<std::size_t>(listed);
        scratch.active.resize(shared);
        std::iota(scratch.active.begin(), scratch.active.end(), 0);
        scratch.sign.assign(shared, -1);
        scratch.cost.assign(shared, options.cost_negative);
        const auto begin = static_cast<std::size_t>(node.starts[static_cast<std::size_t>(child)]);
        const auto costs = problem_.positives.values(label);
        for (std::size_t i = 0; i < costs.size(); ++i) {
            const auto position = static_cast<std::size_t>(node.positions[begin + i]);
            const double cost = options.cost_positive * double{costs[i]};
            if (position < shared) {
                scratch.sign[position] = 1;
                scratch.cost[position] = cost;
            } else {
                scratch.active.push_back(static_cast<std::int32_t>(position));
                scratch.sign.push_back(1);
                scratch.cost.push_back(cost);
            }
        }
        scratch.solver.solve(node.whole, node.columns, scratch.active, scratch.sign, scratch.cost, options,
                             problem_.seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(label));
        const auto& weights = scratch.solver.weights();
        for (std::size_t f = 0; f < weights.size(); ++f) {
            if (weights[f] == 0.0 || std::abs(weights[f]) < problem_.threshold) continue;
            entries.push_back({static_cast<std::int32_t>(f), child, static_cast<float>(weights[f])});
        }
        biases_[static_cast<std::size_t>(label)] = static_cast<float>(scratch.solver.bias());
    }

    // From block after block to row after row, by counting; features ascend, and children inside a row.
    static Chunk to_chunk(const std::vector<std::vector<WeightEntry>>& entries, const NodeExamples& node) {
        std::vector<std::int32_t> counts(node.names.size() + node.own_names.size(), 0);
        std::vector<std::pair<std::int32_t, std::int32_t>> used;  // id of the feature, its number in the node
        for (const auto& block : entries) {
            for (const auto& entry : block) {
                if (counts[static_cast<std::size_t>(entry.feature)]++ > 0) continue;
                const auto number = static_cast<std::size_t>(entry.feature);
                const bool own = number >= node.names.size();
                used.emplace_back(own ? node.own_names[number - node.names.size()] : node.names[number],
                                  entry.feature);
            }
        }
        std::sort(used.begin(), used.end());
        Chunk chunk;
        std::int64_t end = 0;
        for (const auto& [id, number] : used) {
            chunk.features.push_back(id);
            const auto begin = end;
            end += counts[static_cast<std::size_t>(number)];
            chunk.row_ends.push_back(end);
            counts[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(begin);
        }
        std::vector<std::pair<std::int32_t, float>> placed(static_cast<std::size_t>(end));
        for (const auto& block : entries) {
            for (const auto& entry : block) {
                placed[static_cast<std::size_t>(counts[static_cast<std::size_t>(entry.feature)]++)] = {entry.child,
                                                                                                       entry.weight};
            }
        }
        std::int64_t begin = 0;
        for (const auto row_end : chunk.row_ends) {
            std::sort(placed.begin() + begin, placed.begin() + row_end);
            begin = row_end;
        }
        chunk.children.reserve(placed.size());
        chunk.weights.reserve(placed.size());
        for (const auto& [child, weight] : placed) {
            chunk.children.push_back(child);
            chunk.weights.push_back(weight);
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
    bool plain_;  // squared hinge with L2, which has a solver of its own
    std::vector<LaneSolver> solvers_;
    std::vector<LabelScratch> labels_;
    std::vector<Chunk> chunks_;
    std::vector<float> biases_;
    std::atomic<std::int64_t> finished_{0};
};

}  // namespace

TrainedLevel train_level(const LevelProblem& problem, int threads, Monitor* monitor) {
    return LevelTrainer(problem, threads, monitor).run();
}

}  // namespace treetop

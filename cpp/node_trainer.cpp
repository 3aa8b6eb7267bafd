#include "node_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace treetop {

std::unique_ptr<NodeData> NodePool::take() {
    std::scoped_lock lock(guard_);
    if (free_.empty()) return std::make_unique<NodeData>();
    auto data = std::move(free_.back());
    free_.pop_back();
    return data;
}

void NodePool::give(std::unique_ptr<NodeData> data) {
    std::scoped_lock lock(guard_);
    free_.push_back(std::move(data));
}

void Trainer::leave_out_free() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < active.size(); ++i) {
        if (cost[i] == 0.0) continue;
        active[kept] = active[i];
        sign[kept] = sign[i];
        cost[kept++] = cost[i];
    }
    active.resize(kept);
    sign.resize(kept);
    cost.resize(kept);
}

NodeJob::NodeJob(const LevelProblem& problem, std::int64_t parent)
    : problem_(problem),
      parent_(parent),
      plain_(problem.solver.loss == Loss::squared_hinge && problem.solver.l1 <= 0.0) {
    const std::int64_t block = plain_ ? kLanes : 1;
    // Above the labels an only child adds no decision: it is carried down untrained.
    if (children() > 1 || problem.last) blocks_ = (children() + block - 1) / block;
    left_ = blocks_;
    for (const auto document : problem.shortlist.row(parent)) {
        work_ += static_cast<double>(problem.rows->source.row(document).size());
    }
    work_ = blocks_ == 0 ? 0.0 : work_ * static_cast<double>(children());
}

bool NodeJob::run(std::int64_t first, std::int64_t last, Trainer& trainer, NodePool& pool, float* biases) {
    std::call_once(prepared_, [&] { prepare(trainer, pool); });
    const std::span<const std::int32_t> order(data_->order);
    for (std::int64_t block = first; block < last; ++block) {
        auto& entries = entries_[static_cast<std::size_t>(block)];
        if (plain_) {
            const auto begin = static_cast<std::size_t>(block) * kLanes;
            train_lanes(order.subspan(begin, std::min<std::size_t>(kLanes, order.size() - begin)), trainer, biases,
                        entries);
        } else {
            train_label(order[static_cast<std::size_t>(block)], trainer, biases, entries);
        }
    }
    if (left_.fetch_sub(last - first) != last - first) return false;
    order_weights();
    pool.give(std::move(data_));
    return true;
}

void NodeJob::prepare(Trainer& trainer, NodePool& pool) {
    data_ = pool.take();
    entries_.resize(static_cast<std::size_t>(blocks_));
    collect_documents();
    trainer.gatherer.gather(data_->examples);
    locate_positives();
    if (!plain_) data_->whole = examples_of(data_->examples);
    if (problem_.solver.l1 > 0.0) data_->columns = columns_of(data_->whole);

    // Labels of about the same frequency settle after about as many passes: they share a block of lanes.
    const auto& starts = data_->starts;
    data_->order.resize(static_cast<std::size_t>(children()));
    std::iota(data_->order.begin(), data_->order.end(), 0);
    std::stable_sort(data_->order.begin(), data_->order.end(), [&](auto a, auto b) {
        return starts[static_cast<std::size_t>(a) + 1] - starts[static_cast<std::size_t>(a)] >
               starts[static_cast<std::size_t>(b) + 1] - starts[static_cast<std::size_t>(b)];
    });
}

// The shortlist first, then positives of any child that the shortlist misses.
void NodeJob::collect_documents() {
    const auto listed = problem_.shortlist.row(parent_);
    auto& documents = data_->examples.documents;
    documents.assign(listed.begin(), listed.end());
    std::vector<std::int32_t> missing;
    for (std::int64_t c = problem_.offsets[parent_]; c < problem_.offsets[parent_ + 1]; ++c) {
        for (const auto document : problem_.positives.row(c)) {
            if (!std::binary_search(listed.begin(), listed.end(), document)) missing.push_back(document);
        }
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    documents.insert(documents.end(), missing.begin(), missing.end());
    data_->listed = static_cast<std::int64_t>(listed.size());
}

void NodeJob::locate_positives() {
    const auto& documents = data_->examples.documents;
    const auto listed_end = documents.begin() + data_->listed;
    data_->positions.clear();
    data_->starts.assign(1, 0);
    for (std::int64_t c = problem_.offsets[parent_]; c < problem_.offsets[parent_ + 1]; ++c) {
        for (const auto document : problem_.positives.row(c)) {
            auto place = std::lower_bound(documents.begin(), listed_end, document);
            if (place == listed_end || *place != document) {
                place = std::lower_bound(listed_end, documents.end(), document);
            }
            TREETOP_ASSERT(place != documents.end() && *place == document);
            data_->positions.push_back(static_cast<std::int32_t>(place - documents.begin()));
        }
        data_->starts.push_back(static_cast<std::int64_t>(data_->positions.size()));
    }
}

void NodeJob::train_lanes(std::span<const std::int32_t> children, Trainer& trainer, float* biases,
                          std::vector<WeightEntry>& entries) const {
    std::vector<LaneLabel> labels;
    for (const auto child : children) {
        const auto begin = static_cast<std::size_t>(data_->starts[static_cast<std::size_t>(child)]);
        const auto end = static_cast<std::size_t>(data_->starts[static_cast<std::size_t>(child) + 1]);
        labels.push_back({child, std::span(data_->positions).subspan(begin, end - begin),
                          problem_.positives.values(problem_.offsets[parent_] + child)});
    }
    const auto name = static_cast<std::uint64_t>(problem_.offsets[parent_] + children.front());
    trainer.lanes.solve(data_->examples, data_->listed, labels, problem_.solver, problem_.threshold,
                        problem_.seed * 0x9E3779B97F4A7C15ull + name, entries);
    for (std::size_t lane = 0; lane < labels.size(); ++lane) {
        biases[problem_.offsets[parent_] + children[lane]] = trainer.lanes.bias_of(lane);
    }
}

void NodeJob::train_label(std::int32_t child, Trainer& trainer, float* biases,
                          std::vector<WeightEntry>& entries) const {
    const auto& options = problem_.solver;
    const std::int64_t label = problem_.offsets[parent_] + child;
    const auto listed = static_cast<std::size_t>(data_->listed);
    trainer.active.resize(listed);
    std::iota(trainer.active.begin(), trainer.active.end(), 0);
    trainer.sign.assign(listed, -1);
    const auto& weights = data_->examples.weights;
    trainer.cost.resize(listed);
    for (std::size_t i = 0; i < listed; ++i) trainer.cost[i] = options.cost_negative * double{weights[i]};
    const auto begin = static_cast<std::size_t>(data_->starts[static_cast<std::size_t>(child)]);
    const auto costs = problem_.positives.values(label);
    for (std::size_t i = 0; i < costs.size(); ++i) {
        const auto position = static_cast<std::size_t>(data_->positions[begin + i]);
        const double cost = options.cost_positive * double{costs[i]} * double{weights[position]};
        if (position < listed) {
            trainer.sign[position] = 1;
            trainer.cost[position] = cost;
        } else {
            trainer.active.push_back(static_cast<std::int32_t>(position));
            trainer.sign.push_back(1);
            trainer.cost.push_back(cost);
        }
    }
    trainer.leave_out_free();
    trainer.label.solve(data_->whole, data_->columns, trainer.active, trainer.sign, trainer.cost, options,
                        problem_.seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(label));
    const auto& solved = trainer.label.weights();
    for (std::size_t f = 0; f < solved.size(); ++f) {
        if (solved[f] == 0.0 || std::abs(solved[f]) < problem_.threshold) continue;
        entries.push_back({static_cast<std::int32_t>(f), child, static_cast<float>(solved[f])});
    }
    biases[label] = static_cast<float>(trainer.label.bias());
}

// From block after block to row after row, by counting; features ascend, and children inside a row.
void NodeJob::order_weights() {
    const NodeExamples& node = data_->examples;
    std::vector<std::int64_t> counts(node.names.size() + node.own_names.size(), 0);
    std::vector<std::pair<std::int32_t, std::int32_t>> used;  // id of the feature, its number in the node
    for (const auto& block : entries_) {
        for (const auto& entry : block) {
            const auto number = static_cast<std::size_t>(entry.feature);
            TREETOP_ASSERT(entry.feature >= 0 && number < counts.size());
            if (counts[number]++ > 0) continue;
            const bool own = number >= node.names.size();
            used.emplace_back(own ? node.own_names[number - node.names.size()] : node.names[number], entry.feature);
        }
    }
    std::sort(used.begin(), used.end());
    std::int64_t end = 0;
    for (const auto& [id, number] : used) {
        chunk.features.push_back(id);
        const auto begin = end;
        end += counts[static_cast<std::size_t>(number)];
        chunk.row_ends.push_back(end);
        counts[static_cast<std::size_t>(number)] = begin;
    }
    std::vector<std::pair<std::int32_t, float>> placed(static_cast<std::size_t>(end));
    for (auto& block : entries_) {
        for (const auto& entry : block) {
            const auto place = counts[static_cast<std::size_t>(entry.feature)]++;
            placed[static_cast<std::size_t>(place)] = {entry.child, entry.weight};
        }
        block = {};
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
}

}  // namespace treetop

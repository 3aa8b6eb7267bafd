#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "csr_flaw.hpp"
#include "level.hpp"
#include "node_trainer.hpp"
#include "require.hpp"

namespace treetop {
namespace {

struct Task {
    std::size_t level;
    NodeJob* job;
    std::int64_t first, last;  // blocks
    double work;
};

struct LevelState {
    std::vector<std::unique_ptr<NodeJob>> jobs;  // one per parent
    std::vector<float> biases;
    std::atomic<std::int64_t> left{0};           // jobs that are not done
};

TrainedLevel join(LevelState& state) {
    TrainedLevel level;
    level.chunks.push_back(0);
    level.rows.push_back(0);
    std::size_t rows = 0, entries = 0;
    for (const auto& job : state.jobs) {
        rows += job->chunk.features.size();
        entries += job->chunk.children.size();
    }
    level.features.reserve(rows);
    level.rows.reserve(rows + 1);
    level.children.reserve(entries);
    level.weights.reserve(entries);
    for (auto& job : state.jobs) {
        const Chunk chunk = std::move(job->chunk);
        const auto base = static_cast<std::int64_t>(level.children.size());
        level.features.insert(level.features.end(), chunk.features.begin(), chunk.features.end());
        for (const auto end : chunk.row_ends) level.rows.push_back(base + end);
        level.children.insert(level.children.end(), chunk.children.begin(), chunk.children.end());
        level.weights.insert(level.weights.end(), chunk.weights.begin(), chunk.weights.end());
        level.chunks.push_back(static_cast<std::int64_t>(level.features.size()));
    }
    level.biases = std::move(state.biases);
    state.jobs.clear();
    return level;
}

// Level after level, the largest nodes of each first. A large node is as many tasks as it has blocks, so that all
// threads share it; a smaller one is a single task. Levels overlap: nobody waits for the last node of a level.
std::vector<Task> tasks_of(std::vector<LevelState>& levels, int threads) {
    double total = 0.0;
    for (const auto& level : levels) {
        for (const auto& job : level.jobs) total += job->work();
    }
    std::vector<Task> tasks;
    for (std::size_t t = 0; t < levels.size(); ++t) {
        std::vector<NodeJob*> jobs;
        for (const auto& job : levels[t].jobs) {
            if (job->blocks() > 0) jobs.push_back(job.get());
        }
        std::stable_sort(jobs.begin(), jobs.end(), [](auto* a, auto* b) { return a->work() > b->work(); });
        levels[t].left = static_cast<std::int64_t>(jobs.size());
        for (NodeJob* job : jobs) {
            const bool large = threads > 1 && job->work() > total / (16.0 * threads);
            const std::int64_t step = large ? 1 : job->blocks();
            const double work = job->work() * static_cast<double>(step) / static_cast<double>(job->blocks());
            for (std::int64_t first = 0; first < job->blocks(); first += step) {
                tasks.push_back({t, job, first, first + step, work});
            }
        }
    }
    return tasks;
}

}  // namespace

void check(const LevelProblem& problem) {
    require(ascending(problem.offsets), "offsets must ascend from 0");
    require(problem.shortlist.rows == static_cast<std::int64_t>(problem.offsets.size()) - 1,
            "one shortlist per parent is needed");
    require(problem.positives.rows == problem.offsets.back(), "one row of positives per child is needed");
    require(problem.positives.rows <= std::numeric_limits<std::int32_t>::max(), "a level has too many nodes");
    const std::int64_t rows = problem.rows->rows();
    require(problem.positives.cols == rows && problem.shortlist.cols == rows, "documents and rows disagree");
    const std::span costs(problem.positives.data, static_cast<std::size_t>(problem.positives.nnz()));
    require(std::ranges::all_of(costs, [](float cost) { return cost >= 0.0F; }), "costs must be 0 or more");
    const SolverOptions& solver = problem.solver;
    require(solver.cost_positive > 0.0 && solver.cost_negative > 0.0, "costs of errors must be above 0");
    require(solver.l1 <= 0.0 || solver.loss == Loss::squared_hinge || solver.loss == Loss::logistic,
            "only squared hinge and logistic loss have an L1 penalty");
}

void train_levels(std::span<const LevelProblem> problems, int threads, const OnLevel& on_level, Monitor* monitor) {
    if (problems.empty()) return;
    for ([[maybe_unused]] const auto& problem : problems) {
        TREETOP_ASSERT((check(problem), true) && problem.rows == problems.front().rows);
        TREETOP_ASSERT(sound(problem.positives) && sound(problem.shortlist));
    }
    threads = std::max(threads, 1);
    std::vector<LevelState> levels(problems.size());
    for (std::size_t t = 0; t < problems.size(); ++t) {
        const auto parents = static_cast<std::int64_t>(problems[t].offsets.size()) - 1;
        for (std::int64_t p = 0; p < parents; ++p) levels[t].jobs.push_back(std::make_unique<NodeJob>(problems[t], p));
        levels[t].biases.assign(static_cast<std::size_t>(problems[t].offsets.back()), 0.0F);
    }
    const std::vector<Task> tasks = tasks_of(levels, threads);
    const auto total = static_cast<std::int64_t>(std::accumulate(
        tasks.begin(), tasks.end(), 0.0, [](double sum, const Task& task) { return sum + task.work; }));

    std::vector<bool> delivered(levels.size(), false);
    const auto deliver = [&] {
        for (std::size_t t = 0; t < levels.size(); ++t) {
            if (delivered[t] || levels[t].left.load() > 0) continue;
            delivered[t] = true;
            on_level(t, join(levels[t]));
        }
    };
    NodePool pool;
    std::vector<Trainer> trainers;
    trainers.reserve(static_cast<std::size_t>(threads));
    for (int worker = 0; worker < threads; ++worker) trainers.emplace_back(*problems.front().rows);
    std::atomic<std::int64_t> done{0};
    // The calling thread lets Ctrl-C through also in the middle of a long block.
    if (monitor != nullptr) trainers.front().lanes.heartbeat = [&] { monitor->report(done.load(), total); };
    parallel_for(static_cast<std::int64_t>(tasks.size()), threads, [&](std::int64_t index, int worker) {
        const Task& task = tasks[static_cast<std::size_t>(index)];
        LevelState& level = levels[task.level];
        if (task.job->run(task.first, task.last, trainers[static_cast<std::size_t>(worker)], pool,
                          level.biases.data())) {
            --level.left;
        }
        const auto finished = done.fetch_add(static_cast<std::int64_t>(task.work)) + static_cast<std::int64_t>(task.work);
        if (worker != 0) return;
        deliver();
        if (monitor != nullptr) monitor->report(finished, total);
    });
    deliver();
}

TrainedLevel train_level(const LevelProblem& problem, int threads, Monitor* monitor) {
    TrainedLevel trained;
    train_levels({&problem, 1}, threads, [&](std::size_t, TrainedLevel&& level) { trained = std::move(level); },
                 monitor);
    return trained;
}

}  // namespace treetop

// All threading is here. Work is a count of independent tasks; a free thread takes the next one, so results must
// not depend on which thread runs a task: every task writes its own place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace treetop {

// Receives progress, on the calling thread only. May throw to stop the work (Ctrl-C does).
class Monitor {
public:
    virtual ~Monitor() = default;
    virtual void report(std::int64_t done, std::int64_t total) = 0;
};

// Runs task(index, worker) for index in [0, count) on at most `threads` threads, the caller among them.
// `worker` in [0, threads) names the thread, for scratch space. The first exception stops the rest.
template <typename Task>
void parallel_for(std::int64_t count, int threads, Task&& task, Monitor* monitor = nullptr) {
    std::atomic<std::int64_t> next{0};
    std::atomic<std::int64_t> done{0};
    std::atomic<bool> stop{false};
    std::exception_ptr error;
    std::mutex error_guard;

    auto work = [&](int worker) {
        try {
            for (;;) {
                if (stop.load(std::memory_order_relaxed)) return;
                const std::int64_t index = next.fetch_add(1);
                if (index >= count) return;
                task(index, worker);
                const std::int64_t finished = done.fetch_add(1) + 1;
                if (monitor != nullptr && worker == 0) monitor->report(finished, count);
            }
        } catch (...) {
            std::scoped_lock lock(error_guard);
            if (!error) error = std::current_exception();
            stop = true;
        }
    };

    const int helpers = static_cast<int>(std::min<std::int64_t>(std::max(threads, 1), count)) - 1;
    std::vector<std::thread> crew;
    crew.reserve(static_cast<std::size_t>(std::max(helpers, 0)));
    try {
        for (int worker = 1; worker <= helpers; ++worker) crew.emplace_back(work, worker);
    } catch (const std::system_error&) {
        // The system grants no more threads: the existing ones do the work.
    }
    work(0);
    for (auto& thread : crew) thread.join();
    if (error) std::rethrow_exception(error);
}

// parallel_for over [0, count) in fixed blocks: task(begin, end, worker). Block borders never depend on `threads`.
template <typename Task>
void parallel_blocks(std::int64_t count, std::int64_t block, int threads, Task&& task, Monitor* monitor = nullptr) {
    const std::int64_t blocks = (count + block - 1) / block;
    parallel_for(
        blocks, threads,
        [&](std::int64_t index, int worker) {
            task(index * block, std::min(count, (index + 1) * block), worker);
        },
        monitor);
}

}  // namespace treetop

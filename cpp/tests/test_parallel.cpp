#include "check.hpp"
#include "parallel.hpp"

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

struct CountingMonitor : treetop::Monitor {
    std::int64_t last = 0;
    void report(std::int64_t done, std::int64_t total) override {
        CHECK(done <= total);
        CHECK(done > last);
        last = done;
    }
};

}  // namespace

int main() {
    for (const int threads : {1, 2, 5}) {
        std::vector<int> seen(1000);
        CountingMonitor monitor;
        treetop::parallel_for(1000, threads, [&](std::int64_t i, int) { seen[static_cast<std::size_t>(i)] += 1; }, &monitor);
        CHECK(std::accumulate(seen.begin(), seen.end(), 0) == 1000);
        CHECK(*std::min_element(seen.begin(), seen.end()) == 1);

        bool caught = false;
        try {
            treetop::parallel_for(100, threads, [](std::int64_t i, int) {
                if (i == 7) throw std::runtime_error("seven");
            });
        } catch (const std::runtime_error&) {
            caught = true;
        }
        CHECK(caught);
    }
    std::atomic<std::int64_t> total{0};
    treetop::parallel_blocks(10, 4, 2, [&](std::int64_t begin, std::int64_t end, int) { total += end - begin; });
    CHECK(total == 10);
    treetop::parallel_for(0, 4, [](std::int64_t, int) { CHECK(false); });
    return finish();
}

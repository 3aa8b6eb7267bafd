#include "check.hpp"
#include "csr_flaw.hpp"

#include <cstdint>
#include <vector>

using treetop::CsrFlaw;
using treetop::Order;

namespace {

CsrFlaw flaw(const std::vector<std::int64_t>& pointers, const std::vector<std::int32_t>& columns, std::int64_t cols,
             Order order = Order::ascending, int threads = 1) {
    const treetop::Pattern matrix{static_cast<std::int64_t>(pointers.size()) - 1, cols, pointers.data(),
                                  columns.data()};
    return treetop::csr_flaw(matrix, static_cast<std::int64_t>(columns.size()), order, threads);
}

bool is(const CsrFlaw& found, CsrFlaw::Kind kind, std::int64_t row) { return found.kind == kind && found.row == row; }

}  // namespace

int main() {
    using enum CsrFlaw::Kind;
    CHECK(is(flaw({0}, {}, 0), none, 0));
    CHECK(is(flaw({0, 2, 2, 3}, {0, 4, 2}, 5), none, 0));
    CHECK(is(flaw({0, 1}, {0, 7}, 5), none, 0));  // entries behind the last row are never read
    CHECK(is(flaw({1, 2}, {0, 1}, 5), pointers, 0));
    CHECK(is(flaw({0, 2, 1000000, 4, 6}, {0, 1, 0, 1, 0, 1}, 9), pointers, 1));
    CHECK(is(flaw({0, 2, 1}, {0, 1}, 9), pointers, 1));
    CHECK(is(flaw({0, -1, 1}, {0}, 9), pointers, 0));
    CHECK(is(flaw({0, 1, 3}, {0, 1, 5}, 5), columns, 1));
    CHECK(is(flaw({0, 1, 3}, {0, -1, 3}, 5), columns, 1));
    CHECK(is(flaw({0, 2, 4}, {0, 1, 3, 3}, 5), order, 1));
    CHECK(is(flaw({0, 2}, {3, 1}, 5), order, 0));
    CHECK(is(flaw({0, 2, 4}, {3, 1, 2, 2}, 5, Order::any), none, 0));
    CHECK(is(flaw({0, 2, 3}, {3, 1, 5}, 5, Order::any), columns, 1));

    // The first flawed row is named, whatever the number of threads.
    std::vector<std::int64_t> starts{0};
    std::vector<std::int32_t> ids;
    for (int row = 0; row < 50000; ++row) {
        ids.push_back(row == 30000 || row == 9000 || row == 45000 ? 8 : 7);
        starts.push_back(static_cast<std::int64_t>(ids.size()));
    }
    for (int threads : {1, 2, 5}) CHECK(is(flaw(starts, ids, 8, Order::ascending, threads), columns, 9000));
    return finish();
}

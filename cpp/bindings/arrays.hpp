// What crosses between numpy and the core: read-only views in, owned arrays out, no copies either way. Checks of what
// comes in are functions of the core, so that its fuzzers pass the same doors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "csr.hpp"
#include "csr_flaw.hpp"
#include "parallel.hpp"
#include "ranking.hpp"
#include "require.hpp"

namespace treetop::bindings {

namespace nb = nanobind;

template <typename T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
std::span<const T> span_of(const In<T>& array) {
    return {array.data(), array.size()};
}

// Hands a vector's memory to numpy.
template <typename T>
Out<T> give(std::vector<T>&& values) {
    auto* owned = new std::vector<T>(std::move(values));
    nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<T>*>(memory); });
    return Out<T>(owned->data(), {owned->size()}, owner);
}

// Every matrix that enters the core comes through here, and is checked: no kernel trusts arrays from outside.
inline Pattern pattern(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, std::int64_t cols,
                       Order order = Order::ascending, int threads = 1) {
    return checked_pattern(span_of(indptr), span_of(indices), cols, order, threads);
}

inline Csr csr(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<float>& data,
               std::int64_t cols, Order order = Order::ascending, int threads = 1) {
    return checked_csr(span_of(indptr), span_of(indices), span_of(data), cols, order, threads);
}

inline auto give_ranking(Ranking&& ranking) {
    return std::make_tuple(give(std::move(ranking.indptr)), give(std::move(ranking.ids)),
                           give(std::move(ranking.scores)));
}

// Calls a Python function with (done, total) while the core works without the GIL, and lets Ctrl-C through.
class PythonMonitor : public Monitor {
public:
    explicit PythonMonitor(nb::object callback) : callback_(std::move(callback)) {}

    void report(std::int64_t done, std::int64_t total) override {
        const auto now = std::chrono::steady_clock::now();
        if (done < total && now - last_ < std::chrono::milliseconds(100)) return;
        last_ = now;
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!callback_.is_none()) callback_(done, total);
    }

private:
    nb::object callback_;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace treetop::bindings

// What crosses between numpy and the core: read-only views in, owned arrays out, no copies either way.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "csr.hpp"
#include "csr_flaw.hpp"
#include "parallel.hpp"
#include "ranking.hpp"

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

constexpr std::int64_t kAnyColumn = std::int64_t{1} << 31;  // where no kernel relies on the number of columns

inline const char* name_of(CsrFlaw::Kind kind) {
    switch (kind) {
        case CsrFlaw::Kind::none: return "none";
        case CsrFlaw::Kind::pointers: return "pointers";
        case CsrFlaw::Kind::columns: return "columns";
        case CsrFlaw::Kind::order: return "order";
    }
    return "";
}

// Every matrix that enters the core comes through here, and is checked: no kernel trusts arrays from outside.
inline Pattern pattern(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, std::int64_t cols,
                       Order order = Order::ascending, int threads = 1) {
    if (indptr.size() == 0) throw std::invalid_argument("indptr must have at least one entry");
    Pattern view;
    view.rows = static_cast<std::int64_t>(indptr.size()) - 1;
    view.cols = cols;
    view.indptr = indptr.data();
    view.indices = indices.data();
    const CsrFlaw flaw = csr_flaw(view, static_cast<std::int64_t>(indices.size()), order, threads);
    if (flaw.kind != CsrFlaw::Kind::none) {
        throw std::invalid_argument("a matrix is not valid: the " + std::string(name_of(flaw.kind)) + " of row " +
                                    std::to_string(flaw.row));
    }
    return view;
}

inline Csr csr(const In<std::int64_t>& indptr, const In<std::int32_t>& indices, const In<float>& data,
               std::int64_t cols, Order order = Order::ascending, int threads = 1) {
    Csr view;
    static_cast<Pattern&>(view) = pattern(indptr, indices, cols, order, threads);
    if (data.size() != indices.size()) throw std::invalid_argument("data and indices differ in length");
    view.data = data.data();
    return view;
}

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

// Whether pointers into another array ascend from 0.
inline bool ascending(const In<std::int64_t>& values) {
    return values.size() > 0 && values.data()[0] == 0 && std::is_sorted(values.data(), values.data() + values.size());
}

inline std::int64_t last_of(const In<std::int64_t>& values) { return values.data()[values.size() - 1]; }

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

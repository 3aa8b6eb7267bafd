#include "arrays.hpp"
#include "hits.hpp"

namespace treetop::bindings {

void bind_metrics(nb::module_& module) {
    module.def(
        "hits",
        [](In<std::int64_t> truth_indptr, In<std::int32_t> truth_indices, In<std::int64_t> indptr,
           In<std::int32_t> indices, int threads) {
            const Pattern truth = pattern(truth_indptr, truth_indices, kAnyColumn, Order::ascending, threads);
            const Pattern predicted = pattern(indptr, indices, kAnyColumn, Order::any, threads);
            check(truth, predicted);
            std::vector<std::uint8_t> right;
            {
                nb::gil_scoped_release free;
                right = hits(truth, predicted, threads);
            }
            return give(std::move(right));
        },
        nb::arg("truth_indptr"), nb::arg("truth_indices"), nb::arg("indptr"), nb::arg("indices"),
        nb::arg("threads"));
}

}  // namespace treetop::bindings

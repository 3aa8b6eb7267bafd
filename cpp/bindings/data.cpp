#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "xmc_text.hpp"

namespace treetop::bindings {
namespace {

const char* name_of_fault(XmcFaultKind kind) {
    switch (kind) {
        case XmcFaultKind::label_list: return "label list";
        case XmcFaultKind::label_range: return "label range";
        case XmcFaultKind::feature: return "feature";
        case XmcFaultKind::feature_range: return "feature range";
    }
    return "";
}

}  // namespace

void bind_data(nb::module_& module) {
    nb::class_<XmcFault>(module, "XmcFault")
        .def_prop_ro("kind", [](const XmcFault& fault) { return name_of_fault(fault.kind); })
        .def_ro("line", &XmcFault::line)
        .def_ro("begin", &XmcFault::begin)
        .def_ro("end", &XmcFault::end);

    module.def(
        "csr_flaw",
        [](In<std::int64_t> indptr, In<std::int32_t> indices, std::int64_t columns, bool ascending,
           int threads) -> std::optional<std::pair<std::string, std::int64_t>> {
            require(indptr.size() > 0, "indptr must have at least one entry");
            Pattern matrix;
            matrix.rows = static_cast<std::int64_t>(indptr.size()) - 1;
            matrix.cols = columns;
            matrix.indptr = indptr.data();
            matrix.indices = indices.data();
            CsrFlaw flaw;
            {
                nb::gil_scoped_release free;
                flaw = csr_flaw(matrix, static_cast<std::int64_t>(indices.size()),
                                ascending ? Order::ascending : Order::any, threads);
            }
            if (flaw.kind == CsrFlaw::Kind::none) return std::nullopt;
            return std::pair{std::string(name_of(flaw.kind)), flaw.row};
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("columns"), nb::arg("ascending"), nb::arg("threads"));

    module.def(
        "parse_xmc",
        [](In<std::uint8_t> text, std::int64_t rows, std::int64_t features, std::int64_t labels,
           int threads) -> nb::object {
            check(XmcSizes{rows, features, labels});
            XmcRows parsed;
            std::optional<XmcFault> fault;
            {
                nb::gil_scoped_release free;
                fault = parse_xmc({reinterpret_cast<const char*>(text.data()), text.size()}, {rows, features, labels},
                                  threads, parsed);
            }
            if (fault) return nb::cast(*fault);
            return nb::make_tuple(give(std::move(parsed.indptr)), give(std::move(parsed.indices)),
                                  give(std::move(parsed.data)), give(std::move(parsed.label_indptr)),
                                  give(std::move(parsed.labels)));
        },
        nb::arg("text"), nb::arg("rows"), nb::arg("features"), nb::arg("labels"), nb::arg("threads"));

    module.def(
        "print_xmc",
        [](In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, In<std::int64_t> label_indptr,
           In<std::int32_t> labels, std::int64_t begin, std::int64_t end, int threads) {
            const Csr features = csr(indptr, indices, data, kAnyColumn, Order::ascending, threads);
            const Pattern given = pattern(label_indptr, labels, kAnyColumn, Order::ascending, threads);
            check(features, given, begin, end);
            std::vector<char> text;
            {
                nb::gil_scoped_release free;
                text = print_xmc(features, given, begin, end, threads);
            }
            return nb::bytes(text.data(), text.size());
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("label_indptr"), nb::arg("labels"),
        nb::arg("begin"), nb::arg("end"), nb::arg("threads"));
}

}  // namespace treetop::bindings

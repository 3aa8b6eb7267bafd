#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arrays.hpp"
#include "neighbours.hpp"

namespace treetop::bindings {
namespace {

// Keeps the arrays of an index alive (they may be memory-mapped) and checks them.
class BoundNeighbours {
public:
    BoundNeighbours(std::int64_t features, In<float> scales, In<std::int64_t> starts, In<std::uint16_t> members,
                    In<std::int8_t> codes, In<std::int32_t> frequent, In<std::int64_t> rows, In<std::uint8_t> slots,
                    In<std::int8_t> row_codes, In<float> norms, In<std::int64_t> label_indptr,
                    In<std::int32_t> label_ids, std::int64_t labels)
        : scales_(scales), starts_(starts), members_(members), codes_(codes), frequent_(frequent), rows_(rows),
          slots_(slots), row_codes_(row_codes), norms_(norms), label_indptr_(label_indptr), label_ids_(label_ids) {
        index_ = checked_index({span_of(scales), span_of(starts), span_of(members), span_of(codes), span_of(frequent),
                                span_of(rows), span_of(slots), span_of(row_codes), span_of(norms)},
                               features);
        labels_ = pattern(label_indptr, label_ids, labels, Order::any);
        check(index_, labels_);
        require(labels_.nnz() == static_cast<std::int64_t>(label_ids.size()), "labels and documents disagree");
    }

    auto nearest(In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t count, bool skip_own,
                 int threads, nb::object progress) const {
        const Csr queries = csr(indptr, indices, data, index_.features, Order::ascending, threads);
        check(Vote{.neighbours = count});
        PythonMonitor monitor(std::move(progress));
        Ranking ranking;
        {
            nb::gil_scoped_release free;
            ranking = treetop::nearest(index_, queries, count, skip_own, threads, &monitor);
        }
        return give_ranking(std::move(ranking));
    }

    auto vote(In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t neighbours, double power,
              std::int64_t k, bool skip_own, int threads, nb::object progress) const {
        const Csr queries = csr(indptr, indices, data, index_.features, Order::ascending, threads);
        const Vote options{neighbours, power, k, skip_own};
        check(options);
        PythonMonitor monitor(std::move(progress));
        Ranking ranking;
        {
            nb::gil_scoped_release free;
            ranking = treetop::vote(index_, labels_, queries, options, threads, &monitor);
        }
        return give_ranking(std::move(ranking));
    }

private:
    In<float> scales_;
    In<std::int64_t> starts_;
    In<std::uint16_t> members_;
    In<std::int8_t> codes_;
    In<std::int32_t> frequent_;
    In<std::int64_t> rows_;
    In<std::uint8_t> slots_;
    In<std::int8_t> row_codes_;
    In<float> norms_;
    In<std::int64_t> label_indptr_;
    In<std::int32_t> label_ids_;
    NeighbourIndex index_;
    Pattern labels_;
};

}  // namespace

void bind_neighbours(nb::module_& module) {
    module.def(
        "index_neighbours",
        [](In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t features, int threads,
           nb::object progress) {
            const Csr documents = csr(indptr, indices, data, features, Order::ascending, threads);
            PythonMonitor monitor(std::move(progress));
            OwnedNeighbourIndex index;
            {
                nb::gil_scoped_release free;
                index = index_neighbours(documents, threads, &monitor);
            }
            nb::dict arrays;
            arrays["scales"] = give(std::move(index.scales));
            arrays["starts"] = give(std::move(index.starts));
            arrays["members"] = give(std::move(index.members));
            arrays["codes"] = give(std::move(index.codes));
            arrays["frequent"] = give(std::move(index.frequent));
            arrays["rows"] = give(std::move(index.rows));
            arrays["slots"] = give(std::move(index.slots));
            arrays["row_codes"] = give(std::move(index.row_codes));
            arrays["norms"] = give(std::move(index.norms));
            return arrays;
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("threads"),
        nb::arg("progress").none() = nb::none());

    nb::class_<BoundNeighbours>(module, "Neighbours")
        .def(nb::init<std::int64_t, In<float>, In<std::int64_t>, In<std::uint16_t>, In<std::int8_t>,
                      In<std::int32_t>, In<std::int64_t>, In<std::uint8_t>, In<std::int8_t>, In<float>,
                      In<std::int64_t>, In<std::int32_t>, std::int64_t>(),
             nb::arg("features"), nb::kw_only(), nb::arg("scales"), nb::arg("starts"), nb::arg("members"),
             nb::arg("codes"), nb::arg("frequent"), nb::arg("rows"), nb::arg("slots"), nb::arg("row_codes"),
             nb::arg("norms"), nb::arg("label_indptr"), nb::arg("label_ids"), nb::arg("labels"))
        .def("nearest", &BoundNeighbours::nearest, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
             nb::arg("count"), nb::arg("skip_own"), nb::arg("threads"), nb::arg("progress").none() = nb::none())
        .def("vote", &BoundNeighbours::vote, nb::arg("indptr"), nb::arg("indices"), nb::arg("data"),
             nb::arg("neighbours"), nb::arg("power"), nb::arg("k"), nb::arg("skip_own"), nb::arg("threads"),
             nb::arg("progress").none() = nb::none());
}

}  // namespace treetop::bindings

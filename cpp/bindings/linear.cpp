#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "arrays.hpp"
#include "clustering.hpp"
#include "label_graph.hpp"
#include "label_vectors.hpp"
#include "level.hpp"
#include "ranking.hpp"
#include "simd.hpp"
#include "shared_rows.hpp"

namespace treetop::bindings {
namespace {

// Keeps the training matrix alive together with what was built from it.
class BoundRows {
public:
    BoundRows(In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t features, int threads,
              std::optional<In<float>> weights)
        : indptr_(indptr), indices_(indices), data_(data), rows_(made(csr(indptr, indices, data, features, Order::ascending, threads), threads)) {
        if (weights) rows_.weigh(span_of(*weights));
    }

    const SharedRows& rows() const { return rows_; }

private:
    static SharedRows made(const Csr& features, int threads) {
        nb::gil_scoped_release free;
        return SharedRows(features, threads);
    }

    In<std::int64_t> indptr_;
    In<std::int32_t> indices_;
    In<float> data_;
    SharedRows rows_;
};

// Keeps the arrays of a level's training problem alive, and checks them.
class BoundProblem {
public:
    BoundProblem(const BoundRows& rows, In<std::int64_t> positive_indptr, In<std::int32_t> positives,
                 In<float> positive_costs, In<std::int64_t> shortlist_indptr, In<std::int32_t> shortlist,
                 In<std::int64_t> offsets, bool last, double threshold, std::uint64_t seed, const SolverOptions& solver)
        : positive_indptr_(positive_indptr), positives_(positives), positive_costs_(positive_costs),
          shortlist_indptr_(shortlist_indptr), shortlist_(shortlist) {
        problem_.rows = &rows.rows();
        problem_.positives = csr(positive_indptr, positives, positive_costs, problem_.rows->rows());
        problem_.shortlist = pattern(shortlist_indptr, shortlist, problem_.rows->rows());
        problem_.offsets.assign(offsets.data(), offsets.data() + offsets.size());
        problem_.last = last;
        problem_.threshold = threshold;
        problem_.seed = seed;
        problem_.solver = solver;
        check(problem_);
    }

    const LevelProblem& problem() const { return problem_; }

private:
    In<std::int64_t> positive_indptr_;
    In<std::int32_t> positives_;
    In<float> positive_costs_;
    In<std::int64_t> shortlist_indptr_;
    In<std::int32_t> shortlist_;
    LevelProblem problem_;
};

Loss loss_named(const std::string& name) {
    if (name == "squared-hinge") return Loss::squared_hinge;
    if (name == "hinge") return Loss::hinge;
    if (name == "huber-hinge") return Loss::huber_hinge;
    if (name == "logistic") return Loss::logistic;
    throw std::invalid_argument("unknown loss " + name);
}

auto give_clusters(Clusters&& clusters) {
    std::vector<Out<std::int64_t>> offsets;
    for (auto& level : clusters.offsets) offsets.push_back(give(std::move(level)));
    return std::make_tuple(give(std::move(clusters.order)), std::move(offsets));
}

}  // namespace

void bind_linear(nb::module_& module) {
    module.def(
        "aggregate",
        [](In<std::int64_t> label_indptr, In<std::int32_t> documents, In<float> label_weights,
           In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t features,
           std::int64_t size, std::int32_t min_documents, bool unit, int threads, nb::object progress) {
            const Csr x = csr(indptr, indices, data, features, Order::ascending, threads);
            const Csr labels = csr(label_indptr, documents, label_weights, x.rows, Order::ascending, threads);
            PythonMonitor monitor(progress);
            OwnedCsr result;
            {
                nb::gil_scoped_release free;
                result = aggregate(labels, x, {size, min_documents, unit}, threads, &monitor);
            }
            return std::make_tuple(give(std::move(result.indptr)), give(std::move(result.indices)),
                                   give(std::move(result.data)));
        },
        nb::arg("label_indptr"), nb::arg("documents"), nb::arg("label_weights"), nb::arg("indptr"),
        nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("size"), nb::arg("min_documents"),
        nb::arg("unit"), nb::arg("threads"), nb::arg("progress").none() = nb::none());

    module.def(
        "label_graph",
        [](In<std::int64_t> label_indptr, In<std::int32_t> documents, In<std::int64_t> document_indptr,
           In<std::int32_t> labels, int hops, double restart, int neighbours, std::uint64_t seed, int threads,
           nb::object progress) {
            const auto count = static_cast<std::int64_t>(label_indptr.size()) - 1;
            const Pattern labels_of = pattern(document_indptr, labels, count, Order::ascending, threads);
            const Pattern documents_of = pattern(label_indptr, documents, labels_of.rows, Order::ascending, threads);
            const WalkOptions options{hops, restart, neighbours, seed, threads};
            check(documents_of, labels_of, options);
            PythonMonitor monitor(progress);
            OwnedCsr graph;
            {
                nb::gil_scoped_release free;
                graph = label_graph(documents_of, labels_of, options, &monitor);
            }
            return std::make_tuple(give(std::move(graph.indptr)), give(std::move(graph.indices)),
                                   give(std::move(graph.data)));
        },
        nb::arg("label_indptr"), nb::arg("documents"), nb::arg("document_indptr"), nb::arg("labels"), nb::arg("hops"),
        nb::arg("restart"), nb::arg("neighbours"), nb::arg("seed"), nb::arg("threads"),
        nb::arg("progress").none() = nb::none());

    module.def(
        "balanced_clusters",
        [](In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t features,
           std::vector<std::int64_t> sizes, int iterations, bool spherical, std::uint64_t seed, int threads,
           nb::object progress) {
            const Csr vectors = csr(indptr, indices, data, features, Order::ascending, threads);
            const ClusterOptions options{iterations, spherical, seed, threads};
            check(options);
            PythonMonitor monitor(progress);
            Clusters clusters;
            {
                nb::gil_scoped_release free;
                clusters = balanced_clusters(vectors, sizes, options, &monitor);
            }
            return give_clusters(std::move(clusters));
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("sizes"),
        nb::arg("iterations"), nb::arg("spherical"), nb::arg("seed"), nb::arg("threads"),
        nb::arg("progress").none() = nb::none());

    module.def(
        "unbalanced_clusters",
        [](In<std::int64_t> indptr, In<std::int32_t> indices, In<float> data, std::int64_t features, int branching,
           std::int64_t leaf_size, int depth, int iterations, bool spherical, std::uint64_t seed, int threads,
           nb::object progress) {
            const Csr vectors = csr(indptr, indices, data, features, Order::ascending, threads);
            const ClusterOptions options{iterations, spherical, seed, threads};
            check(options);
            PythonMonitor monitor(progress);
            Clusters clusters;
            {
                nb::gil_scoped_release free;
                clusters = unbalanced_clusters(vectors, branching, leaf_size, depth, options, &monitor);
            }
            return give_clusters(std::move(clusters));
        },
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("branching"),
        nb::arg("leaf_size"), nb::arg("depth"), nb::arg("iterations"), nb::arg("spherical"), nb::arg("seed"),
        nb::arg("threads"), nb::arg("progress").none() = nb::none());

    nb::class_<BoundRows>(module, "SharedRows")
        .def(nb::init<In<std::int64_t>, In<std::int32_t>, In<float>, std::int64_t, int, std::optional<In<float>>>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("threads"),
             nb::arg("weights").none() = nb::none());

    module.def("simd_sets", &kernel_sets);
    module.def("simd", [] { return std::string(kernels().name); });
    module.def(
        "use_simd",
        [](const std::string& name) { require(use_kernels(name), "this machine does not support that instruction set"); },
        nb::arg("name"));

    nb::class_<SolverOptions>(module, "SolverOptions")
        .def(
            "__init__",
            [](SolverOptions* self, double cost_positive, double cost_negative, double bias, double tolerance,
               int max_passes, const std::string& loss, double l1, bool refit) {
                new (self) SolverOptions{cost_positive, cost_negative,    bias, tolerance,
                                         max_passes,    loss_named(loss), l1,   refit};
            },
            nb::kw_only(), nb::arg("cost_positive"), nb::arg("cost_negative"), nb::arg("bias"), nb::arg("tolerance"),
            nb::arg("max_passes"), nb::arg("loss"), nb::arg("l1"), nb::arg("refit"));

    nb::class_<BoundProblem>(module, "LevelProblem")
        .def(nb::init<const BoundRows&, In<std::int64_t>, In<std::int32_t>, In<float>, In<std::int64_t>,
                      In<std::int32_t>, In<std::int64_t>, bool, double, std::uint64_t, const SolverOptions&>(),
             nb::keep_alive<1, 2>(), nb::arg("rows"), nb::arg("positive_indptr"), nb::arg("positives"),
             nb::arg("positive_costs"), nb::arg("shortlist_indptr"), nb::arg("shortlist"), nb::arg("offsets"),
             nb::arg("last"), nb::arg("threshold"), nb::arg("seed"), nb::arg("solver"));

    module.def(
        "train_levels",
        [](std::vector<const BoundProblem*> problems, int threads, nb::object on_level, nb::object progress) {
            std::vector<LevelProblem> tasks;
            for (const auto* problem : problems) {
                tasks.push_back(problem->problem());
                require(tasks.back().rows == tasks.front().rows, "all levels must have the same rows");
            }
            PythonMonitor monitor(progress);
            nb::gil_scoped_release free;
            train_levels(
                tasks, threads,
                [&](std::size_t number, TrainedLevel&& level) {
                    nb::gil_scoped_acquire hold;
                    on_level(number, std::make_tuple(give(std::move(level.chunks)), give(std::move(level.features)),
                                                     give(std::move(level.rows)), give(std::move(level.children)),
                                                     give(std::move(level.weights)), give(std::move(level.biases))));
                },
                &monitor);
        },
        nb::arg("problems"), nb::arg("threads"), nb::arg("on_level"), nb::arg("progress").none() = nb::none());

    module.def(
        "ranking_flaw",
        [](In<std::int64_t> indptr, In<std::int32_t> ids, In<float> scores,
           std::int64_t labels) -> std::optional<std::string> {
            const std::string flaw = ranking_flaw(span_of(indptr), span_of(ids), span_of(scores), labels);
            return flaw.empty() ? std::nullopt : std::optional(flaw);
        },
        nb::arg("indptr"), nb::arg("ids"), nb::arg("scores"), nb::arg("labels"));

    module.def(
        "combine",
        [](std::vector<std::tuple<In<std::int64_t>, In<std::int32_t>, In<float>>> rankings,
           std::vector<double> weights, std::int64_t k, int threads) {
            std::vector<Csr> lists;
            for (const auto& [indptr, ids, scores] : rankings) {
                lists.push_back(csr(indptr, ids, scores, kAnyColumn, Order::any, threads));
            }
            check_lists(lists, weights, k);
            Ranking ranking;
            {
                nb::gil_scoped_release free;
                ranking = combine(lists, weights, k, threads);
            }
            return give_ranking(std::move(ranking));
        },
        nb::arg("rankings"), nb::arg("weights"), nb::arg("k"), nb::arg("threads"));
}

}  // namespace treetop::bindings

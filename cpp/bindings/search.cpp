#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <string>

#include "arrays.hpp"
#include "beam_search.hpp"
#include "checked_level.hpp"
#include "merge_weights.hpp"
#include "packed_level.hpp"

namespace treetop::bindings {
namespace {

// Keeps the arrays of a level alive (they may be memory-mapped) and checks them.
class BoundLevel {
public:
    BoundLevel(In<std::int64_t> offsets, In<std::int64_t> chunks, In<std::int64_t> starts, In<std::uint32_t> buckets,
               In<std::uint8_t> bytes, In<std::uint8_t> tables, In<float> codes, In<float> biases,
               std::int64_t features, bool last)
        : offsets_(offsets), chunks_(chunks), starts_(starts), buckets_(buckets), bytes_(bytes), tables_(tables),
          codes_(codes), biases_(biases) {
        level_ = checked_level({span_of(offsets), span_of(chunks), span_of(starts), span_of(buckets), span_of(bytes),
                                span_of(tables), span_of(codes), span_of(biases)},
                               features, last);
    }

    const Level& level() const { return level_; }

private:
    In<std::int64_t> offsets_, chunks_, starts_;
    In<std::uint32_t> buckets_;
    In<std::uint8_t> bytes_, tables_;
    In<float> codes_, biases_;
    Level level_;
};

PlainLevel plain_level(const In<std::int64_t>& offsets, const In<std::int64_t>& chunks,
                       const In<std::int32_t>& features, const In<std::int64_t>& rows,
                       const In<std::int32_t>& children, const In<float>& weights) {
    return {span_of(offsets), span_of(chunks), span_of(features), span_of(rows), span_of(children), span_of(weights)};
}

Transform transform_named(const std::string& name) {
    Transform transform;
    std::string rest = name;
    if (rest == "raw") {
        transform.kind = Transform::Kind::raw;
        return transform;
    }
    if (rest.starts_with("log-")) {
        transform.log = true;
        rest = rest.substr(4);
    } else if (rest.ends_with("-noisy-or")) {
        transform.noisy_or = true;
        rest = rest.substr(0, rest.size() - 9);
    }
    if (rest == "sigmoid") {
        transform.kind = Transform::Kind::sigmoid;
    } else if (rest.size() == 8 && rest[0] == 'l' && rest.ends_with("-hinge") && rest[1] >= '1' && rest[1] <= '6') {
        transform.power = rest[1] - '0';
    } else {
        throw std::invalid_argument("unknown score transform " + name);
    }
    return transform;
}

}  // namespace

void bind_search(nb::module_& module) {
    module.def(
        "pack_level",
        [](In<std::int64_t> offsets, In<std::int64_t> chunks, In<std::int32_t> features, In<std::int64_t> rows,
           In<std::int32_t> children, In<float> weights, std::int64_t n_features, bool coded, int threads,
           std::optional<In<float>> codes, std::optional<std::int64_t> dense) {
            const PlainLevel level = plain_level(offsets, chunks, features, rows, children, weights);
            const auto older = codes ? span_of(*codes) : std::span<const float>{};
            check(level, n_features);
            check_packing(n_features, dense.value_or(0), coded, older);
            PackedArrays packed;
            {
                nb::gil_scoped_release free;
                const std::int64_t last = dense ? *dense : dense_features(level, n_features, coded);
                packed = pack(level, n_features, last, coded, threads, older);
            }
            return std::make_tuple(give(std::move(packed.chunks)), give(std::move(packed.starts)),
                                   give(std::move(packed.buckets)), give(std::move(packed.bytes)),
                                   give(std::move(packed.tables)), give(std::move(packed.codes)));
        },
        nb::arg("offsets"), nb::arg("chunks"), nb::arg("features"), nb::arg("rows"), nb::arg("children"),
        nb::arg("weights"), nb::arg("n_features"), nb::arg("coded"), nb::arg("threads"),
        nb::arg("codes").none() = nb::none(), nb::arg("dense").none() = nb::none());

    nb::class_<BoundLevel>(module, "Level")
        .def(nb::init<In<std::int64_t>, In<std::int64_t>, In<std::int64_t>, In<std::uint32_t>, In<std::uint8_t>,
                      In<std::uint8_t>, In<float>, In<float>, std::int64_t, bool>(),
             nb::arg("offsets"), nb::arg("chunks"), nb::arg("starts"), nb::arg("buckets"), nb::arg("bytes"),
             nb::arg("tables"), nb::arg("codes"), nb::arg("biases"), nb::arg("n_features"), nb::arg("last"))
        .def(
            "unpack",
            [](const BoundLevel& self, std::optional<In<std::int64_t>> parents) {
                const auto chosen = parents ? span_of(*parents) : std::span<const std::int64_t>{};
                check_parents(self.level(), chosen);
                Triples triples;
                {
                    nb::gil_scoped_release free;
                    triples = parents ? unpack(self.level(), chosen) : unpack(self.level());
                }
                return std::make_tuple(give(std::move(triples.nodes)), give(std::move(triples.features)),
                                       give(std::move(triples.weights)));
            },
            nb::arg("parents").none() = nb::none());

    module.def(
        "merge_weights",
        [](const BoundLevel& bound, In<std::int64_t> parents, In<std::uint8_t> replaced, In<std::int64_t> offsets,
           In<std::int64_t> chunks, In<std::int32_t> features, In<std::int64_t> rows, In<std::int32_t> children,
           In<float> weights, In<std::int32_t> names, std::int64_t n_features, int threads) {
            const Level& level = bound.level();
            const Replacement replacement{span_of(parents), span_of(replaced),
                                          plain_level(offsets, chunks, features, rows, children, weights),
                                          span_of(names)};
            check(level, replacement, n_features);
            TrainedLevel merged;
            {
                nb::gil_scoped_release free;
                merged = merge_weights(level, replacement, n_features, threads);
            }
            return std::make_tuple(give(std::move(merged.chunks)), give(std::move(merged.features)),
                                   give(std::move(merged.rows)), give(std::move(merged.children)),
                                   give(std::move(merged.weights)));
        },
        nb::arg("level"), nb::arg("parents"), nb::arg("replaced"), nb::arg("offsets"), nb::arg("chunks"),
        nb::arg("features"), nb::arg("rows"), nb::arg("children"), nb::arg("weights"), nb::arg("names"),
        nb::arg("n_features"), nb::arg("threads"));

    module.def(
        "beam_search",
        [](std::vector<const BoundLevel*> levels, std::vector<std::string> transforms, std::vector<double> discounts,
           std::vector<std::int64_t> beams, std::optional<In<std::int32_t>> labels, In<std::int64_t> indptr,
           In<std::int32_t> indices, In<float> data, std::int64_t features, int threads, nb::object progress,
           std::optional<std::tuple<In<std::int64_t>, In<std::int32_t>, In<float>>> start) {
            require(transforms.size() == levels.size() && discounts.size() == levels.size(),
                    "one transform, discount and beam size per level are needed");
            std::vector<Level> views;
            std::vector<Transform> kinds;
            for (std::size_t t = 0; t < levels.size(); ++t) {
                views.push_back(levels[t]->level());
                kinds.push_back(transform_named(transforms[t]));
                kinds.back().discount = discounts[t];
            }
            const Csr queries = csr(indptr, indices, data, features, Order::ascending, threads);
            Search task{views, kinds, beams, {}};
            if (labels) task.labels = span_of(*labels);
            Csr above;
            if (start) {
                require(!views.empty(), "a search needs at least one level");
                const auto& [nodes_indptr, nodes, scores] = *start;
                above = csr(nodes_indptr, nodes, scores, views.front().parents, Order::any, threads);
                task.start = &above;
            }
            check(task, queries);
            require(!labels || labels->size() > 0 || views.back().nodes() == 0, "one label per leaf is needed");
            PythonMonitor monitor(progress);
            Ranking ranking;
            {
                nb::gil_scoped_release free;
                ranking = search(task, queries, threads, &monitor);
            }
            return give_ranking(std::move(ranking));
        },
        nb::arg("levels"), nb::arg("transforms"), nb::arg("discounts"), nb::arg("beams"), nb::arg("labels").none(),
        nb::arg("indptr"), nb::arg("indices"), nb::arg("data"), nb::arg("features"), nb::arg("threads"),
        nb::arg("progress").none() = nb::none(), nb::arg("start").none() = nb::none());
}

}  // namespace treetop::bindings

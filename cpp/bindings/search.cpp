#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string>

#include "arrays.hpp"
#include "beam_search.hpp"
#include "merge_weights.hpp"
#include "packed_level.hpp"

namespace treetop::bindings {
namespace {

// Keeps the arrays of a level alive (they may be memory-mapped) and checks that their sizes fit together. What the
// buckets hold is checked where it is read: a damaged file gives an error or wrong scores, never an out-of-bounds read.
class BoundLevel {
public:
    BoundLevel(In<std::int64_t> offsets, In<std::int64_t> chunks, In<std::int64_t> starts, In<std::uint32_t> buckets,
               In<std::uint8_t> bytes, In<std::uint8_t> tables, In<float> codes, In<float> biases,
               std::int64_t features, bool last)
        : offsets_(offsets), chunks_(chunks), starts_(starts), buckets_(buckets), bytes_(bytes), tables_(tables),
          codes_(codes), biases_(biases) {
        require(features >= 0 && features <= INT32_MAX, "the number of features is out of range");
        require(ascending(offsets) && ascending(chunks) && ascending(starts), "level pointers must ascend from 0");
        require(chunks.size() == offsets.size() && starts.size() == offsets.size(),
                "a level needs one chunk per parent");
        require(last_of(chunks) == static_cast<std::int64_t>(buckets.size()), "chunks and buckets disagree");
        require(last_of(starts) + static_cast<std::int64_t>(Level::kSlack) == static_cast<std::int64_t>(bytes.size()),
                "starts and bytes disagree");
        require(codes.size() == 0 || codes.size() == 256, "a level has 256 codes or none");
        require(last_of(offsets) == static_cast<std::int64_t>(biases.size()), "offsets and biases disagree");
        require(last_of(offsets) <= INT32_MAX, "a level has too many nodes");

        level_.parents = static_cast<std::int64_t>(offsets.size()) - 1;
        level_.offsets = offsets.data();
        level_.chunks = chunks.data();
        level_.starts = starts.data();
        level_.buckets = buckets.data();
        level_.bytes = bytes.data();
        level_.tables = tables.data();
        const std::int64_t weights = level_.nodes() * static_cast<std::int64_t>(codes.size() == 0 ? sizeof(float) : 1);
        level_.dense = weights == 0 ? 0 : static_cast<std::int64_t>(tables.size()) / weights;
        level_.features = features;
        require(level_.dense * weights == static_cast<std::int64_t>(tables.size()) && level_.dense <= features,
                "the tables of dense features have the wrong size");
        level_.codes = codes.size() == 0 ? nullptr : codes.data();
        level_.biases = biases.data();
        level_.feature_bits = feature_bits(features);
        level_.last = last;
        for (std::int64_t p = 0; p < level_.parents; ++p) {
            level_.widest = std::max(level_.widest, level_.width(p));
            const std::int64_t pointers = level_.chunks[p + 1] - level_.chunks[p];
            const auto buckets_of_p = static_cast<std::uint64_t>(std::max<std::int64_t>(pointers - 1, 1));
            require(pointers != 1 && std::has_single_bit(buckets_of_p) &&
                        std::countr_zero(buckets_of_p) <= level_.feature_bits,
                    "a chunk has the wrong number of buckets");
        }
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
                       const In<std::int32_t>& children, const In<float>& weights, std::int64_t n_features) {
    require(ascending(offsets) && ascending(chunks) && ascending(rows), "level pointers must ascend from 0");
    require(chunks.size() == offsets.size(), "a level needs one chunk per parent");
    require(last_of(chunks) == static_cast<std::int64_t>(features.size()), "chunks and features disagree");
    require(rows.size() == features.size() + 1, "rows and features disagree");
    require(last_of(rows) == static_cast<std::int64_t>(children.size()), "rows and children disagree");
    require(children.size() == weights.size(), "children and weights disagree");
    const PlainLevel level{span_of(offsets), span_of(chunks),   span_of(features),
                           span_of(rows),    span_of(children), span_of(weights)};
    for (const auto feature : level.features) {
        require(feature >= 0 && feature < n_features, "a feature is out of range");
    }
    for (std::size_t p = 0; p + 1 < level.offsets.size(); ++p) {
        const std::int64_t width = level.offsets[p + 1] - level.offsets[p];
        const auto first = static_cast<std::size_t>(level.rows[static_cast<std::size_t>(level.chunks[p])]);
        const auto end = static_cast<std::size_t>(level.rows[static_cast<std::size_t>(level.chunks[p + 1])]);
        for (const auto child : level.children.subspan(first, end - first)) {
            require(child >= 0 && child < width, "a child lies outside its parent");
        }
    }
    return level;
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
            const PlainLevel level = plain_level(offsets, chunks, features, rows, children, weights, n_features);
            require(!dense || (*dense >= 0 && *dense <= n_features), "there are more dense features than features");
            require(!codes || (coded && codes->size() == 256), "a coded level has 256 codes");
            PackedArrays packed;
            {
                nb::gil_scoped_release free;
                const std::int64_t last = dense ? *dense : dense_features(level, n_features, coded);
                packed = pack(level, n_features, last, coded, threads,
                              codes ? span_of(*codes) : std::span<const float>{});
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
                const auto inside = [&](std::int64_t parent) { return 0 <= parent && parent < self.level().parents; };
                require(std::all_of(chosen.begin(), chosen.end(), inside), "a parent is out of range");
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
            const Replacement replacement{
                span_of(parents), span_of(replaced),
                plain_level(offsets, chunks, features, rows, children, weights, n_features), span_of(names)};
            const auto inside = [&](std::int64_t parent) { return 0 <= parent && parent < level.parents; };
            require(std::all_of(replacement.parents.begin(), replacement.parents.end(), inside),
                    "a parent is out of range");
            require(parents.size() + 1 == offsets.size(), "one chunk of new weights per parent is needed");
            require(static_cast<std::int64_t>(replaced.size()) == level.nodes(), "one mark per node is needed");
            require(static_cast<std::int64_t>(names.size()) == last_of(offsets), "one name per new node is needed");
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
            require(!levels.empty(), "a search needs at least one level");
            require(transforms.size() == levels.size() && discounts.size() == levels.size() &&
                        beams.size() == levels.size(),
                    "one transform, discount and beam size per level are needed");
            std::vector<Level> views;
            std::vector<Transform> kinds;
            for (std::size_t t = 0; t < levels.size(); ++t) {
                views.push_back(levels[t]->level());
                kinds.push_back(transform_named(transforms[t]));
                kinds.back().discount = discounts[t];
                require(beams[t] >= 1, "beam sizes must be at least 1");
                require(views[t].features == features, "the input has a different number of features than the model");
                require(t == 0 ? start || views[t].parents == 1 : views[t].parents == views[t - 1].nodes(),
                        "the levels are inconsistent");
            }
            require(!labels || static_cast<std::int64_t>(labels->size()) == views.back().nodes(),
                    "one label per leaf is needed");
            const Csr queries = csr(indptr, indices, data, features, Order::ascending, threads);
            Search task{views, kinds, beams, labels ? labels->data() : nullptr};
            Csr above;
            if (start) {
                const auto& [nodes_indptr, nodes, scores] = *start;
                above = csr(nodes_indptr, nodes, scores, views.front().parents, Order::any, threads);
                require(above.rows == queries.rows && ascending(nodes_indptr), "every query needs nodes to start from");
                const auto inside = [&](std::int32_t node) { return 0 <= node && node < above.cols; };
                require(std::all_of(nodes.data(), nodes.data() + nodes.size(), inside), "a parent is out of range");
                task.start = &above;
            }
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

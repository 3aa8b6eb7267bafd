#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "tfidf.hpp"

namespace treetop::bindings {
namespace {

struct TfidfOptions {
    Analysis analysis;
    Weighting weighting;
};

Analyzer analyzer_named(const std::string& name) {
    if (name == "word") return Analyzer::word;
    if (name == "blank") return Analyzer::blank;
    if (name == "char") return Analyzer::chars;
    if (name == "char_wb") return Analyzer::char_wb;
    throw std::invalid_argument("analyzer must be word, blank, char or char_wb");
}

Idf idf_named(const std::optional<std::string>& name) {
    if (!name) return Idf::none;
    if (*name == "sklearn") return Idf::sklearn;
    if (*name == "pecos") return Idf::pecos;
    throw std::invalid_argument("idf must be sklearn, pecos or None");
}

Norm norm_named(const std::optional<std::string>& name) {
    if (!name) return Norm::none;
    if (*name == "l1") return Norm::l1;
    if (*name == "l2") return Norm::l2;
    throw std::invalid_argument("norm must be l1, l2 or None");
}

std::span<const char> chars_of(const In<std::uint8_t>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Texts texts_of(const In<std::uint8_t>& buffer, const In<std::int64_t>& offsets) {
    const Texts texts{std::string_view(reinterpret_cast<const char*>(buffer.data()), buffer.size()), span_of(offsets)};
    check(texts);
    return texts;
}

nb::tuple give_rows(SparseRows&& rows) {
    return nb::make_tuple(give(std::move(rows.indptr)), give(std::move(rows.indices)), give(std::move(rows.data)));
}

Out<std::uint8_t> give_bytes(std::vector<char>&& bytes) {
    auto* owned = new std::vector<char>(std::move(bytes));
    nb::capsule owner(owned, [](void* memory) noexcept { delete static_cast<std::vector<char>*>(memory); });
    return Out<std::uint8_t>(reinterpret_cast<std::uint8_t*>(owned->data()), {owned->size()}, owner);
}

// A model in arrays that Python owns; holding them keeps them alive.
struct BoundTfidf {
    TfidfOptions options;
    In<std::uint8_t> word_bytes;
    In<std::int64_t> word_offsets;
    In<std::uint64_t> word_slots;
    In<std::uint32_t> word_nodes, gram_slots;
    In<float> idf;

    TfidfView view() const {
        return {chars_of(word_bytes), span_of(word_offsets), span_of(word_slots),
                span_of(word_nodes),  span_of(gram_slots),   span_of(idf)};
    }
};

}  // namespace

void bind_text(nb::module_& module) {
    nb::class_<TfidfOptions>(module, "TfidfOptions")
        .def(
            "__init__",
            [](TfidfOptions* self, const std::string& analyzer, bool lowercase, int shortest_word, int first_line,
               int ngram_min, int ngram_max, const std::optional<std::string>& idf, bool smooth_idf, bool sublinear_tf,
               bool binary, double saturation, const std::optional<std::string>& norm) {
                const Analysis analysis{analyzer_named(analyzer), lowercase,     ngram_min,
                                        ngram_max,                shortest_word, first_line};
                check(analysis);
                new (self) TfidfOptions{
                    analysis,
                    {idf_named(idf), smooth_idf, sublinear_tf, binary, saturation, norm_named(norm)},
                };
            },
            nb::kw_only(), nb::arg("analyzer"), nb::arg("lowercase"), nb::arg("shortest_word"), nb::arg("first_line"),
            nb::arg("ngram_min"), nb::arg("ngram_max"), nb::arg("idf").none(), nb::arg("smooth_idf"),
            nb::arg("sublinear_tf"), nb::arg("binary"), nb::arg("saturation"), nb::arg("norm").none());

    nb::class_<BoundTfidf>(module, "Tfidf")
        .def(
            "__init__",
            [](BoundTfidf* self, const TfidfOptions& options, In<std::uint8_t> word_bytes,
               In<std::int64_t> word_offsets, In<std::uint64_t> word_slots, In<std::uint32_t> word_nodes,
               In<std::uint32_t> gram_slots, In<float> idf) {
                new (self) BoundTfidf{options, word_bytes, word_offsets, word_slots, word_nodes, gram_slots, idf};
                check(self->view());
            },
            nb::arg("options"), nb::kw_only(), nb::arg("word_bytes"), nb::arg("word_offsets"),
            nb::arg("word_slots"), nb::arg("word_nodes"), nb::arg("gram_slots"), nb::arg("idf"))
        .def(
            "transform",
            [](const BoundTfidf& self, In<std::uint8_t> buffer, In<std::int64_t> offsets, int threads,
               nb::object progress) {
                PythonMonitor monitor(std::move(progress));
                const Texts texts = texts_of(buffer, offsets);
                SparseRows rows;
                {
                    nb::gil_scoped_release free;
                    rows = transform_tfidf(self.view(), texts, self.options.analysis, self.options.weighting, threads,
                                           &monitor);
                }
                return give_rows(std::move(rows));
            },
            nb::arg("buffer"), nb::arg("offsets"), nb::arg("threads"), nb::arg("progress") = nb::none())
        .def(
            "words",
            [](const BoundTfidf& self, In<std::uint8_t> buffer, In<std::int64_t> offsets, std::int32_t first,
               std::int32_t unknown, std::int64_t longest, int threads, nb::object progress) {
                const WordNumbers numbers{first, unknown, longest};
                check(numbers, self.view());
                PythonMonitor monitor(std::move(progress));
                const Texts texts = texts_of(buffer, offsets);
                WordRows rows;
                {
                    nb::gil_scoped_release free;
                    rows = word_rows(self.view(), texts, self.options.analysis, numbers, threads,
                                     &monitor);
                }
                return nb::make_tuple(give(std::move(rows.indptr)), give(std::move(rows.words)));
            },
            nb::arg("buffer"), nb::arg("offsets"), nb::arg("first"), nb::arg("unknown"), nb::arg("longest"),
            nb::arg("threads"), nb::arg("progress") = nb::none())
        .def("terms", [](const BoundTfidf& self) {
            TermTexts terms;
            {
                nb::gil_scoped_release free;
                terms = spell_terms(self.view(), self.options.analysis);
            }
            return nb::make_tuple(give_bytes(std::move(terms.bytes)), give(std::move(terms.offsets)));
        });

    module.def(
        "fit_tfidf",
        [](const TfidfOptions& options, In<std::uint8_t> buffer, In<std::int64_t> offsets, double min_count,
           double max_count, std::int64_t max_features, bool with_rows, int threads, nb::object progress) {
            PythonMonitor monitor(std::move(progress));
            const Texts texts = texts_of(buffer, offsets);
            TfidfFit fit;
            {
                nb::gil_scoped_release free;
                fit = fit_tfidf(texts, options.analysis, options.weighting, {min_count, max_count, max_features},
                                with_rows, threads, &monitor);
            }
            nb::dict arrays;
            arrays["word_bytes"] = give_bytes(std::move(fit.model.word_bytes));
            arrays["word_offsets"] = give(std::move(fit.model.word_offsets));
            arrays["word_slots"] = give(std::move(fit.model.word_slots));
            arrays["word_nodes"] = give(std::move(fit.model.word_nodes));
            arrays["gram_slots"] = give(std::move(fit.model.gram_slots));
            arrays["idf"] = give(std::move(fit.model.idf));
            nb::object rows = nb::none();
            if (with_rows) rows = give_rows(std::move(fit.rows));
            return nb::make_tuple(arrays, rows);
        },
        nb::arg("options"), nb::arg("buffer"), nb::arg("offsets"), nb::kw_only(), nb::arg("min_count"),
        nb::arg("max_count"), nb::arg("max_features"), nb::arg("with_rows"), nb::arg("threads"),
        nb::arg("progress") = nb::none());
}

}  // namespace treetop::bindings

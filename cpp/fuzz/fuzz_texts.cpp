// Any bytes as texts: cutting, counting and weighting; and the vocabulary they give, whole and damaged.
#include <algorithm>
#include <string>

#include "input.hpp"
#include "tfidf.hpp"

namespace {

using namespace treetop;

Analysis analysis_of(Input& input) {
    Analysis analysis;
    analysis.analyzer = static_cast<Analyzer>(input.below(4));
    analysis.lowercase = !input.once_in(4);
    analysis.ngram_min = 1 + static_cast<int>(input.below(3));
    analysis.ngram_max = analysis.ngram_min + static_cast<int>(input.once_in(16) ? input.below(260) : input.below(4));
    analysis.shortest_word = static_cast<int>(input.below(4));
    analysis.first_line = 1 + static_cast<int>(input.below(3));
    return analysis;
}

Weighting weighting_of(Input& input) {
    Weighting weighting;
    weighting.idf = static_cast<Idf>(input.below(3));
    weighting.norm = static_cast<Norm>(input.below(3));
    weighting.smooth_idf = input.once_in(2);
    weighting.sublinear_tf = input.once_in(2);
    weighting.binary = input.once_in(2);
    weighting.saturation = static_cast<double>(input.below(3));
    return weighting;
}

void damage_model(Input& input, TfidfModel& model) {
    switch (input.below(6)) {
        case 0: damage(input, model.word_bytes); break;
        case 1: damage(input, model.word_offsets); break;
        case 2: damage(input, model.word_slots); break;
        case 3: damage(input, model.word_nodes); break;
        case 4: damage(input, model.gram_slots); break;
        default: damage(input, model.idf);
    }
}

void expect_rows(const SparseRows& rows, std::int64_t texts, std::size_t terms) {
    EXPECT(static_cast<std::int64_t>(rows.indptr.size()) == texts + 1);
    EXPECT(rows.indptr.back() == static_cast<std::int64_t>(rows.indices.size()));
    for (const auto id : rows.indices) EXPECT(0 <= id && static_cast<std::size_t>(id) < terms);
}

void run(Input& input) {
    const bool many = input.once_in(256);  // enough for two threads to count
    const int threads = many ? 2 : 1;
    const Analysis analysis = analysis_of(input);
    const Weighting weighting = weighting_of(input);
    const Limits limits{static_cast<double>(input.below(3)), 1e300, input.below(20)};
    const int attacks = static_cast<int>(input.below(4));
    std::string damaging;  // bytes that say how the model is damaged
    for (int i = 0; i < 12; ++i) damaging.push_back(static_cast<char>(input.value<std::uint8_t>()));

    std::vector<char> bytes(input.text().begin(), input.text().end());
    if (many) {
        bytes.resize(std::min<std::size_t>(bytes.size(), 64));
        const std::vector<char> once = bytes;
        for (int again = 0; again < 70; ++again) {
            bytes.push_back('\0');
            bytes.insert(bytes.end(), once.begin(), once.end());
        }
        bytes.shrink_to_fit();
    }
    std::vector<std::int64_t> offsets{0};
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (bytes[at] == '\0') offsets.push_back(static_cast<std::int64_t>(at));
    }
    offsets.push_back(static_cast<std::int64_t>(bytes.size()));
    Input more(reinterpret_cast<const std::uint8_t*>(damaging.data()), damaging.size());
    if (more.once_in(8)) damage(more, offsets);
    const Texts texts{{bytes.data(), bytes.size()}, offsets};
    check(analysis);
    check(texts);

    TfidfFit fit = fit_tfidf(texts, analysis, weighting, limits, true, threads);
    expect_rows(fit.rows, texts.size(), fit.model.idf.size());
    const SparseRows again = transform_tfidf(view(fit.model), texts, analysis, weighting, threads);
    EXPECT(again.indptr == fit.rows.indptr && again.indices == fit.rows.indices);

    for (int i = 0; i < attacks; ++i) damage_model(more, fit.model);
    const TfidfView model = view(fit.model);
    check(model);
    expect_rows(transform_tfidf(model, texts, analysis, weighting, threads), texts.size(), model.idf.size());
    const WordNumbers numbers{more.once_in(8) ? more.value<std::int32_t>() : 2, static_cast<std::int32_t>(more.below(3)) - 1,
                              more.below(8)};
    check(numbers, model);
    const WordRows words = word_rows(model, texts, analysis, numbers, threads);
    EXPECT(words.indptr.back() == static_cast<std::int64_t>(words.words.size()));
    EXPECT(spell_terms(model, analysis).offsets.size() == model.idf.size() + 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

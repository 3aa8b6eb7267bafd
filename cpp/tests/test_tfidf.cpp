#include "check.hpp"
#include "tfidf.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

struct Buffer {
    std::string bytes;
    std::vector<std::int64_t> offsets{0};

    explicit Buffer(const std::vector<std::string>& texts) {
        for (const std::string& text : texts) {
            bytes += text;
            offsets.push_back(static_cast<std::int64_t>(bytes.size()));
        }
    }
    treetop::Texts view() const { return {bytes, offsets}; }
};

std::vector<std::string> terms_of(const treetop::TfidfModel& model, const treetop::Analysis& analysis) {
    const treetop::TermTexts terms = treetop::spell_terms(treetop::view(model), analysis);
    std::vector<std::string> list;
    for (std::size_t i = 0; i + 1 < terms.offsets.size(); ++i) {
        list.emplace_back(terms.bytes.begin() + terms.offsets[i], terms.bytes.begin() + terms.offsets[i + 1]);
    }
    return list;
}

std::vector<std::string> fitted_terms(const std::vector<std::string>& texts, const treetop::Analysis& analysis,
                                      const treetop::Limits& limits = {}) {
    const Buffer buffer(texts);
    return terms_of(treetop::fit_tfidf(buffer.view(), analysis, {}, limits, false, 1).model, analysis);
}

using Terms = std::vector<std::string>;

}  // namespace

int main() {
    using treetop::Analyzer;
    // Words of two characters or more; İ becomes i and a dot above, which is no word character.
    CHECK(fitted_terms({"A bC_9, d'Ef \xC4\xB0xy"}, {}) == (Terms{"bc_9", "ef", "xy"}));
    // A capital sigma at the end of a word and within one.
    CHECK(fitted_terms({"\xCE\xA3\xCE\x91\xCE\xA3"}, {}) == Terms{"\xCF\x83\xCE\xB1\xCF\x82"});
    CHECK(fitted_terms({"aa bb cc"}, {Analyzer::word, true, 2, 3}) == (Terms{"aa bb", "aa bb cc", "bb cc"}));
    CHECK(fitted_terms({"a-\tB  c"}, {Analyzer::blank, false, 1, 2, 1}) == (Terms{"a-\tB", "a-\tB c", "c"}));
    CHECK(fitted_terms({"a \n b"}, {Analyzer::chars, true, 2, 3}) == (Terms{" b", "a ", "a b"}));
    CHECK(fitted_terms({"ab c"}, {Analyzer::char_wb, true, 4, 5}) == (Terms{" ab ", " c "}));
    // Bytes that are not UTF-8, cut short at the end too, are replacement characters.
    CHECK(fitted_terms({"\xFFx\xC3"}, {Analyzer::chars, true, 1, 1}) == (Terms{"x", "\xEF\xBF\xBD"}));
    CHECK(fitted_terms({"cc bb aa cc", "bb aa dd"}, {}, {1, 9, 2}) == (Terms{"aa", "bb"}));
    CHECK(fitted_terms({"cc bb aa cc", "bb aa dd"}, {}, {1, 1, 0}) == (Terms{"cc", "dd"}));
    CHECK(fitted_terms({}, {}).empty());

    const Buffer texts({"red red apple", "green apple", "green tea"});
    const treetop::Weighting raw{.norm = treetop::Norm::none};
    const treetop::TfidfFit fit = treetop::fit_tfidf(texts.view(), {}, raw, {}, true, 2);
    const auto common = static_cast<float>(std::log(4.0 / 3) + 1), rare = static_cast<float>(std::log(2.0) + 1);
    CHECK(fit.model.idf == (std::vector<float>{common, common, rare, rare}));
    CHECK(fit.rows.indptr == (std::vector<std::int64_t>{0, 2, 4, 6}));
    CHECK(fit.rows.indices == (std::vector<std::int32_t>{0, 2, 0, 1, 1, 3}));
    CHECK(fit.rows.data == (std::vector<float>{common, 2 * rare, common, common, common, rare}));
    const treetop::SparseRows again = treetop::transform_tfidf(treetop::view(fit.model), texts.view(), {}, raw, 1);
    CHECK(again.indptr == fit.rows.indptr && again.indices == fit.rows.indices && again.data == fit.rows.data);

    // Several blocks of texts, so that several threads count and their lexicons are merged.
    std::vector<std::string> many;
    for (int i = 0; i < 500; ++i) {
        std::string text;
        for (int k = 0; k < 20; ++k) text += "w" + std::to_string((i * k + k * k) % 61) + " ";
        many.push_back(text);
    }
    const Buffer buffer(many);
    const treetop::Analysis trigrams{Analyzer::word, true, 1, 3};
    const treetop::TfidfFit one = treetop::fit_tfidf(buffer.view(), trigrams, {}, {2, 400, 900}, true, 1);
    const treetop::TfidfFit four = treetop::fit_tfidf(buffer.view(), trigrams, {}, {2, 400, 900}, true, 4);
    CHECK(one.model.idf.size() == 900);
    CHECK(terms_of(one.model, trigrams) == terms_of(four.model, trigrams));
    CHECK(one.model.gram_slots == four.model.gram_slots && one.model.word_slots == four.model.word_slots);
    CHECK(one.rows.indices == four.rows.indices && one.rows.data == four.rows.data);

    // Bytes that are not UTF-8 read as U+FFFD, whose three bytes take more room than they did.
    const std::string bad(1000, '\xFF');
    const treetop::Analysis blanks{Analyzer::blank, true, 1, 1, 1};
    std::string replaced;
    for (int i = 0; i < 1000; ++i) replaced += "\xEF\xBF\xBD";
    CHECK((fitted_terms({bad}, blanks) == Terms{replaced}));
    return finish();
}

// What the doors of the core reject: inputs with which a kernel would leave its arrays.
#include "beam_search.hpp"
#include "check.hpp"
#include "checked_level.hpp"
#include "clustering.hpp"
#include "csr_flaw.hpp"
#include "label_graph.hpp"
#include "level.hpp"
#include "matrix.hpp"
#include "merge_weights.hpp"
#include "neighbours.hpp"
#include "ranking.hpp"
#include "tfidf.hpp"
#include "xmc_text.hpp"

#include <cstdio>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace treetop;

template <typename Task>
bool rejects(Task&& task, const std::string& words) {
    try {
        task();
    } catch (const std::invalid_argument& error) {
        if (std::string(error.what()).find(words) != std::string::npos) return true;
        std::printf("says: %s\n", error.what());
    }
    return false;
}

void test_matrices() {
    const std::vector<std::int64_t> starts{0, 1};
    const std::vector<std::int32_t> ids{0};
    const std::vector<float> values{1.0F, 1.0F};
    const auto csr_of = [&](std::int64_t cols) { checked_csr(starts, ids, values, cols, Order::ascending, 1); };
    CHECK(rejects([&] { csr_of(-1); }, "columns is out of range"));
    CHECK(rejects([&] { csr_of(kAnyColumn + 1); }, "columns is out of range"));
    CHECK(rejects([&] { csr_of(1); }, "differ in length"));
    CHECK(rejects([&] { checked_pattern({}, ids, 1, Order::any, 1); }, "at least one entry"));
}

// One bucket for two features and two children.
void test_levels() {
    const std::vector<std::int64_t> offsets{0, 2}, chunks{0, 2}, rows{0, 1, 2};
    const std::vector<std::int32_t> features{0, 1}, children{0, 1};
    const std::vector<float> weights{1.0F, 2.0F}, biases{0.0F, 0.0F};
    const PlainLevel plain{offsets, chunks, features, rows, children, weights};
    check(plain, 2);
    const PackedArrays packed = pack(plain, 2, 0, false, 1);
    const LevelArrays whole{offsets,      packed.chunks, packed.starts, packed.buckets,
                            packed.bytes, packed.tables, packed.codes,  biases};
    CHECK(checked_level(whole, 2, true).nodes() == 2);
    const auto without = [&](auto&& change) {
        LevelArrays arrays = whole;
        change(arrays);
        checked_level(arrays, 2, true);
    };
    const auto drop_last = [](auto& values) { values = values.first(values.size() - 1); };
    CHECK(rejects([&] { without([&](auto& arrays) { drop_last(arrays.offsets); }); }, "one chunk per parent"));
    CHECK(rejects([&] { without([&](auto& arrays) { drop_last(arrays.buckets); }); }, "chunks and buckets"));
    CHECK(rejects([&] { without([&](auto& arrays) { drop_last(arrays.bytes); }); }, "starts and bytes"));
    CHECK(rejects([&] { without([&](auto& arrays) { arrays.bytes = {}; }); }, "starts and bytes"));
    CHECK(rejects([&] { without([&](auto& arrays) { drop_last(arrays.biases); }); }, "offsets and biases"));
    CHECK(rejects([&] { without([&](auto& arrays) { arrays.codes = biases; }); }, "256 codes"));
    CHECK(rejects([&] { without([&](auto& arrays) { arrays.tables = packed.bytes; }); }, "dense features"));
    CHECK(rejects([&] { checked_level(whole, kAnyColumn, true); }, "features is out of range"));
    const std::vector<std::int64_t> four{0, 4};  // three buckets, and where the last ends
    const std::vector<std::uint32_t> pointers{0, 4, 8, 8};
    CHECK(rejects([&] { without([&](auto& arrays) { arrays.chunks = four, arrays.buckets = pointers; }); },
                  "number of buckets"));

    const auto changed = [&](auto&& change) {
        PlainLevel level = plain;
        change(level);
        check(level, 2);
    };
    const std::vector<std::int32_t> beyond{0, 2};
    const std::vector<std::int64_t> endless{0, std::numeric_limits<std::int64_t>::max()}, descending{0, 2, 1};
    CHECK(rejects([&] { changed([&](auto& level) { level.children = beyond; }); }, "outside its parent"));
    CHECK(rejects([&] { changed([&](auto& level) { level.features = beyond; }); }, "feature is out of range"));
    CHECK(rejects([&] { changed([&](auto& level) { level.offsets = endless; }); }, "too many nodes"));
    CHECK(rejects([&] { changed([&](auto& level) { level.rows = descending; }); }, "must ascend"));
    CHECK(rejects([&] { check_packing(2, 3, false, {}); }, "more dense features"));
    CHECK(rejects([&] { check_packing(2, 0, false, weights); }, "256 codes"));

    const Level level = checked_level(whole, 2, true);
    const std::vector<std::int64_t> parents{0}, others{1};
    const std::vector<std::uint8_t> replaced{0, 1};
    const std::vector<std::int32_t> names{0, 1};
    check(level, Replacement{parents, replaced, plain, names}, 2);
    CHECK(rejects([&] { check(level, Replacement{others, replaced, plain, names}, 2); }, "parent is out of range"));
    CHECK(rejects([&] { check(level, Replacement{parents, {}, plain, names}, 2); }, "one mark per node"));
    CHECK(rejects([&] { check(level, Replacement{parents, replaced, plain, {}}, 2); }, "one name per new node"));

    Matrix texts;
    texts.cols = 2;
    texts.indptr = {0, 0};
    const Transform hinge;
    const std::int64_t beam = 1, none = 0;
    const auto searched = [&](const Transform& transform, const std::int64_t& most, std::int64_t cols) {
        texts.cols = cols;
        check(Search{{&level, 1}, {&transform, 1}, {&most, 1}, {}}, texts.view());
    };
    searched(hinge, beam, 2);
    Transform negative;
    negative.discount = -1.0;
    CHECK(rejects([&] { searched(negative, beam, 2); }, "discounts"));
    CHECK(rejects([&] { searched(hinge, none, 2); }, "beam sizes"));
    CHECK(rejects([&] { searched(hinge, beam, 3); }, "different number of features"));
    texts.cols = 2;
    CHECK(rejects([&] { check(Search{{&level, 1}, {&hinge, 1}, {&beam, 1}, std::span(names).first(1)}, texts.view()); },
                  "one label per leaf"));
}

// 200,000 documents make four blocks: four times 2^62 features would be none in 64 bits.
void test_neighbours() {
    const std::vector<float> scales(200'000);
    const std::vector<std::int64_t> starts{0}, rows(scales.size() + 1);
    NeighbourArrays arrays{scales, starts, {}, {}, {}, rows, {}, {}, scales};
    CHECK(checked_index(arrays, 0).documents == 200'000);
    CHECK(rejects([&] { checked_index(arrays, std::int64_t{1} << 62); }, "features is out of range"));
    CHECK(rejects([&] { checked_index(arrays, -1); }, "features is out of range"));
    CHECK(rejects([&] { checked_index(arrays, 1); }, "starts and features"));
    arrays.rows = starts;
    CHECK(rejects([&] { checked_index(arrays, 0); }, "norms, rows and scales"));
}

void test_label_graph() {
    // Label 0 has both documents, but document 1 does not know it.
    const std::vector<std::int64_t> documents_ptr{0, 2, 2}, labels_ptr{0, 2, 2};
    const std::vector<std::int32_t> documents{0, 1}, labels{0, 1};
    const Pattern documents_of{2, 2, documents_ptr.data(), documents.data()};
    const Pattern labels_of{2, 2, labels_ptr.data(), labels.data()};
    CHECK(rejects([&] { check(documents_of, labels_of, WalkOptions{}); }, "transpose"));
    CHECK(!transposes(documents_of, documents_of));
    const std::vector<std::int64_t> back_ptr{0, 1, 2};
    const std::vector<std::int32_t> back{0, 0};
    const Pattern right{2, 2, back_ptr.data(), back.data()};
    CHECK(transposes(documents_of, right) && transposes(right, documents_of));
    WalkOptions options;
    options.hops = -1;
    CHECK(rejects([&] { check(documents_of, right, options); }, "must not be negative"));
}

void test_training() {
    const Matrix texts{{0, 1, 2}, {0, 0}, {1.0F, 2.0F}, 1};
    SharedRows rows(texts.view(), 1);
    CHECK(rejects([&] { rows.weigh(std::vector{1.0F}); }, "one weight per row"));
    CHECK(rejects([&] { rows.weigh(std::vector{1.0F, 0.0F}); }, "above 0"));
    Matrix positives{{0, 1}, {0}, {1.0F}, 2};
    const Matrix shortlist{{0, 2}, {0, 1}, {}, 2};
    LevelProblem problem;
    problem.rows = &rows;
    problem.positives = positives.view();
    problem.shortlist = shortlist.view();
    problem.offsets = {0, 1};
    check(problem);
    const auto changed = [&](auto&& change) {
        LevelProblem other = problem;
        change(other);
        check(other);
    };
    CHECK(rejects([&] { changed([](auto& other) { other.offsets = {0, 2}; }); }, "one row of positives"));
    CHECK(rejects([&] { changed([](auto& other) { other.offsets = {0, 0, 1}; }); }, "one shortlist per parent"));
    CHECK(rejects([&] { changed([](auto& other) { other.shortlist.cols = 3; }); }, "documents and rows"));
    CHECK(rejects([&] { changed([](auto& other) { other.solver.cost_negative = 0.0; }); }, "above 0"));
    CHECK(rejects([&] { changed([](auto& other) { other.solver.l1 = 1, other.solver.loss = Loss::hinge; }); }, "L1"));
    positives.data[0] = -1.0F;
    CHECK(rejects([&] { check(problem); }, "costs must be 0 or more"));
}

void test_others() {
    CHECK(rejects([] { check(ClusterOptions{0}); }, "at least one iteration"));
    CHECK(rejects([] { check(XmcSizes{0, kAnyColumn + 1, 0}); }, "out of range"));
    CHECK(rejects([] { check(XmcSizes{0, 0, -1}); }, "out of range"));
    const Matrix empty;
    CHECK(rejects([&] { check(empty.view(), empty.view(), 0, 1); }, "row number"));
    CHECK(rejects([] { check(Analysis{Analyzer::word, true, 1, 256}); }, "n-gram lengths"));
    CHECK(rejects([] { check(Analysis{Analyzer::word, true, 1, 1, 0}); }, "at least one character"));
    const std::vector<float> idf(2);
    CHECK(rejects([&] { check(WordNumbers{std::numeric_limits<std::int32_t>::max()}, TfidfView{{}, {}, {}, {}, {}, idf}); },
                  "too large"));
    const std::vector<std::int64_t> backwards{0, 2, 1}, beyond{0, 9};
    CHECK(rejects([&] { check(Texts{"abc", backwards}); }, "ascend inside the buffer"));
    CHECK(rejects([&] { check(Texts{"abc", beyond}); }, "ascend inside the buffer"));
    CHECK(rejects([&] { check_lists({}, {}, 1); }, "one weight per ranking"));
    CHECK(ranking_flaw(backwards, std::vector{0}, std::vector{1.0F}, 1).starts_with("indptr must ascend"));
}

}  // namespace

int main() {
    test_matrices();
    test_levels();
    test_neighbours();
    test_label_graph();
    test_training();
    test_others();
    return finish();
}

// Training on matrices that the door accepts, and search through what was trained.
#include <algorithm>

#include "beam_search.hpp"
#include "checked_level.hpp"
#include "level.hpp"
#include "matrices.hpp"

namespace {

using namespace treetop;

SolverOptions solver_of(Input& input) {
    SolverOptions options;
    options.cost_positive = 0.25 + static_cast<double>(input.below(8));
    options.cost_negative = 0.25 + static_cast<double>(input.below(8));
    options.bias = static_cast<double>(input.below(3)) - 0.5;
    options.max_passes = static_cast<int>(input.below(6));
    options.loss = static_cast<Loss>(input.below(4));
    options.l1 = input.once_in(3) ? 0.125 : 0.0;
    options.refit = input.once_in(2);
    return options;
}

void run(Input& input) {
    const int threads = input.once_in(32) ? 2 : 1;
    Matrix texts = matrix_of(input, 1 + input.below(24), input.below(20));
    const auto rows = static_cast<std::int64_t>(texts.indptr.size()) - 1;
    const Csr features = entered(input, texts);
    SharedRows shared(features, threads);
    if (input.once_in(4)) {
        std::vector<float> weights(static_cast<std::size_t>(rows));
        for (auto& weight : weights) weight = 0.5F + std::abs(input.number());
        if (input.once_in(4)) damage(input, weights);
        shared.weigh(weights);
    }

    std::vector<std::int64_t> offsets{0};
    const bool wide = input.once_in(8);
    for (auto parents = input.below(4); parents > 0; --parents) {
        offsets.push_back(offsets.back() + (wide ? 14 + input.below(8) : input.below(5)));
    }
    Matrix positives = matrix_of(input, offsets.back(), rows);
    for (auto& cost : positives.data) cost = std::abs(cost);
    Matrix shortlist = matrix_of(input, static_cast<std::int64_t>(offsets.size()) - 1, rows);
    if (input.once_in(2)) {  // every document takes part for every label
        shortlist = {{0}, {}, {}, rows};
        for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
            for (std::int64_t row = 0; row < rows; ++row) shortlist.indices.push_back(static_cast<std::int32_t>(row));
            shortlist.indptr.push_back(static_cast<std::int64_t>(shortlist.indices.size()));
        }
        shortlist.data.resize(shortlist.indices.size());
    }
    if (input.once_in(8)) damage(input, offsets);

    LevelProblem problem;
    problem.rows = &shared;
    problem.positives = entered(input, positives);
    problem.shortlist = entered(input, shortlist);
    problem.offsets = offsets;
    problem.last = input.once_in(2);
    problem.threshold = static_cast<double>(input.below(4)) / 16.0;
    problem.seed = input.value<std::uint64_t>();
    problem.solver = solver_of(input);
    check(problem);
    const TrainedLevel trained = train_level(problem, threads);

    const PlainLevel plain{problem.offsets,  trained.chunks,   trained.features,
                           trained.rows,     trained.children, trained.weights};
    check(plain, features.cols);
    const bool coded = input.once_in(2);
    const std::int64_t dense = input.once_in(2) ? input.below(features.cols + 1)
                                                : dense_features(plain, features.cols, coded);
    const PackedArrays packed = pack(plain, features.cols, dense, coded, threads);
    const Level level = checked_level({problem.offsets, packed.chunks, packed.starts, packed.buckets, packed.bytes,
                                       packed.tables, packed.codes, trained.biases},
                                      features.cols, problem.last);
    if (level.parents != 1) return;
    const Transform transform{Transform::Kind::hinge, 3, input.once_in(4), false, 1.0};
    const std::int64_t beam = 1 + input.below(8);
    const Search task{{&level, 1}, {&transform, 1}, {&beam, 1}, {}};
    check(task, features);
    const Ranking ranking = search(task, features, threads);
    EXPECT(static_cast<std::int64_t>(ranking.indptr.size()) == rows + 1);
    for (const auto id : ranking.ids) EXPECT(0 <= id && id < level.nodes());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

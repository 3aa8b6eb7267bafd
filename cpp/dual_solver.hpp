// One-versus-all linear classifiers: L2-regularised squared hinge, solved by dual coordinate descent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace treetop {

struct SolverOptions {
    double cost_positive = 1.0;  // C_p
    double cost_negative = 1.0;  // C_n
    double bias = 1.0;           // value of the constant feature; <= 0: none
    double tolerance = 0.1;      // stop when the projected gradients spread no wider than this
    int max_passes = 100;
};

// The examples of one tree node with its features renumbered to 0..features-1, shared by all its children.
struct Examples {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> indices;
    std::vector<float> values;
    std::vector<double> squares;  // |x_i|^2
    std::int32_t features = 0;

    std::int64_t count() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
};

// min over w, beta of  1/2 |w|^2 + 1/2 beta^2 + sum_i C_i max(0, 1 - s_i (w.x_i + bias * beta))^2
class DualSolver {
public:
    // `active`: the examples of this label; `sign` (+1 / -1) and `cost` (C_i) are indexed like `active`.
    // The result stays valid until the next call: weights().size() == features, and the bias weight beta * bias.
    void solve(const Examples& examples, std::span<const std::int32_t> active, std::span<const signed char> sign,
               std::span<const double> cost, const SolverOptions& options, std::uint64_t seed);

    const std::vector<double>& weights() const { return weights_; }
    double bias() const { return bias_; }

private:
    std::vector<double> weights_;
    double bias_ = 0.0;
    std::vector<double> alpha_;
    std::vector<std::int32_t> order_;
};

}  // namespace treetop

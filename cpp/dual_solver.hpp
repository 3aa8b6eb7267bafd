// One-versus-all linear classifiers: L2-regularised hinge losses, solved by dual coordinate descent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "checked.hpp"

namespace treetop {

// Of a margin m = s (w.x + bias * beta), with the gap g = max(0, 1 - m).
enum class Loss {
    squared_hinge,  // g^2
    hinge,          // g
    huber_hinge,    // g^2 up to g = 1, the tangent 2g - 1 beyond: squared hinge, robust to outliers
    logistic,       // log(1 + e^-m)
};

struct SolverOptions {
    double cost_positive = 1.0;  // C_p
    double cost_negative = 1.0;  // C_n
    double bias = 1.0;           // value of the constant feature; <= 0: none
    double tolerance = 0.1;      // stop when the spread of the projected gradients is at most this
    int max_passes = 100;
    Loss loss = Loss::squared_hinge;
    double l1 = 0.0;     // strength of an L1 penalty that replaces the L2 one; 0: L2
    bool refit = false;  // after L1: solve again with L2 on the features that L1 has chosen
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

// For assertions, as are all solvers' inputs: whether rows, features and active examples are where they must be.
bool sound(const Examples& examples, std::span<const std::int32_t> active);

// min over w, beta of  1/2 |w|^2 + 1/2 beta^2 + sum_i C_i loss(s_i (w.x_i + bias * beta)),  one of the hinges.
//
// All three have the same dual, min over 0 <= alpha <= U of 1/2 |sum_i alpha_i s_i x_i|^2 + 1/2 sum_i D_i alpha_i^2
// - sum_i alpha_i, with D = 1 / (2C) for a quadratic piece (else 0) and U = the steepest slope of C * loss.
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

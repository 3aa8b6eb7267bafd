// A made-up problem of one label: sparse examples, half of them positive, some that take no part.
#pragma once

#include "dual_solver.hpp"
#include "random.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

struct Scattered {
    treetop::Examples examples;
    std::vector<std::int32_t> active;
    std::vector<signed char> sign;
    std::vector<double> cost;

    Scattered(int rows, int features, std::uint64_t seed) {
        examples.features = features;
        treetop::Random random(seed);
        for (int row = 0; row < rows; ++row) {
            double square = 0.0;
            for (int feature = 0; feature < features; ++feature) {
                if (random.below(3) != 0) continue;
                examples.indices.push_back(feature);
                examples.values.push_back(0.1F * static_cast<float>(1 + random.below(10)));
                square += std::pow(double{examples.values.back()}, 2);
            }
            examples.indptr.push_back(static_cast<std::int64_t>(examples.indices.size()));
            examples.squares.push_back(square);
            if (random.below(5) == 0) continue;
            active.push_back(row);
            sign.push_back(random.below(2) == 0 ? 1 : -1);
            cost.push_back(0.5 + 0.25 * random.below(4));
        }
    }

    double margin(std::size_t k, const std::vector<double>& weights, double bias) const {
        const auto row = static_cast<std::size_t>(active[k]);
        double product = bias;
        for (auto j = static_cast<std::size_t>(examples.indptr[row]); j < static_cast<std::size_t>(examples.indptr[row + 1]); ++j) {
            product += weights[static_cast<std::size_t>(examples.indices[j])] * double{examples.values[j]};
        }
        return sign[k] * product;
    }

    // sum_k factor(k) s_k x_k, and sum_k factor(k) s_k at the end: gradients of sums over margins.
    template <typename Factor>
    std::vector<double> combine(Factor&& factor) const {
        std::vector<double> sum(static_cast<std::size_t>(examples.features) + 1, 0.0);
        for (std::size_t k = 0; k < active.size(); ++k) {
            const auto row = static_cast<std::size_t>(active[k]);
            const double f = factor(k) * sign[k];
            for (auto j = static_cast<std::size_t>(examples.indptr[row]); j < static_cast<std::size_t>(examples.indptr[row + 1]); ++j) {
                sum[static_cast<std::size_t>(examples.indices[j])] += f * double{examples.values[j]};
            }
            sum.back() += f;
        }
        return sum;
    }
};

#include "kernels.hpp"
#include "lanes.hpp"

namespace treetop::TREETOP_ISA {

extern const Kernels kernels;
void cluster_products(const ClusterProducts&);  // cluster_kernel.cpp

namespace {

// The examples two ahead are on their way while this one is worked on; so are the weights of the next.
void fetch_ahead(const LanePass& pass, std::int64_t at) {
    if (at + 2 < pass.count) {
        const auto far = static_cast<std::int64_t>(pass.order[at + 2]);
        prefetch(pass.duals + kLanes * far);
        prefetch(pass.diagonals + kLanes * far);
        for (std::int64_t j = pass.indptr[far]; j < pass.indptr[far + 1]; j += 16) {
            prefetch(pass.indices + j);
            prefetch(pass.values + j);
        }
    }
}

// min over w, b of  1/2 |w|^2 + 1/2 b^2 + sum_i C_i max(0, 1 - s_i (w.x_i + bias b))^2, one coordinate after the
// other in the dual: G = s_i (w.x_i + bias b) - 1 + alpha_i D_i, alpha_i <- max(0, alpha_i - G / (|x_i|^2 + bias^2
// + D_i)), and w follows by the change of s_i alpha_i times x_i. A feature that only this example has carries the
// weight s_i alpha_i x_if: it needs no row in `weights`, only its square in `own`.
void lane_pass(const LanePass& pass) {
    const Lanes zero = all(0.0F), one = all(1.0F), live = load(pass.live);
    Lanes constant = load(pass.constants);
    Lanes highest = load(pass.highest), lowest = load(pass.lowest);
    for (std::int64_t at = 0; at < pass.count; ++at) {
        fetch_ahead(pass, at);
        const auto i = static_cast<std::int64_t>(pass.order[at]);
        const std::int64_t begin = pass.indptr[i], end = pass.indptr[i + 1];
        const auto row = [&](std::int64_t j) { return pass.weights + kLanes * static_cast<std::int64_t>(pass.indices[j]); };

        Lanes sums[4] = {constant * pass.bias, zero, zero, zero};  // four chains of additions run side by side
        std::int64_t j = begin;
        for (; j + 4 <= end; j += 4) {
            sums[0] += load(row(j)) * pass.values[j];
            sums[1] += load(row(j + 1)) * pass.values[j + 1];
            sums[2] += load(row(j + 2)) * pass.values[j + 2];
            sums[3] += load(row(j + 3)) * pass.values[j + 3];
        }
        for (; j < end; ++j) sums[0] += load(row(j)) * pass.values[j];

        const Lanes dual = load(pass.duals + kLanes * i), diagonal = load(pass.diagonals + kLanes * i);
        const Lanes product = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + dual * pass.own[i];
        const Lanes sign = choose(diagonal < zero, zero - one, one);
        const Lanes taking_part = choose(diagonal != zero, live, zero);
        const Lanes alpha = dual * sign, cost = diagonal * sign;
        const Lanes gradient = sign * product - one + alpha * cost;
        const Lanes projected = choose((alpha <= zero) & (gradient > zero), zero, gradient) * taking_part;
        highest = larger(highest, projected);
        lowest = smaller(lowest, projected);
        pass.worst[i] = largest(magnitude(projected));

        const Lanes target = larger(alpha - gradient / (cost + all(pass.squares[i])), zero);
        const Lanes step = (target - alpha) * sign * taking_part;
        if (!any(step != zero)) continue;
        store(pass.duals + kLanes * i, dual + step);
        constant += step * pass.bias;
        for (j = begin; j < end; ++j) store(row(j), load(row(j)) + step * pass.values[j]);
    }
    store(pass.constants, constant);
    store(pass.highest, highest);
    store(pass.lowest, lowest);
}

void lane_start(float* weights, const float* sums, std::int64_t features, const float* scale, const float* shift) {
    const Lanes scales = load(scale), shifts = load(shift);
    for (std::int64_t f = 0; f < features; ++f) {
        float* row = weights + kLanes * f;
        store(row, scales * load(row) - shifts * sums[f]);
    }
}

std::int64_t lane_rows(const float* weights, std::int64_t features, float threshold, std::int32_t* rows) {
    const Lanes least = all(threshold);
    std::int64_t count = 0;
    for (std::int64_t f = 0; f < features; ++f) {
        rows[count] = static_cast<std::int32_t>(f);
        count += any(magnitude(load(weights + kLanes * f)) >= least) ? 1 : 0;
    }
    return count;
}

}  // namespace

#define TREETOP_TEXT_OF(name) #name
#define TREETOP_TEXT(name) TREETOP_TEXT_OF(name)

const Kernels kernels{TREETOP_TEXT(TREETOP_ISA), lane_pass, lane_start, lane_rows, cluster_products};

}  // namespace treetop::TREETOP_ISA

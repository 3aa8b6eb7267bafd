// Sixteen floats that move together: one cache line, one label per lane.
//
// Only elementwise operations, and no fused multiply-add (the kernels are compiled without contraction), so that
// every instruction set gives the same bits.
#pragma once

#include <cstdint>

#include "kernels.hpp"

namespace treetop::TREETOP_ISA {

#if defined(__AVX512F__)
inline constexpr int kWidth = 16;  // floats of a register
#elif defined(__AVX2__)
inline constexpr int kWidth = 8;
#else
inline constexpr int kWidth = 4;
#endif
inline constexpr int kParts = kLanes / kWidth;

#if defined(__GNUC__)  // GCC and Clang
typedef float Part __attribute__((vector_size(4 * kWidth)));
typedef std::int32_t PartMask __attribute__((vector_size(4 * kWidth)));

inline Part part_of(const float* from) {
    Part part;
    __builtin_memcpy(&part, from, sizeof(Part));
    return part;
}
inline void put(float* to, Part part) { __builtin_memcpy(to, &part, sizeof(Part)); }
inline Part spread(float value) { return Part{} + value; }
inline Part pick(PartMask mask, Part yes, Part no) { return mask ? yes : no; }
inline bool any_of(PartMask mask) {
    std::int64_t pairs[kWidth / 2];
    __builtin_memcpy(pairs, &mask, sizeof(mask));
    std::int64_t all = 0;
    for (const auto pair : pairs) all |= pair;
    return all != 0;
}
inline void prefetch(const void* address) { __builtin_prefetch(address); }
#else  // no vector types: the compiler is left to see them in plain loops
struct PartMask {
    bool at[kWidth];
    PartMask operator&(const PartMask& other) const {
        PartMask result;
        for (int i = 0; i < kWidth; ++i) result.at[i] = at[i] && other.at[i];
        return result;
    }
};
struct Part {
    float at[kWidth];
};
#define TREETOP_OPERATOR(op, Result)                                                    \
    inline Result operator op(const Part& a, const Part& b) {                           \
        Result result;                                                                  \
        for (int i = 0; i < kWidth; ++i) result.at[i] = a.at[i] op b.at[i];             \
        return result;                                                                  \
    }
TREETOP_OPERATOR(+, Part)
TREETOP_OPERATOR(-, Part)
TREETOP_OPERATOR(*, Part)
TREETOP_OPERATOR(/, Part)
TREETOP_OPERATOR(<, PartMask)
TREETOP_OPERATOR(>, PartMask)
TREETOP_OPERATOR(<=, PartMask)
TREETOP_OPERATOR(>=, PartMask)
TREETOP_OPERATOR(!=, PartMask)
#undef TREETOP_OPERATOR
inline Part part_of(const float* from) {
    Part part;
    for (int i = 0; i < kWidth; ++i) part.at[i] = from[i];
    return part;
}
inline void put(float* to, const Part& part) {
    for (int i = 0; i < kWidth; ++i) to[i] = part.at[i];
}
inline Part spread(float value) {
    Part part;
    for (float& lane : part.at) lane = value;
    return part;
}
inline Part pick(const PartMask& mask, const Part& yes, const Part& no) {
    Part part;
    for (int i = 0; i < kWidth; ++i) part.at[i] = mask.at[i] ? yes.at[i] : no.at[i];
    return part;
}
inline bool any_of(const PartMask& mask) {
    bool all = false;
    for (const bool lane : mask.at) all = all || lane;
    return all;
}
inline void prefetch(const void*) {}
#endif

struct Lanes {
    Part parts[kParts];
};
struct LaneMask {
    PartMask parts[kParts];
};

#define TREETOP_EACH(Result, expression)                                \
    Result result;                                                      \
    for (int p = 0; p < kParts; ++p) result.parts[p] = (expression);    \
    return result;
#define TREETOP_OPERATOR(op, Result) \
    inline Result operator op(const Lanes& a, const Lanes& b) { TREETOP_EACH(Result, a.parts[p] op b.parts[p]) }
TREETOP_OPERATOR(+, Lanes)
TREETOP_OPERATOR(-, Lanes)
TREETOP_OPERATOR(*, Lanes)
TREETOP_OPERATOR(/, Lanes)
TREETOP_OPERATOR(<, LaneMask)
TREETOP_OPERATOR(>, LaneMask)
TREETOP_OPERATOR(<=, LaneMask)
TREETOP_OPERATOR(>=, LaneMask)
TREETOP_OPERATOR(!=, LaneMask)
inline LaneMask operator&(const LaneMask& a, const LaneMask& b) { TREETOP_EACH(LaneMask, a.parts[p] & b.parts[p]) }
inline Lanes load(const float* from) { TREETOP_EACH(Lanes, part_of(from + p * kWidth)) }
inline Lanes all(float value) { TREETOP_EACH(Lanes, spread(value)) }
inline Lanes choose(const LaneMask& mask, const Lanes& yes, const Lanes& no) {
    TREETOP_EACH(Lanes, pick(mask.parts[p], yes.parts[p], no.parts[p]))
}
#undef TREETOP_OPERATOR
#undef TREETOP_EACH

inline void store(float* to, const Lanes& lanes) {
    for (int p = 0; p < kParts; ++p) put(to + p * kWidth, lanes.parts[p]);
}
inline bool any(const LaneMask& mask) {
    bool found = false;
    for (const auto& part : mask.parts) found |= any_of(part);
    return found;
}
inline Lanes operator*(const Lanes& lanes, float value) { return lanes * all(value); }
inline Lanes& operator+=(Lanes& lanes, const Lanes& more) { return lanes = lanes + more; }
inline Lanes magnitude(const Lanes& lanes) { return choose(lanes < all(0.0F), all(0.0F) - lanes, lanes); }
inline Lanes larger(const Lanes& a, const Lanes& b) { return choose(a > b, a, b); }
inline Lanes smaller(const Lanes& a, const Lanes& b) { return choose(a < b, a, b); }
inline float largest(const Lanes& lanes) {
    float values[kLanes];
    store(values, lanes);
    float best = values[0];
    for (int lane = 1; lane < kLanes; ++lane) best = values[lane] > best ? values[lane] : best;
    return best;
}

}  // namespace treetop::TREETOP_ISA

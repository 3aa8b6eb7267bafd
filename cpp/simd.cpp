#include "simd.hpp"

#include <atomic>
#include <cstdlib>

namespace treetop {

namespace plain {
extern const Kernels kernels;
}
#ifdef TREETOP_X86_KERNELS
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}
#endif

namespace {

std::vector<const Kernels*> runnable() {
    std::vector<const Kernels*> sets{&plain::kernels};
#ifdef TREETOP_X86_KERNELS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) sets.push_back(&avx2::kernels);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq")) {
        sets.push_back(&avx512::kernels);
    }
#endif
    return sets;
}

const Kernels* named(const std::string& name) {
    for (const Kernels* set : runnable()) {
        if (name == set->name) return set;
    }
    return nullptr;
}

const Kernels* first_choice() {
    if (const char* wish = std::getenv("TREETOP_SIMD"); wish != nullptr) {
        if (const Kernels* set = named(wish); set != nullptr) return set;
    }
    return runnable().back();
}

std::atomic<const Kernels*>& chosen() {
    static std::atomic<const Kernels*> set{first_choice()};
    return set;
}

}  // namespace

const Kernels& kernels() { return *chosen().load(std::memory_order_relaxed); }

std::vector<std::string> kernel_sets() {
    std::vector<std::string> names;
    for (const Kernels* set : runnable()) names.emplace_back(set->name);
    return names;
}

bool use_kernels(const std::string& name) {
    const Kernels* set = named(name);
    if (set != nullptr) chosen() = set;
    return set != nullptr;
}

}  // namespace treetop

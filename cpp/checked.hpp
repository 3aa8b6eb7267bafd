// What kernels trust. An assertion aborts in a checked build (CMake option TREETOP_CHECKED: tests and fuzzers), and is
// no code in any other.
#pragma once

#ifdef TREETOP_CHECKED

#include <cstdio>
#include <cstdlib>

namespace treetop {

[[noreturn]] inline void contract_broken(const char* file, int line, const char* condition) {
    std::fprintf(stderr, "%s:%d: a kernel was given what it does not allow: %s is false\n", file, line, condition);
    std::abort();
}

}  // namespace treetop

#define TREETOP_ASSERT(...) \
    ((__VA_ARGS__) ? static_cast<void>(0) : ::treetop::contract_broken(__FILE__, __LINE__, #__VA_ARGS__))

#else

#define TREETOP_ASSERT(...) static_cast<void>(sizeof((__VA_ARGS__) ? 1 : 0))  // not evaluated

#endif

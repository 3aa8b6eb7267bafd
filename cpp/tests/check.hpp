// The smallest test harness that names the line: CHECK(condition) and a count at the end.
#pragma once

#include <cstdio>

inline int checks_failed = 0;

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);      \
            ++checks_failed;                                                 \
        }                                                                    \
    } while (false)

inline int finish() {
    if (checks_failed == 0) std::puts("ok");
    return checks_failed == 0 ? 0 : 1;
}

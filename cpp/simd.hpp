// Which of the kernel sets to run: the widest instructions that this machine has.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace treetop {

// The best set this machine runs, unless the environment variable TREETOP_SIMD or use_kernels names another.
const Kernels& kernels();

// The sets that this build has and this machine runs, plainest first.
std::vector<std::string> kernel_sets();

// Chooses a set by name; false if it is not among kernel_sets().
bool use_kernels(const std::string& name);

}  // namespace treetop

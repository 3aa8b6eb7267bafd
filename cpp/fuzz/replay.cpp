// A fuzzer as an ordinary program, for compilers without libFuzzer: the seeds in the folders or files that are named,
// and as many variants of them and other inputs as --runs says. The same inputs in every run.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "random.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Bytes> seeds_in(const std::vector<std::string>& places) {
    std::vector<std::filesystem::path> paths;
    for (const std::string& place : places) {
        if (!std::filesystem::is_directory(place)) {
            if (std::filesystem::exists(place)) paths.emplace_back(place);
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(place)) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Bytes> seeds;
    for (const auto& path : paths) seeds.push_back(content(path));
    return seeds;
}

void append_random(Bytes& bytes, std::uint32_t count, treetop::Random& random) {
    for (; count > 0; --count) bytes.push_back(static_cast<std::uint8_t>(random.below(0x100)));
}

// A seed with a few changes, with random bytes behind it: fuzzers take numbers from the end.
Bytes variant(const std::vector<Bytes>& seeds, treetop::Random& random) {
    Bytes bytes;
    if (!seeds.empty() && random.below(2) == 0) {
        bytes = seeds[random.below(static_cast<std::uint32_t>(seeds.size()))];
        for (auto changes = random.below(6); changes > 0 && !bytes.empty(); --changes) {
            const auto at = random.below(static_cast<std::uint32_t>(bytes.size()));
            const auto place = bytes.begin() + at;
            switch (random.below(4)) {
                case 0: *place = static_cast<std::uint8_t>(random.below(0x100)); break;
                case 1: bytes.erase(place); break;
                case 2: bytes.insert(place, bytes[random.below(static_cast<std::uint32_t>(bytes.size()))]); break;
                default: *place ^= static_cast<std::uint8_t>(1U << random.below(8));
            }
        }
        if (random.below(2) == 0) append_random(bytes, random.below(64), random);
    } else {
        append_random(bytes, random.below(1U << (4 + random.below(7))), random);
    }
    return bytes;
}

void run(const Bytes& bytes) {
    const Bytes exact(bytes);  // no room behind the end
    LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int count, char** arguments) {
    std::vector<std::string> places;
    int runs = 0;
    for (int i = 1; i < count; ++i) {
        const std::string argument = arguments[i];
        if (argument.rfind("--runs=", 0) == 0) {
            runs = std::atoi(argument.c_str() + 7);
        } else {
            places.push_back(argument);
        }
    }
    const std::vector<Bytes> seeds = seeds_in(places);
    for (const Bytes& seed : seeds) run(seed);
    treetop::Random random(1);
    for (int i = 0; i < runs; ++i) run(variant(seeds, random));
    std::printf("%zu seeds, %d variants: ok\n", seeds.size(), runs);
}

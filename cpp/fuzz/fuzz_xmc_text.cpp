// Any bytes as a file of the Extreme Classification Repository; what was read must survive printing.
#include <algorithm>
#include <string>

#include "csr_flaw.hpp"
#include "input.hpp"
#include "xmc_text.hpp"

namespace {

using namespace treetop;

void run(Input& input) {
    const int threads = input.once_in(64) ? 2 : 1;
    constexpr std::int64_t kSizes[] = {0, 1, 10, 100'000, kAnyColumn, kAnyColumn + 1, -1};
    const XmcSizes sizes{kSizes[input.below(7)], kSizes[(input.below(7) + 3) % 7], kSizes[(input.below(7) + 3) % 7]};
    const bool several = input.once_in(1024);  // segments
    std::string text(input.text());
    if (several && !text.empty()) {
        text += '\n';
        while (text.size() < 600'000) text += text;
    }
    check(sizes);
    XmcRows rows;
    if (const auto fault = parse_xmc(text, sizes, threads, rows)) {
        EXPECT(0 <= fault->begin && fault->begin <= fault->end);
        EXPECT(fault->end <= static_cast<std::int64_t>(text.size()));
        EXPECT(0 <= fault->line && fault->line <= std::count(text.begin(), text.end(), '\n'));
        EXPECT(rows.indptr.size() == 1 && rows.indices.empty());
        return;
    }
    const Csr features = checked_csr(rows.indptr, rows.indices, rows.data, sizes.features, Order::ascending, 1);
    const Pattern labels = checked_pattern(rows.label_indptr, rows.labels, sizes.labels, Order::ascending, 1);
    EXPECT(features.rows == labels.rows);
    if (std::ranges::any_of(rows.data, [](float value) { return !(std::abs(value) <= 3e38F); })) return;
    const auto printed = print_xmc(features, labels, 0, features.rows, threads);
    XmcRows again;
    const bool failed = parse_xmc({printed.data(), printed.size()}, {features.rows, sizes.features, sizes.labels}, threads,
                                  again).has_value();
    EXPECT(!failed && again.indices == rows.indices && again.data == rows.data && again.labels == rows.labels);
    EXPECT(again.indptr == rows.indptr && again.label_indptr == rows.label_indptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) { return attack(bytes, size, run); }

#include "packed_level.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "checked_level.hpp"

namespace treetop {
namespace {

constexpr std::size_t kPairsPerRow = 256;
constexpr std::size_t kRowsPerBucket = 12;  // on average at most; a group of 16 keys is compared at once

// A byte of a weight: 0 for 0, m or 128 + m for ±lo·r^(m-1), so that the relative error is the same for small and
// large weights. Weights far below the largest say little and share the smallest codes.
class Codebook {
public:
    explicit Codebook(std::span<const float> weights) : values_(256, 0.0F) {
        constexpr double kRange = 1024;
        float smallest = std::numeric_limits<float>::max(), largest = 0;
        for (const float weight : weights) {
            const float size = std::abs(weight);
            if (size > 0) smallest = std::min(smallest, size);
            largest = std::max(largest, size);
        }
        if (!(largest > 0)) return;
        const double lowest = std::max(double{smallest}, largest / kRange);
        for (int m = 1; m <= kLevels; ++m) {
            const double value = lowest * std::pow(largest / lowest, (m - 1) / double{kLevels - 1});
            values_[static_cast<std::size_t>(m)] = static_cast<float>(value);
            values_[static_cast<std::size_t>(128 + m)] = static_cast<float>(-value);
        }
        set_borders();
    }

    static Codebook of_values(std::span<const float> values) {
        Codebook codebook({});
        codebook.values_.assign(values.begin(), values.end());
        codebook.set_borders();
        return codebook;
    }

    std::uint8_t code(float weight) const {
        const auto above = std::upper_bound(borders_.begin(), borders_.end(), std::abs(weight));
        const auto m = static_cast<std::uint8_t>(above - borders_.begin());
        return weight < 0 && m > 0 ? static_cast<std::uint8_t>(128 + m) : m;
    }

    const std::vector<float>& values() const { return values_; }

private:
    void set_borders() {
        for (std::size_t m = 0; m < kLevels; ++m) borders_[m] = (values_[m] + values_[m + 1]) / 2;
    }

    static constexpr int kLevels = 127;
    std::vector<float> values_;
    std::array<float, kLevels> borders_{};  // between m and m + 1
};

class ChunkPacker {
public:
    ChunkPacker(const PlainLevel& level, int bits, std::int64_t first_dense, bool coded)
        : level_(level), bits_(bits), first_dense_(first_dense), coded_(coded) {}

    struct Plan {
        std::int64_t pointers = 0;
        std::int64_t bytes = 0;
        int shift = 0;
    };

    // The number of buckets that takes the least space, and what it comes to.
    Plan plan(std::int64_t parent) {
        sort_rows(parent, 0);  // whatever the shift will be, buckets are runs
        if (rows_.empty()) return {};
        int fewest = 0;
        while (fewest < bits_ && (rows_.size() >> fewest) > kRowsPerBucket) ++fewest;
        int chosen = fewest;
        for (int b = fewest + 1; b <= bits_; ++b) {
            if (head_bytes(b) < head_bytes(chosen)) chosen = b;
        }
        while (chosen < bits_ && fullest(bits_ - chosen) > kMostRows) ++chosen;
        Plan plan;
        plan.shift = bits_ - chosen;
        if (fullest(plan.shift) > kMostRows) throw std::length_error("a feature has weights for too many labels");
        plan.pointers = (std::int64_t{1} << chosen) + 1;
        sort_rows(parent, plan.shift);
        with_packing(plan.shift, width(parent), coded_, [&]<typename P>(P) {
            std::size_t bytes = 0;
            for_each_bucket(plan.shift, [&](std::size_t, std::size_t begin, std::size_t end) {
                bytes += P::kHeader + (end - begin) * (sizeof(typename P::Key) + 1) - singles(begin, end);
                for (std::size_t r = begin; r < end; ++r) bytes += rows_[r].length * P::kPair;
            });
            plan.bytes = static_cast<std::int64_t>(bytes);
        });
        if (plan.bytes > std::numeric_limits<std::uint32_t>::max()) {
            throw std::length_error("the weights below one node take over four gigabytes; use a tree with more nodes");
        }
        return plan;
    }

    void write(std::int64_t parent, const Plan& plan, const Codebook& codebook, std::uint32_t* buckets,
               std::uint8_t* bytes) {
        if (plan.pointers == 0) return;
        sort_rows(parent, plan.shift);
        with_packing(plan.shift, width(parent), coded_, [&]<typename P>(P) {
            std::uint8_t* at = bytes;
            std::size_t next = 0;  // bucket
            for_each_bucket(plan.shift, [&](std::size_t number, std::size_t begin, std::size_t end) {
                TREETOP_ASSERT(static_cast<std::int64_t>(number) + 1 < plan.pointers);
                while (next <= number) buckets[next++] = static_cast<std::uint32_t>(at - bytes);
                const std::size_t others = begin + singles(begin, end);
                at = put(at, static_cast<std::uint8_t>(others - begin));
                at = put(at, static_cast<std::uint16_t>(end - others));
                for (std::size_t r = begin; r < end; ++r) at = put(at, static_cast<typename P::Key>(rows_[r].hash));
                for (std::size_t r = others; r < end; ++r) at = put(at, static_cast<std::uint8_t>(rows_[r].length - 1));
                for (std::size_t r = begin; r < end; ++r) {
                    const std::size_t first = rows_[r].first, length = rows_[r].length;
                    for (const auto child : level_.children.subspan(first, length)) {
                        at = put(at, static_cast<typename P::Child>(child));
                    }
                    for (const auto weight : level_.weights.subspan(first, length)) {
                        if constexpr (sizeof(typename P::Weight) == 1) {
                            at = put(at, codebook.code(weight));
                        } else {
                            at = put(at, weight);
                        }
                    }
                }
            });
            TREETOP_ASSERT(at - bytes == plan.bytes);
            const auto end = static_cast<std::uint32_t>(at - bytes);
            std::fill(buckets + next, buckets + plan.pointers, end);
        });
    }

    // `table` is full of zeros.
    void write_table(std::int64_t parent, const Codebook& codebook, std::uint8_t* table) const {
        const auto p = static_cast<std::size_t>(parent);
        const auto last = static_cast<std::size_t>(level_.chunks[p + 1]);
        for (auto r = static_cast<std::size_t>(level_.chunks[p]); r < last; ++r) {
            const std::int64_t row = level_.features[r] - first_dense_;
            if (row < 0) continue;
            const auto end = static_cast<std::size_t>(level_.rows[r + 1]);
            for (auto e = static_cast<std::size_t>(level_.rows[r]); e < end; ++e) {
                const auto place = static_cast<std::size_t>(row * width(parent) + level_.children[e]);
                if (coded_) {
                    table[place] = codebook.code(level_.weights[e]);
                } else {
                    put(table + place * sizeof(float), level_.weights[e]);
                }
            }
        }
    }

private:
    static constexpr std::size_t kMostRows = std::numeric_limits<std::uint16_t>::max();

    struct PackedRow {
        std::uint32_t hash;
        std::uint32_t length;
        std::size_t first;
    };

    template <typename T>
    static std::uint8_t* put(std::uint8_t* at, T value) {
        std::memcpy(at, &value, sizeof(T));
        return at + sizeof(T);
    }

    std::int64_t width(std::int64_t parent) const {
        const auto p = static_cast<std::size_t>(parent);
        return level_.offsets[p + 1] - level_.offsets[p];
    }

    // The rows of a parent that no table holds, by bucket (the upper bits of the hash), singles first; long rows in
    // pieces.
    void sort_rows(std::int64_t parent, int shift) {
        const auto p = static_cast<std::size_t>(parent);
        rows_.clear();
        const auto last = static_cast<std::size_t>(level_.chunks[p + 1]);
        for (auto r = static_cast<std::size_t>(level_.chunks[p]); r < last; ++r) {
            if (level_.features[r] >= first_dense_) continue;
            const std::uint32_t hash = scatter(level_.features[r], bits_);
            const auto end = static_cast<std::size_t>(level_.rows[r + 1]);
            for (auto first = static_cast<std::size_t>(level_.rows[r]); first < end; first += kPairsPerRow) {
                rows_.push_back({hash, static_cast<std::uint32_t>(std::min(end - first, kPairsPerRow)), first});
            }
        }
        std::stable_sort(rows_.begin(), rows_.end(), [shift](const auto& a, const auto& b) {
            const std::uint32_t left = a.hash >> shift, right = b.hash >> shift;
            return left != right ? left < right : (a.length == 1) > (b.length == 1);
        });
    }

    // Rows of one pair at the front of a bucket, as many as its header can count.
    std::size_t singles(std::size_t begin, std::size_t end) const {
        std::size_t count = 0;
        while (begin + count < end && rows_[begin + count].length == 1 && count < 0xFF) ++count;
        return count;
    }

    std::size_t head_bytes(int b) const {
        const int shift = bits_ - b;
        const std::size_t key = shift <= 8 ? 1 : shift <= 16 ? 2 : 4;
        return (std::size_t{4} << b) + rows_.size() * key;
    }

    template <typename Task>
    void for_each_bucket(int shift, Task&& task) const {
        for (std::size_t begin = 0, end = 0; begin < rows_.size(); begin = end) {
            const std::uint32_t number = rows_[begin].hash >> shift;
            while (end < rows_.size() && rows_[end].hash >> shift == number) ++end;
            task(std::size_t{number}, begin, end);
        }
    }

    std::size_t fullest(int shift) const {
        std::size_t most = 0;
        for_each_bucket(shift, [&](std::size_t, std::size_t begin, std::size_t end) {
            most = std::max(most, end - begin);
        });
        return most;
    }

    const PlainLevel& level_;
    int bits_;
    std::int64_t first_dense_;
    bool coded_;
    std::vector<PackedRow> rows_;
};

void unpack_table(const Level& level, std::int64_t parent, Triples& triples) {
    with_weight_type(level.codes != nullptr, [&]<typename Weight>(Weight) {
        const Table<Weight> table(level, parent);
        for (std::size_t f = 0; f < static_cast<std::size_t>(level.dense); ++f) {
            for (std::size_t c = 0; c < table.width; ++c) {
                const float weight = table.weight(f, c);
                if (weight == 0.0F) continue;
                triples.nodes.push_back(level.offsets[parent] + static_cast<std::int64_t>(c));
                const std::int64_t feature = level.first_dense() + static_cast<std::int64_t>(f);
                triples.features.push_back(static_cast<std::int32_t>(feature));
                triples.weights.push_back(weight);
            }
        }
    });
}

}  // namespace

int feature_bits(std::int64_t features) {
    return features <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(features - 1)));
}

std::int32_t gather(std::uint32_t hash, int bits) {
    // Newton's iteration for 1/A mod 2^32: each step doubles the bits that are right.
    std::uint32_t inverse = kScatter;
    for (int step = 0; step < 5; ++step) inverse *= 2U - kScatter * inverse;
    return static_cast<std::int32_t>((hash * inverse) & ((std::uint32_t{1} << bits) - 1U));
}

std::int64_t dense_features(const PlainLevel& level, std::int64_t features, bool coded) {
    std::vector<std::int64_t> weights(static_cast<std::size_t>(features), 0);
    for (std::size_t r = 0; r < level.features.size(); ++r) {
        weights[static_cast<std::size_t>(level.features[r])] += level.rows[r + 1] - level.rows[r];
    }
    const std::int64_t nodes = level.offsets.back();
    std::int64_t best = 0, most = 0, gained = 0;
    for (std::int64_t dense = 1; dense <= features; ++dense) {
        gained += 3 * weights[static_cast<std::size_t>(features - dense)] - (coded ? nodes : 2 * nodes);
        if (gained > most) most = gained, best = dense;
    }
    return best;
}

PackedArrays pack(const PlainLevel& level, std::int64_t features, std::int64_t dense, bool coded, int threads,
                  std::span<const float> codes) {
    TREETOP_ASSERT((check(level, features), check_packing(features, dense, coded, codes), true));
    const int bits = feature_bits(features);
    const auto parents = static_cast<std::int64_t>(level.offsets.size()) - 1;
    std::vector<ChunkPacker> packers(static_cast<std::size_t>(std::max(threads, 1)),
                                     ChunkPacker(level, bits, features - dense, coded));
    std::vector<ChunkPacker::Plan> plans(static_cast<std::size_t>(parents));
    parallel_for(parents, threads, [&](std::int64_t p, int worker) {
        plans[static_cast<std::size_t>(p)] = packers[static_cast<std::size_t>(worker)].plan(p);
    });

    PackedArrays packed;
    packed.chunks.push_back(0);
    packed.starts.push_back(0);
    for (const auto& plan : plans) {
        packed.chunks.push_back(packed.chunks.back() + plan.pointers);
        packed.starts.push_back(packed.starts.back() + plan.bytes);
    }
    packed.buckets.resize(static_cast<std::size_t>(packed.chunks.back()));
    packed.bytes.resize(static_cast<std::size_t>(packed.starts.back()) + Level::kSlack);
    const std::size_t dense_bytes = static_cast<std::size_t>(dense) * (coded ? 1 : sizeof(float));  // of one node
    packed.tables.resize(dense_bytes * static_cast<std::size_t>(level.offsets.back()));
    const Codebook codebook =
        codes.empty() ? Codebook(coded ? level.weights : std::span<const float>{}) : Codebook::of_values(codes);
    parallel_for(parents, threads, [&](std::int64_t parent, int worker) {
        const auto p = static_cast<std::size_t>(parent);
        packers[static_cast<std::size_t>(worker)].write(parent, plans[p], codebook,
                                                        packed.buckets.data() + packed.chunks[p],
                                                        packed.bytes.data() + packed.starts[p]);
        packers[static_cast<std::size_t>(worker)].write_table(
            parent, codebook, packed.tables.data() + dense_bytes * static_cast<std::size_t>(level.offsets[p]));
    });
    if (coded) packed.codes = codebook.values();
    return packed;
}

Triples unpack(const Level& level) {
    std::vector<std::int64_t> parents(static_cast<std::size_t>(level.parents));
    std::iota(parents.begin(), parents.end(), std::int64_t{0});
    return unpack(level, parents);
}

Triples unpack(const Level& level, std::span<const std::int64_t> parents) {
    Triples triples;
    TREETOP_ASSERT((check_parents(level, parents), true));
    for (const std::int64_t parent : parents) {
        unpack_table(level, parent, triples);
        const std::int64_t buckets = PackedChunk::count(level, parent);
        if (buckets == 0) continue;
        const PackedChunk chunk(level, parent);
        with_packing(chunk.shift, chunk.width, level.codes != nullptr, [&]<typename P>(P) {
            for (std::int64_t number = 0; number < buckets; ++number) {
                const Bucket<P> bucket(chunk, static_cast<std::size_t>(number));
                std::size_t first = 0;
                for (std::size_t r = 0; r < bucket.rows(); ++r) {
                    const std::size_t length = bucket.length(r);
                    if (first + length > bucket.room) break;
                    const auto key = read_as<typename P::Key>(bucket.keys + r * sizeof(typename P::Key));
                    const auto hash = static_cast<std::uint32_t>((std::uint64_t(number) << chunk.shift) | key);
                    const Row<P> row(bucket, first, length);
                    const std::int32_t feature = gather(hash, level.feature_bits);
                    for (std::size_t e = 0; e < length; ++e) {  // damaged bytes may name anything
                        if (static_cast<std::int64_t>(row.child(e)) >= chunk.width) continue;
                        if (feature >= level.first_dense()) continue;
                        triples.nodes.push_back(level.offsets[parent] + static_cast<std::int64_t>(row.child(e)));
                        triples.features.push_back(feature);
                        triples.weights.push_back(row.weight(e, level.codes));
                    }
                    first += length;
                }
            }
        });
    }
    return triples;
}

}  // namespace treetop

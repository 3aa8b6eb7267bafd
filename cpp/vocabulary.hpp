// Chooses the terms of the vocabulary, puts them in order and lays them out for look-up.
#pragma once

#include <cstdint>
#include <vector>

#include "lexicon.hpp"
#include "tfidf.hpp"

namespace treetop {

struct Vocabulary {
    TfidfModel model;
    std::vector<std::uint32_t> column_of;  // lexicon's node → term, or kNone where it is not chosen
};

Vocabulary choose_vocabulary(const Lexicon& lexicon, const Weighting& weighting, const Limits& limits,
                             std::int64_t texts);

}  // namespace treetop

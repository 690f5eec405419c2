// How often words stand together: the numbers that GloVe learns from (Pennington, Socher and Manning 2014).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "vectors/corpus.h"

namespace regard::vectors {

struct Cooccurrence {
  std::int32_t word = 0, context = 0;
  float count = 0;
};

struct CooccurrenceOptions {
  int window = 10;                             // words on each side; one at distance d counts 1 / d
  bool symmetric = true;                       // false: only words before
  std::size_t records = std::size_t{1} << 24;  // held in memory at a time, 16 bytes each
  std::filesystem::path temporary = ".";
  std::uint64_t seed = 1;
  std::function<void(double part)> progress;  // of the corpus counted; may be empty
  std::function<bool()> stopped;              // true: what was counted so far is all
};

// Every pair that occurs, once, in random order. Counted in sorted runs that go to disk when `records` are
// full, merged, dealt at random into piles that fit into memory, each of which is shuffled. Windows end at
// sentences' ends.
std::shared_ptr<Spill<Cooccurrence>> count_cooccurrences(const Corpus& corpus,
                                                         const CooccurrenceOptions& options);

}  // namespace regard::vectors

// Word co-occurrence counts, the training data of GloVe (Pennington, Socher and Manning 2014).
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
  int window = 10;                             // words on each side; a word at distance d adds 1 / d
  bool symmetric = true;                       // if false, count only the words before
  std::size_t records = std::size_t{1} << 24;  // maximum number held in memory, 16 bytes each
  std::filesystem::path temporary = ".";
  std::uint64_t seed = 1;
  std::function<void(double part)>
      progress;                   // called with the share of the corpus that is counted; may be empty
  std::function<bool()> stopped;  // returns true to stop counting early and keep the counts so far
};

// Return every pair that occurs, once, in random order. Sorted runs are written to disk whenever `records`
// entries are held, merged, distributed at random over files that fit into memory, and each of those is
// shuffled. Windows do not cross sentence ends.
std::shared_ptr<Spill<Cooccurrence>> count_cooccurrences(const Corpus& corpus,
                                                         const CooccurrenceOptions& options);

}  // namespace regard::vectors

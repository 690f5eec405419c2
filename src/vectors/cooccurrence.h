// Counts of word co-occurrences, which are the training data of GloVe (Pennington, Socher and Manning 2014).
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
  int window = 10;        // number of words on each side; a word at distance d adds 1 / d
  bool symmetric = true;  // if false, count only the words before each word
  std::size_t records = std::size_t{1} << 24;  // maximum number of entries in memory, 16 bytes each
  std::filesystem::path temporary = ".";
  std::uint64_t seed = 1;
  std::function<void(double part)>
      progress;  // called with the fraction of the corpus that has been counted; may be empty
  std::function<bool()> stopped;  // if it returns true, counting stops early and the counts so far are kept
};

// Return each pair of co-occurring words once, with its total count. The order of the pairs is random. A
// context window does not cross the end of a sentence.
// An external merge sort adds the counts of equal pairs. The pairs are then distributed at random over files
// that fit into memory (but at most 256 files), and each file is shuffled.
std::shared_ptr<Spill<Cooccurrence>> count_cooccurrences(const Corpus& corpus,
                                                         const CooccurrenceOptions& options);

}  // namespace regard::vectors

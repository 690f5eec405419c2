// Learning merges: again and again the most frequent pair of neighbours becomes a token (Sennrich, Haddow and
// Birch 2016), with the order of events of Hugging Face's trainer, merge for merge.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace regard::text {

struct BpeMerge {
  std::int32_t left = 0, right = 0, id = 0;
  std::int64_t count = 0;  // of the pair when it was joined
};

class BpeTrainer {
 public:
  struct Limits {
    std::size_t vocabulary_size = 10000;  // tokens in all
    std::int64_t min_frequency = 2;       // rarer pairs are not joined
    // A pair with a merged token counts only if its length in initial symbols is less than this (0: no
    // limit).
    std::size_t max_token_length = 0;
  };

  // Adds a token and returns its id; one that is there keeps its id. An `opaque` one (special, byte fallback)
  // is never the result of a merge.
  std::int32_t add_token(const std::string& token, bool opaque);
  // A word as ids of initial symbols.
  void add_word(std::vector<std::int32_t> symbols, std::int64_t count);

  // Takes the pair with the highest count, among equals the one with the smallest (left id, right id);
  // neighbours are counted with overlap ("aaa" has aa twice) and replaced from left to right. `step` is told
  // the number of tokens there are, now and then; it may be empty.
  std::vector<BpeMerge> learn(const Limits& limits, const std::function<void(std::size_t)>& step = {});

  const std::vector<std::string>& tokens() const noexcept { return tokens_; }

 private:
  struct Symbol {
    std::int32_t id = 0;
    std::uint32_t length = 0;  // in initial symbols
  };
  struct Word {
    std::vector<Symbol> symbols;
    std::int64_t count = 0;
  };
  struct Pair {
    std::int32_t left = 0, right = 0;
    std::int64_t count = 0;
    std::vector<std::uint32_t> words;  // that hold it, or held it
  };
  struct Candidate;
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  Pair& pair(std::int32_t left, std::int32_t right);
  void count_pairs();
  void merge_in(std::uint32_t word, const BpeMerge& merge, std::size_t max_length,
                std::vector<std::uint32_t>& touched);

  std::vector<std::string> tokens_;
  std::vector<bool> opaque_;
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<Word> words_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_index_;
};

}  // namespace regard::text

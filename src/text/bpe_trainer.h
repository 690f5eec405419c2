// Learning merges: again and again the most frequent pair of neighbours becomes a token (Sennrich, Haddow and
// Birch 2016), with the order of events of Hugging Face's trainer, merge for merge.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/pair_counts.h"

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
    std::string continuing_prefix;  // what the right token of a merge loses ("##")
  };

  // Adds a token and returns its id; one that is there keeps its id. An `opaque` one (special, byte fallback)
  // is never the result of a merge.
  std::int32_t add_token(const std::string& token, bool opaque);
  // A word as ids of initial symbols. Words and symbols to come may be announced, so that none is moved.
  void reserve(std::size_t words, std::size_t symbols);
  void add_word(std::span<const std::int32_t> symbols, std::int64_t count);

  // Takes the pair with the highest count, among equals the one with the smallest (left id, right id);
  // neighbours are counted with overlap ("aaa" has aa twice) and replaced from left to right. A token that
  // two pairs spell can bring a pair back that was joined before: as in the reference, its count then goes on
  // from where it was, each time it comes back it is a candidate of its own, and it may be joined once more.
  // `step` is told the number of tokens there are, now and then; it may be empty. Words are used up.
  std::vector<BpeMerge> learn(const Limits& limits, const std::function<void(std::size_t)>& step = {});

  const std::vector<std::string>& tokens() const noexcept { return tokens_; }

 private:
  struct Word {
    std::uint64_t begin = 0;  // in symbols_
    std::int64_t count = 0;
    std::uint32_t size = 0;
  };
  // A pair and the words that held it when it came up.
  struct Candidate {
    std::int64_t count;
    std::int32_t left, right;
    std::uint64_t words;  // in word_lists_: how many, then which
    friend bool operator<(const Candidate& a,
                          const Candidate& b) noexcept {  // the queue's top is its largest
      if (a.count != b.count) return a.count < b.count;
      if (a.left != b.left) return a.left > b.left;
      return a.right > b.right;
    }
  };
  // What a merge changes about the pairs with one neighbour, on one side.
  struct Neighbour {
    std::int64_t lost = 0, gained = 0;
    std::uint32_t words = 0;  // that gained
    std::uint32_t last_word = kNone;
    std::uint64_t list = 0;  // where their list begins
    bool touched = false;
  };
  struct Side {
    std::vector<Neighbour> neighbours;                            // by token
    std::vector<std::int32_t> touched;                            // tokens
    std::vector<std::pair<std::int32_t, std::uint32_t>> gainers;  // token, word
    void lose(std::int32_t token, std::int64_t count);
    void gain(std::int32_t token, std::int64_t count, std::uint32_t word);
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void count_pairs();
  std::int32_t joined(const Candidate& pair, const std::string& prefix);
  void merge_in(std::uint32_t word, const BpeMerge& merge, std::size_t max_length);
  void write_lists(Side& side);
  void join_lists_of(std::int32_t id);
  void finish_step(const BpeMerge& merge);
  void push(std::int64_t count, std::int32_t left, std::int32_t right, std::uint64_t words);

  std::vector<std::string> tokens_;
  std::vector<bool> opaque_;
  std::vector<std::size_t> lengths_;  // of tokens, in initial symbols
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::int32_t> symbols_;
  std::vector<Word> words_;
  std::vector<std::uint32_t> word_lists_;
  std::vector<Candidate> queue_;  // a heap
  PairCounts counts_;
  Side left_, right_;  // of the merge in hand
};

}  // namespace regard::text

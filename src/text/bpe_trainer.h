// BPE training: repeatedly make the most frequent adjacent pair a token (Sennrich, Haddow and Birch 2016).
// The merges and their order equal those of Hugging Face's trainer.
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
  std::int64_t count = 0;  // count of the pair at the time of the merge
};

class BpeTrainer {
 public:
  struct Limits {
    std::size_t vocabulary_size = 10000;  // total number of tokens in the vocabulary
    std::int64_t min_frequency = 2;       // minimum count of a merge
    // A merged token must consist of fewer initial symbols than this limit. A pair of initial symbols is
    // always allowed; 0 means no limit.
    std::size_t max_token_length = 0;
    std::string continuing_prefix;  // prefix removed from the right token of a merge ("##")
  };

  // Add a token and return its id; an existing token keeps its id. An `opaque` token (special token, byte
  // fallback) is never the result of a merge.
  std::int32_t add_token(const std::string& token, bool opaque);
  // Add a word that occurs `count` times. `symbols` contains the ids of its characters or bytes.
  void add_word(std::span<const std::int32_t> symbols, std::int64_t count);

  // Repeatedly merge the pair with the highest count. Among pairs with equal counts, merge the one with the
  // smallest (left id, right id).
  // The added words are modified. `step` may be empty; it is called periodically with the number of tokens.
  std::vector<BpeMerge> learn(const Limits& limits, const std::function<void(std::size_t)>& step = {});

  const std::vector<std::string>& tokens() const noexcept { return tokens_; }

 private:
  struct Word {
    std::uint64_t begin = 0;  // index in symbols_
    std::int64_t count = 0;
    std::uint32_t size = 0;
  };
  // A pair and the words that contained it when the candidate was created.
  struct Candidate {
    std::int64_t count;
    std::int32_t left, right;
    // offset of the pair's list in word_lists_; a list is the number of words, then the word indices
    std::uint64_t words;
    friend bool operator<(const Candidate& a,
                          // order for the std::*_heap functions, which put the largest element on top
                          const Candidate& b) noexcept {
      if (a.count != b.count) return a.count < b.count;
      if (a.left != b.left) return a.left > b.left;
      return a.right > b.right;
    }
  };
  // Count changes for a token before the merged pair (left, right): `lost` for (token, left) and `gained` for
  // (token, merged). For a token after the pair, they apply to (right, token) and (merged, token).
  struct Neighbour {
    std::int64_t lost = 0, gained = 0;
    std::uint32_t words = 0;  // number of words with new occurrences of (token, merged) or (merged, token)
    std::uint32_t last_word = kNone;
    std::uint64_t list = 0;  // offset of the list of these words in word_lists_
    bool touched = false;
  };
  struct Side {
    std::vector<Neighbour> neighbours;  // the index is the token id
    std::vector<std::int32_t> touched;  // ids of the tokens whose Neighbour has changes
    // token and index of a word with new occurrences of (token, merged) or (merged, token)
    std::vector<std::pair<std::int32_t, std::uint32_t>> gainers;
    void lose(std::int32_t token, std::int64_t count);
    void gain(std::int32_t token, std::int64_t count, std::uint32_t word);
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  void count_pairs();  // counts overlapping pairs: "aaa" contains "aa" twice
  std::int32_t joined(const Candidate& pair, const std::string& prefix);
  // Replace the pair in the word, from left to right.
  void merge_in(std::uint32_t word, const BpeMerge& merge, std::size_t max_length);
  void write_lists(Side& side);
  void join_lists_of(std::int32_t id);
  void finish_step(const BpeMerge& merge);
  void push(std::int64_t count, std::int32_t left, std::int32_t right, std::uint64_t words);

  std::vector<std::string> tokens_;
  std::vector<bool> opaque_;
  std::vector<std::size_t> lengths_;  // length of each token, in initial symbols
  std::unordered_map<std::string, std::int32_t> ids_;
  std::vector<std::int32_t> symbols_;
  std::vector<Word> words_;
  std::vector<std::uint32_t> word_lists_;
  std::vector<Candidate> queue_;  // max-heap, ordered by count
  PairCounts counts_;
  Side left_, right_;  // changes by the current merge: for tokens before the pair, and for tokens after it
};

}  // namespace regard::text

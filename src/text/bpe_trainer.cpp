#include "text/bpe_trainer.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace regard::text {

struct BpeTrainer::Candidate {
  std::int64_t count;
  std::int32_t left, right;
  std::uint32_t pair;
  // The queue's top is its largest.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    if (a.count != b.count) return a.count < b.count;
    if (a.left != b.left) return a.left > b.left;
    return a.right > b.right;
  }
};

std::int32_t BpeTrainer::add_token(const std::string& token, bool opaque) {
  const auto [place, fresh] = ids_.try_emplace(token, static_cast<std::int32_t>(tokens_.size()));
  if (fresh) {
    tokens_.push_back(token);
    opaque_.push_back(opaque);
  }
  return place->second;
}

void BpeTrainer::add_word(std::vector<std::int32_t> symbols, std::int64_t count) {
  Word word;
  word.count = count;
  word.symbols.reserve(symbols.size());
  for (const std::int32_t id : symbols) word.symbols.push_back({id, 1});
  words_.push_back(std::move(word));
}

BpeTrainer::Pair& BpeTrainer::pair(std::int32_t left, std::int32_t right) {
  const auto [place, fresh] =
      pair_index_.try_emplace(key(left, right), static_cast<std::uint32_t>(pairs_.size()));
  if (fresh) pairs_.push_back({left, right, 0, {}});
  return pairs_[place->second];
}

void BpeTrainer::count_pairs() {
  pairs_.clear();
  pair_index_.clear();
  for (std::uint32_t w = 0; w < words_.size(); ++w) {
    const Word& word = words_[w];
    for (std::size_t i = 0; i + 1 < word.symbols.size(); ++i) {
      Pair& found = pair(word.symbols[i].id, word.symbols[i + 1].id);
      found.count += word.count;
      if (found.words.empty() || found.words.back() != w) found.words.push_back(w);
    }
  }
}

void BpeTrainer::merge_in(std::uint32_t w, const BpeMerge& merge, std::size_t max_length,
                          std::vector<std::uint32_t>& touched) {
  Word& word = words_[w];
  const auto lose = [&](std::int32_t left, std::int32_t right) { pair(left, right).count -= word.count; };
  const auto gain = [&](const Symbol& left, const Symbol& right) {
    if (left.length + right.length >= max_length) return;
    Pair& found = pair(left.id, right.id);
    found.count += word.count;
    if (found.words.empty() || found.words.back() != w) found.words.push_back(w);
    touched.push_back(pair_index_.at(key(left.id, right.id)));
  };
  std::vector<Symbol>& symbols = word.symbols;
  std::size_t kept = 0;  // symbols[0, kept) are done
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].id != merge.left || i + 1 == symbols.size() || symbols[i + 1].id != merge.right) {
      symbols[kept++] = symbols[i];
      continue;
    }
    const Symbol joined{merge.id, symbols[i].length + symbols[i + 1].length};
    if (kept > 0) {
      lose(symbols[kept - 1].id, merge.left);
      gain(symbols[kept - 1], joined);
    }
    if (i + 2 < symbols.size()) {
      lose(merge.right, symbols[i + 2].id);
      gain(joined, symbols[i + 2]);
    }
    symbols[kept++] = joined;
    ++i;
  }
  symbols.resize(kept);
}

std::vector<BpeMerge> BpeTrainer::learn(const Limits& limits, const std::function<void(std::size_t)>& step) {
  const std::size_t max_length =
      limits.max_token_length == 0 ? std::numeric_limits<std::size_t>::max() : limits.max_token_length;
  count_pairs();
  std::priority_queue<Candidate> queue;
  const auto push = [&](std::uint32_t index) {
    const Pair& found = pairs_[index];
    if (found.count > 0) queue.push({found.count, found.left, found.right, index});
  };
  for (std::uint32_t i = 0; i < pairs_.size(); ++i) push(i);
  std::vector<BpeMerge> merges;
  std::vector<std::uint32_t> touched;
  while (tokens_.size() < limits.vocabulary_size && !queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    if (pairs_[top.pair].count != top.count) {  // it was counted again since
      push(top.pair);
      continue;
    }
    if (top.count < std::max<std::int64_t>(1, limits.min_frequency)) break;
    const auto text =
        tokens_[static_cast<std::size_t>(top.left)] + tokens_[static_cast<std::size_t>(top.right)];
    const auto known = ids_.find(text);
    if (known != ids_.end() && opaque_[static_cast<std::size_t>(known->second)]) continue;
    const BpeMerge merge{top.left, top.right, add_token(text, false), top.count};
    merges.push_back(merge);
    touched.clear();
    const std::vector<std::uint32_t> words = std::move(pairs_[top.pair].words);
    pairs_[top.pair].words.clear();
    for (const std::uint32_t word : words) merge_in(word, merge, max_length, touched);
    pairs_[top.pair].count = 0;
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const std::uint32_t index : touched) push(index);
    if (step && merges.size() % 64 == 0) step(tokens_.size());
  }
  return merges;
}

}  // namespace regard::text

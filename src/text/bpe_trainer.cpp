#include "text/bpe_trainer.h"

#include <algorithm>
#include <limits>

namespace regard::text {

std::int32_t BpeTrainer::add_token(const std::string& token, bool opaque) {
  const auto [place, fresh] = ids_.try_emplace(token, static_cast<std::int32_t>(tokens_.size()));
  if (fresh) {
    tokens_.push_back(token);
    opaque_.push_back(opaque);
    lengths_.push_back(1);
  }
  return place->second;
}

void BpeTrainer::add_word(std::span<const std::int32_t> symbols, std::int64_t count) {
  if (symbols.size() < 2) return;  // fewer than two symbols contain no pair
  words_.push_back({symbols_.size(), count, static_cast<std::uint32_t>(symbols.size())});
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
}

void BpeTrainer::push(std::int64_t count, std::int32_t left, std::int32_t right, std::uint64_t words) {
  queue_.push_back({count, left, right, words});
  std::push_heap(queue_.begin(), queue_.end());
}

void BpeTrainer::count_pairs() {
  // The first pass counts the words that contain each pair, and the second pass lists these words. Until
  // make_heap(), entry i of the queue belongs to pair i.
  struct Pair {
    std::uint32_t words = 0, last_word = kNone;
  };
  std::unordered_map<std::uint64_t, std::uint32_t> index;
  std::vector<Pair> pairs;
  queue_.clear();
  const auto each = [&](auto visit) {
    for (std::uint32_t w = 0; w < words_.size(); ++w) {
      const std::int32_t* symbol = symbols_.data() + words_[w].begin;
      for (std::uint32_t i = 0; i + 1 < words_[w].size; ++i)
        visit(w, symbol[i], symbol[i + 1],
              static_cast<std::uint64_t>(symbol[i]) << 32 | static_cast<std::uint32_t>(symbol[i + 1]));
    }
  };
  each([&](std::uint32_t w, std::int32_t left, std::int32_t right, std::uint64_t key) {
    const auto [place, fresh] = index.try_emplace(key, static_cast<std::uint32_t>(pairs.size()));
    if (fresh) {
      pairs.emplace_back();
      queue_.push_back({0, left, right, 0});
    }
    Pair& pair = pairs[place->second];
    queue_[place->second].count += words_[w].count;
    if (pair.last_word != w) ++pair.words;
    pair.last_word = w;
  });
  std::size_t total = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    queue_[i].words = total;
    total += 1 + pairs[i].words;
  }
  word_lists_.assign(total, 0);
  each([&](std::uint32_t w, std::int32_t, std::int32_t, std::uint64_t key) {
    std::uint32_t* list = word_lists_.data() + queue_[index.find(key)->second].words;
    if (list[0] > 0 && list[list[0]] == w) return;
    list[++list[0]] = w;
  });
  for (const Candidate& pair : queue_) counts_.add(pair.left, pair.right, pair.count);
  std::make_heap(queue_.begin(), queue_.end());
}

void BpeTrainer::Side::lose(std::int32_t token, std::int64_t count) {
  Neighbour& neighbour = neighbours[static_cast<std::size_t>(token)];
  if (!neighbour.touched) touched.push_back(token);
  neighbour.touched = true;
  neighbour.lost += count;
}

void BpeTrainer::Side::gain(std::int32_t token, std::int64_t count, std::uint32_t word) {
  Neighbour& neighbour = neighbours[static_cast<std::size_t>(token)];
  neighbour.gained += count;
  if (neighbour.last_word == word) return;
  neighbour.last_word = word;
  ++neighbour.words;
  gainers.emplace_back(token, word);
}

void BpeTrainer::merge_in(std::uint32_t w, const BpeMerge& merge, std::size_t max_length) {
  Word& word = words_[w];
  std::int32_t* const symbols = symbols_.data() + word.begin;
  const std::size_t length = lengths_[static_cast<std::size_t>(merge.id)];
  const auto fits = [&](std::int32_t other) {
    return lengths_[static_cast<std::size_t>(other)] + length < max_length;
  };
  std::uint32_t kept = 0;  // symbols[0, kept) are final
  for (std::uint32_t i = 0; i < word.size; ++i) {
    if (symbols[i] != merge.left || i + 1 == word.size || symbols[i + 1] != merge.right) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      const std::int32_t before = symbols[kept - 1];
      left_.lose(before, word.count);
      if (fits(before)) left_.gain(before, word.count, w);
    }
    if (i + 2 < word.size) {
      const std::int32_t after = symbols[i + 2];
      right_.lose(after, word.count);
      if (fits(after)) right_.gain(after, word.count, w);
    }
    symbols[kept++] = merge.id;
    ++i;
  }
  word.size = kept;
}

void BpeTrainer::write_lists(Side& side) {
  for (const std::int32_t token : side.touched) {
    Neighbour& neighbour = side.neighbours[static_cast<std::size_t>(token)];
    if (neighbour.words == 0) continue;
    neighbour.list = word_lists_.size();
    word_lists_.resize(word_lists_.size() + 1 + neighbour.words);
    word_lists_[neighbour.list] = 0;
  }
  for (const auto& [token, word] : side.gainers) {
    std::uint32_t* list = word_lists_.data() + side.neighbours[static_cast<std::size_t>(token)].list;
    list[++list[0]] = word;
  }
  side.gainers.clear();
}

// After a merge, the new pair (id, id) has one list of words in left_ and one in right_. Replace both with
// their union, so that the pair becomes a single candidate.
void BpeTrainer::join_lists_of(std::int32_t id) {
  Neighbour& left = left_.neighbours[static_cast<std::size_t>(id)];
  Neighbour& right = right_.neighbours[static_cast<std::size_t>(id)];
  if (left.words == 0 || right.words == 0) return;
  std::vector<std::uint32_t> both;
  for (const Neighbour* one : {&left, &right}) {
    const auto begin = word_lists_.begin() + static_cast<std::ptrdiff_t>(one->list) + 1;
    both.insert(both.end(), begin, begin + one->words);
  }
  std::sort(both.begin(), both.end());
  both.erase(std::unique(both.begin(), both.end()), both.end());
  left.list = word_lists_.size();
  word_lists_.push_back(static_cast<std::uint32_t>(both.size()));
  word_lists_.insert(word_lists_.end(), both.begin(), both.end());
  right.words = 0;
}

void BpeTrainer::finish_step(const BpeMerge& merge) {
  write_lists(left_);
  write_lists(right_);
  join_lists_of(merge.id);
  // Update all counts before creating candidates, because a pair can lose occurrences on one side and gain
  // occurrences on the other side.
  for (const std::int32_t token : left_.touched) {
    const Neighbour& neighbour = left_.neighbours[static_cast<std::size_t>(token)];
    counts_.add(token, merge.left, -neighbour.lost);
    if (neighbour.gained != 0) counts_.add(token, merge.id, neighbour.gained);
  }
  for (const std::int32_t token : right_.touched) {
    const Neighbour& neighbour = right_.neighbours[static_cast<std::size_t>(token)];
    counts_.add(merge.right, token, -neighbour.lost);
    if (neighbour.gained != 0) counts_.add(merge.id, token, neighbour.gained);
  }
  const auto propose = [&](const Neighbour& neighbour, std::int32_t left, std::int32_t right) {
    if (neighbour.words == 0) return;
    const std::int64_t count = counts_.of(left, right);
    if (count > 0) push(count, left, right, neighbour.list);
  };
  for (const std::int32_t token : left_.touched)
    propose(left_.neighbours[static_cast<std::size_t>(token)], token, merge.id);
  for (const std::int32_t token : right_.touched)
    propose(right_.neighbours[static_cast<std::size_t>(token)], merge.id, token);
  for (Side* side : {&left_, &right_}) {
    for (const std::int32_t token : side->touched) side->neighbours[static_cast<std::size_t>(token)] = {};
    side->touched.clear();
  }
}

// Return the id of the merged token, or -1 if the merge is not allowed.
std::int32_t BpeTrainer::joined(const Candidate& pair, const std::string& prefix) {
  const auto left = static_cast<std::size_t>(pair.left), right = static_cast<std::size_t>(pair.right);
  std::string_view tail = tokens_[right];
  if (!prefix.empty() && tail.starts_with(prefix)) tail.remove_prefix(prefix.size());
  const std::string text = tokens_[left] + std::string(tail);
  // Several pairs can spell the same token, so a pair that was already merged can occur again. Its count then
  // continues from the old value, and the pair may be merged again, as in the reference implementation.
  const auto known = ids_.find(text);
  if (known != ids_.end()) return opaque_[static_cast<std::size_t>(known->second)] ? -1 : known->second;
  const std::size_t length = lengths_[left] + lengths_[right];
  const std::int32_t id = add_token(text, false);
  lengths_.back() = length;
  return id;
}

std::vector<BpeMerge> BpeTrainer::learn(const Limits& limits, const std::function<void(std::size_t)>& step) {
  const std::size_t max_length =
      limits.max_token_length == 0 ? std::numeric_limits<std::size_t>::max() : limits.max_token_length;
  count_pairs();
  std::vector<BpeMerge> merges;
  while (tokens_.size() < limits.vocabulary_size && !queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    const Candidate top = queue_.back();
    queue_.pop_back();
    const std::int64_t count = counts_.of(top.left, top.right);
    if (count != top.count) {  // the candidate is outdated: its count has changed
      push(count, top.left, top.right, top.words);
      continue;
    }
    if (count < std::max<std::int64_t>(1, limits.min_frequency)) break;
    const std::int32_t id = joined(top, limits.continuing_prefix);
    if (id < 0) continue;
    const BpeMerge merge{top.left, top.right, id, count};
    merges.push_back(merge);
    left_.neighbours.resize(tokens_.size());
    right_.neighbours.resize(tokens_.size());
    const std::uint64_t list = top.words;
    const std::uint32_t size = word_lists_[list];
    for (std::uint32_t i = 1; i <= size; ++i) merge_in(word_lists_[list + i], merge, max_length);
    finish_step(merge);
    if (step && merges.size() % 64 == 0) step(tokens_.size());
  }
  return merges;
}

}  // namespace regard::text

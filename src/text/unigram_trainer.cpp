#include "text/unigram_trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "base/utf8.h"
#include "text/alphabet.h"
#include "text/repeated_substrings.h"

namespace regard::text {
namespace {

constexpr std::size_t kChunk = 1024;  // number of words per task

// Return the digamma function for x > 0. For large arguments, the asymptotic series is used.
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double y = 1 / (x * x), yy = y * y;
  return result + std::log(x) + y / 24 - 7.0 / 960 * yy + 31.0 / 8064 * yy * y - 127.0 / 30720 * yy * yy;
}

}  // namespace

UnigramTrainer::UnigramTrainer(const std::vector<WordCount>& words, ThreadPool* pool)
    : words_(words), pool_(pool) {
  for (const WordCount& word : words_) {
    total_ += static_cast<double>(word.count);
    bytes_ += static_cast<double>(word.count) * static_cast<double>(word.word.size());
  }
}

void UnigramTrainer::add_seeds(const Limits& limits) {
  std::vector<char32_t> text;
  std::map<char32_t, std::int64_t> counts;
  for (const WordCount& word : words_) {
    for (const char32_t c : utf8::code_points(word.word)) {
      text.push_back(c);
      counts[c] += word.count;
    }
    text.push_back(0);
  }
  std::vector<std::pair<std::int64_t, char32_t>> letters;
  for (const auto& [c, count] : counts) letters.emplace_back(count, c);
  std::sort(letters.rbegin(), letters.rend());
  for (const auto& [count, c] : letters) pieces_.push_back({text_of(c), static_cast<double>(count)});
  std::vector<Substring> found = repeated_substrings(text, limits.max_length, pool_);
  const auto weight = [](const Substring& s) { return std::uint64_t{s.count} * s.length; };
  std::sort(found.begin(), found.end(), [&](const Substring& a, const Substring& b) {
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    // among substrings of equal weight, the one that is later in byte order comes first
    return a.rank != b.rank ? a.rank > b.rank : a.length > b.length;
  });
  for (const Substring& s : found) {
    if (pieces_.size() >= limits.seeds) break;
    pieces_.push_back(
        {utf8::encode(std::u32string_view(text.data() + s.begin, s.length)), static_cast<double>(weight(s))});
  }
  double sum = 0;
  for (const ScoredPiece& piece : pieces_) sum += piece.score;
  for (ScoredPiece& piece : pieces_) piece.score = std::log(piece.score) - std::log(sum);
}

// Call body(word, scratch, add) for all words; `body` calls add(index, value) with values of at least 0.
// Return the sum of the values for each index; no sum may exceed `largest`.
// The sums are computed in fixed point, so that they do not depend on the number of threads.
template <class Body>
std::vector<double> UnigramTrainer::sums(std::size_t size, double largest, Body body) const {
  const double scale = std::exp2(std::floor(61 - std::log2(largest + 2)));
  const std::size_t workers = pool_ != nullptr ? static_cast<std::size_t>(pool_->size()) : 1;
  std::vector<std::vector<std::int64_t>> totals(workers, std::vector<std::int64_t>(size));
  std::vector<UnigramLattice::Scratch> scratch(workers);
  const auto one = [&](std::int64_t task, int worker) {
    auto& mine = totals[static_cast<std::size_t>(worker)];
    const auto add = [&](std::size_t place, double value) { mine[place] += std::llround(value * scale); };
    const std::size_t begin = static_cast<std::size_t>(task) * kChunk;
    for (std::size_t i = begin; i < std::min(begin + kChunk, words_.size()); ++i)
      body(words_[i], scratch[static_cast<std::size_t>(worker)], add);
  };
  const auto tasks = static_cast<std::int64_t>((words_.size() + kChunk - 1) / kChunk);
  if (pool_ != nullptr) {
    pool_->parallel_for(tasks, one);
  } else {
    for (std::int64_t task = 0; task < tasks; ++task) one(task, 0);
  }
  std::vector<double> sum(size);
  for (std::size_t place = 0; place < size; ++place) {
    std::int64_t whole = 0;
    for (const auto& mine : totals) whole += mine[place];
    sum[place] = static_cast<double>(whole) / scale;
  }
  return sum;
}

std::vector<double> UnigramTrainer::expect() {
  // Upper bound of the negative log-likelihood per byte, in nats. The fixed-point sum requires a bound.
  constexpr double kSteepest = 64;
  const std::size_t size = pieces_.size();
  std::vector<double> expected =
      sums(size + 1, bytes_ * kSteepest,
           [&](const WordCount& word, UnigramLattice::Scratch& scratch, const auto& add) {
             const auto count = static_cast<double>(word.count);
             add(size, std::clamp(-lattice_.marginals(word.word, scratch), 0.0,
                                  kSteepest * static_cast<double>(word.word.size())) *
                           count);
             for (std::size_t i = 0; i < scratch.nodes.size(); ++i)
               if (scratch.nodes[i].id >= 0)
                 add(static_cast<std::size_t>(scratch.nodes[i].id), scratch.weights[i] * count);
           });
  objective_ = expected.back() / std::max(total_, 1.0);
  expected.pop_back();
  return expected;
}

// Compute new scores from expected counts by the sparse variational update (Liang et al. 2007). A piece with
// an expected count below kLeast gets the score minus infinity, so that it is removed.
void UnigramTrainer::maximise(const std::vector<double>& expected) {
  constexpr double kLeast = 0.5;
  double sum = 0;
  for (std::size_t id = 0; id < pieces_.size(); ++id)
    if (expected[id] >= kLeast) sum += expected[id];
  for (std::size_t id = 0; id < pieces_.size(); ++id)
    pieces_[id].score = expected[id] >= kLeast ? digamma(expected[id]) - digamma(sum) : kMinusInfinity;
  lattice_.set_scores(pieces_);
}

// Return the count of each piece in the best segmentations of all words. The last element is the count of
// unknown characters.
std::vector<double> UnigramTrainer::best_counts() const {
  const std::size_t size = pieces_.size();
  return sums(size + 1, bytes_,
              [&](const WordCount& word, UnigramLattice::Scratch& scratch, const auto& add) {
                lattice_.best(word.word, scratch);
                for (const std::int32_t id : scratch.path)
                  add(id < 0 ? size : static_cast<std::size_t>(id), static_cast<double>(word.count));
              });
}

void UnigramTrainer::prune(std::size_t keep) {
  const std::vector<double> counts = best_counts();
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0), log_sum = std::log(sum);
  // Compute the loss of removing each piece, assuming that the piece's best segmentation replaces it
  // everywhere.
  std::vector<ScoredPiece> kept;
  std::vector<std::pair<double, std::size_t>> candidates;  // pairs (loss, id)
  UnigramLattice::Scratch scratch;
  for (std::size_t id = 0; id < pieces_.size(); ++id) {
    const double score = lattice_.best(pieces_[id].piece, scratch, static_cast<std::int32_t>(id));
    const bool is_letter = scratch.path.empty();
    const bool is_best = is_letter || pieces_[id].score >= score;
    if (counts[id] == 0 && !is_letter) continue;  // no word's best segmentation contains the piece
    if (!is_best || is_letter) {
      kept.push_back(pieces_[id]);
      continue;
    }
    // Increase of the sum of counts, as in Hugging Face's trainer. In sentencepiece, the second factor is the
    // number of pieces in the segmentation minus 1.
    const double more = counts[id] * static_cast<double>(pieces_.size());
    const double log_sum_after = std::log(sum + more);
    double after = 0;
    for (const std::int32_t part : scratch.path)
      after += std::log(counts[part < 0 ? pieces_.size() : static_cast<std::size_t>(part)] + counts[id]) -
               log_sum_after;
    candidates.emplace_back(counts[id] / total_ * (std::log(counts[id]) - log_sum - after), id);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [loss, id] : candidates) {
    if (kept.size() >= keep) break;
    kept.push_back(pieces_[id]);
  }
  pieces_ = std::move(kept);
  lattice_ = UnigramLattice(pieces_);
}

std::vector<ScoredPiece> UnigramTrainer::finished(std::size_t size,
                                                  const std::vector<char32_t>& required) const {
  // Each required character that is not a piece gets a different score: the lowest score of all pieces, plus
  // kStep for each such character before it.
  constexpr double kStep = 0.0001;
  std::unordered_map<std::string, double> scores;
  for (const ScoredPiece& piece : pieces_) scores.emplace(piece.piece, piece.score);
  std::vector<ScoredPiece> result;
  std::unordered_set<std::string> taken;
  double missing = lattice_.lowest_score();
  for (const char32_t c : required) {
    const std::string text = text_of(c);
    const auto known = scores.find(text);
    result.push_back({text, known != scores.end() ? known->second : missing});
    if (known == scores.end()) missing += kStep;
    taken.insert(text);
  }
  for (const ScoredPiece& piece : pieces_) {
    if (result.size() >= size) break;
    if (taken.count(piece.piece) == 0) result.push_back(piece);
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const ScoredPiece& a, const ScoredPiece& b) { return a.score > b.score; });
  return result;
}

std::vector<ScoredPiece> UnigramTrainer::learn(const Limits& limits, const std::vector<char32_t>& required,
                                               const std::function<void(double)>& progress) {
  add_seeds(limits);
  lattice_ = UnigramLattice(pieces_);
  const std::size_t goal = (limits.pieces + limits.special_tokens) * 11 / 10;
  const double seeds = static_cast<double>(std::max(pieces_.size(), goal + 1));
  for (;;) {
    for (int i = 0; i < limits.sub_iterations; ++i) maximise(expect());
    std::erase_if(pieces_, [](const ScoredPiece& piece) { return piece.score == kMinusInfinity; });
    lattice_ = UnigramLattice(pieces_);
    const double size = static_cast<double>(std::max<std::size_t>(pieces_.size(), 1));
    if (progress) progress(std::log(seeds / size) / std::log(seeds / static_cast<double>(goal)));
    // Add 1 because the reference implementation counts its unknown token as a piece.
    if (pieces_.size() + 1 <= goal) break;
    const auto shrunk = static_cast<std::size_t>(static_cast<double>(pieces_.size() + 1) * limits.shrinking);
    const std::size_t before = pieces_.size();
    prune(std::max(goal, shrunk) - 1);
    if (pieces_.size() == before) break;  // no more pieces can be removed
  }
  return finished(limits.pieces, required);
}

}  // namespace regard::text

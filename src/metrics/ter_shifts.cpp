#include "metrics/ter_shifts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace regard::metrics {
namespace {

// Limits of Tercom's search.
constexpr int kMaxShiftSize = 10;      // words
constexpr int kMaxShiftDistance = 50;  // words
constexpr int kBeamWidth = 25;         // cells on each side of the diagonal
constexpr int kMaxCandidates = 1000;   // maximum number of shifts tried per pair of lines

using Words = std::u32string;

enum class Edit : char { keep, replace, only_hypothesis, only_reference, none };

struct Cell {
  std::int64_t cost = std::numeric_limits<std::int64_t>::max() / 2;
  Edit edit = Edit::none;
};

// Alignment of a hypothesis and a reference. The error flags mark the words that an edit changes.
struct Alignment {
  // [reference words]: index of the aligned hypothesis word or, if there is none, of the last hypothesis word
  // before it; −1 means before the first word
  std::vector<int> hypothesis_of;
  std::vector<bool> reference_error, hypothesis_error;

  static bool any(const std::vector<bool>& errors, int begin, int length) {
    return std::any_of(errors.begin() + begin, errors.begin() + begin + length,
                       [](bool error) { return error; });
  }
};

// Table of the Levenshtein distance between a reference and hypotheses of one length, computed only near the
// diagonal. Consecutive hypotheses with a common prefix reuse the table rows of the prefix.
class EditTable {
 public:
  EditTable(std::u32string_view reference, std::size_t length)
      : reference_(reference), rows_(length + 1, std::vector<Cell>(reference.size() + 1)) {
    for (std::size_t j = 0; j <= reference.size(); ++j)
      rows_[0][j] = {static_cast<std::int64_t>(j), Edit::only_reference};
  }

  std::int64_t distance(const Words& hypothesis) {
    std::size_t known = 0;
    if (filled_)
      known = static_cast<std::size_t>(
          std::mismatch(hypothesis.begin(), hypothesis.end(), hypothesis_.begin()).first -
          hypothesis.begin());
    for (std::size_t i = known + 1; i <= hypothesis.size(); ++i) fill_row(i, hypothesis[i - 1]);
    hypothesis_ = hypothesis;
    filled_ = true;
    return rows_.back().back().cost;
  }

  Alignment alignment() const {
    std::vector<Edit> edits;  // edits in reverse order
    for (std::size_t i = rows_.size() - 1, j = reference_.size(); i > 0 || j > 0;) {
      const Edit edit = rows_[i][j].edit;
      edits.push_back(edit);
      if (edit != Edit::only_reference) --i;
      if (edit != Edit::only_hypothesis) --j;
    }
    Alignment result;
    int place = -1;  // index of the current hypothesis word
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      const bool error = *edit != Edit::keep;
      if (*edit != Edit::only_reference) {
        ++place;
        result.hypothesis_error.push_back(error);
      }
      if (*edit != Edit::only_hypothesis) {
        result.hypothesis_of.push_back(place);
        result.reference_error.push_back(error);
      }
    }
    return result;
  }

 private:
  void fill_row(std::size_t i, char32_t word) {
    const std::size_t length = rows_.size() - 1, columns = reference_.size() + 1;
    const double ratio = static_cast<double>(reference_.size()) / static_cast<double>(length);
    // If the reference is more than 50 times as long as the hypothesis, widen the beam so that it overlaps
    // the beam of the previous row.
    const int width =
        kBeamWidth < ratio / 2 ? static_cast<int>(std::ceil(ratio / 2 + kBeamWidth)) : kBeamWidth;
    const int diagonal = static_cast<int>(std::floor(static_cast<double>(i) * ratio));
    const auto begin = static_cast<std::size_t>(std::max(0, diagonal - width));
    const std::size_t end =
        i == length ? columns : std::min(columns, static_cast<std::size_t>(std::max(0, diagonal + width)));
    std::vector<Cell>& row = rows_[i];
    const std::vector<Cell>& above = rows_[i - 1];
    std::fill(row.begin(), row.end(), Cell{});
    for (std::size_t j = begin; j < end; ++j) {
      if (j == 0) {
        row[0] = {above[0].cost + 1, Edit::only_hypothesis};
        continue;
      }
      const bool same = word == reference_[j - 1];
      // If costs are equal, the first option is used.
      const Cell options[] = {{above[j - 1].cost + (same ? 0 : 1), same ? Edit::keep : Edit::replace},
                              {above[j].cost + 1, Edit::only_hypothesis},
                              {row[j - 1].cost + 1, Edit::only_reference}};
      for (const Cell& option : options)
        if (option.cost < row[j].cost) row[j] = option;
    }
  }

  std::u32string_view reference_;
  std::vector<std::vector<Cell>> rows_;  // [hypothesis words + 1][reference words + 1]
  Words hypothesis_;
  bool filled_ = false;
};

// Return `words` with the words [start, start + length) moved to before the word at `target`.
Words shifted(const Words& words, std::size_t start, std::size_t length, std::size_t target) {
  Words phrase = words.substr(start, length), rest = words.substr(0, start) + words.substr(start + length);
  const std::size_t place = target <= start ? target : target > start + length ? target - length : target;
  return rest.insert(std::min(place, rest.size()), phrase);
}

struct Candidate {
  std::int64_t gain;
  int length, start, target;
  Words words;

  // Prefer the larger gain, then the longer phrase, then the lower start, then the lower target.
  bool better_than(const Candidate& other) const {
    return std::tuple(gain, length, -start, -target) >
           std::tuple(other.gain, other.length, -other.start, -other.target);
  }
};

class ShiftSearch {
 public:
  ShiftSearch(std::u32string_view hypothesis, std::u32string_view reference)
      : words_(hypothesis), reference_(reference), table_(reference, hypothesis.size()) {}

  std::int64_t edits() {
    std::int64_t shifts = 0;
    while (true) {
      best_.reset();
      try_all();
      if (tried_ >= kMaxCandidates || !best_ || best_->gain <= 0) break;
      ++shifts;
      words_ = best_->words;
    }
    return shifts + table_.distance(words_);
  }

 private:
  // Try to shift every phrase that both lines contain.
  void try_all() {
    before_ = table_.distance(words_);
    alignment_ = table_.alignment();
    const int hypothesis = static_cast<int>(words_.size()), reference = static_cast<int>(reference_.size());
    for (int start = 0; start < hypothesis; ++start)
      for (int aim = std::max(0, start - kMaxShiftDistance);
           aim < reference && aim <= start + kMaxShiftDistance; ++aim)
        for (int length = 1;
             length <= kMaxShiftSize && start + length <= hypothesis && aim + length <= reference; ++length) {
          const auto at = [length](int begin) { return static_cast<std::size_t>(begin + length - 1); };
          if (words_[at(start)] != reference_[at(aim)]) break;
          try_phrase(start, aim, length);
          if (tried_ >= kMaxCandidates) return;
        }
  }

  void try_phrase(int start, int aim, int length) {
    if (!Alignment::any(alignment_.hypothesis_error, start, length)) return;
    if (!Alignment::any(alignment_.reference_error, aim, length)) return;
    const int aligned = alignment_.hypothesis_of[static_cast<std::size_t>(aim)];
    // reference word `aim` is already aligned with a word of the phrase
    if (start <= aligned && aligned < start + length) return;
    int previous = -1;
    for (int offset = -1; offset < length; ++offset) {
      // Move the phrase to after the hypothesis word that is aligned with reference word `before`.
      const int before = aim + offset;
      if (before >= static_cast<int>(reference_.size())) break;
      const int target = before < 0 ? 0 : alignment_.hypothesis_of[static_cast<std::size_t>(before)] + 1;
      if (target == previous) continue;
      previous = target;
      Words words = shifted(words_, static_cast<std::size_t>(start), static_cast<std::size_t>(length),
                            static_cast<std::size_t>(target));
      const std::int64_t gain = before_ - table_.distance(words);
      Candidate candidate{gain, length, start, target, std::move(words)};
      ++tried_;
      if (!best_ || candidate.better_than(*best_)) best_ = std::move(candidate);
    }
  }

  Words words_;
  std::u32string_view reference_;
  EditTable table_;
  Alignment alignment_;
  std::int64_t before_ = 0;
  std::optional<Candidate> best_;
  int tried_ = 0;
};

}  // namespace

std::int64_t edits_with_shifts(std::u32string_view hypothesis, std::u32string_view reference) {
  if (reference.empty()) return static_cast<std::int64_t>(hypothesis.size());
  return ShiftSearch(hypothesis, reference).edits();
}

}  // namespace regard::metrics

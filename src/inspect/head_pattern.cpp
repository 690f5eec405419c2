#include "inspect/head_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace regard::inspect {
namespace {

constexpr double kEnoughShare = 0.4, kEnoughSpread = 0.9;

// Computes the HeadSummary of one attention map.
class Summary {
 public:
  Summary(const View& view, const Map& map)
      : map_(map),
        cross_(map.head.kind == Kind::cross),
        rows_(view.row_labels(map)),
        columns_(view.column_labels(map)),
        special_rows_(view.special_rows(map)),
        special_columns_(view.special_columns(map)),
        grid_(view.size && map.head.kind == Kind::encoder ? view.size->input : InputSpec()),
        column_means_(static_cast<std::size_t>(map.columns), 0.0) {
    for (std::int64_t row = 0; row < map.rows; ++row)
      for (std::int64_t column = 0; column < map.columns; ++column)
        column_means_[static_cast<std::size_t>(column)] +=
            map.at(row, column) / static_cast<double>(map.rows);
  }

  HeadSummary make() const {
    HeadSummary out;
    PatternShares& shares = out.shares;
    double possible = 0, counted = 0;
    for (std::int64_t row = 0; row < map_.rows; ++row) {
      if (!counts(row)) continue;
      ++counted;
      add_row(row, shares);
      out.entropy += entropy(row);
      possible += std::log2(static_cast<double>(visible(row)));
      out.telling += informative(row);
      for (std::int64_t column = 0; column < map_.columns && !cross_; ++column)
        out.distance += map_.at(row, column) * distance(row, column);
    }
    counted = std::max(counted, 1.0);
    for (double& share : shares) share /= counted;
    out.entropy /= counted, out.distance /= counted, out.telling /= counted;
    out.spread = possible > 0 ? out.entropy * counted / possible : 0;
    choose_pattern(out);
    out.caption = caption(out);
    if (cross_) out.telling += 1;
    return out;
  }

 private:
  bool special(const std::vector<bool>& flags, std::int64_t index) const {
    return static_cast<std::size_t>(index) < flags.size() && flags[static_cast<std::size_t>(index)];
  }
  bool counts(std::int64_t row) const {
    const bool all = std::count(special_rows_.begin(), special_rows_.end(), true) == map_.rows;
    return all || !special(special_rows_, row);
  }
  // Return |row − column| or, for two patches of an image, their Euclidean distance in the patch grid. If one
  // of the two is a special token of the image, such as the class token, the distance is 0.
  double distance(std::int64_t row, std::int64_t column) const {
    if (grid_.patch_columns == 0) return static_cast<double>(std::abs(row - column));
    if (row < grid_.specials || column < grid_.specials) return 0;
    const std::int64_t from = row - grid_.specials, to = column - grid_.specials, width = grid_.patch_columns;
    const std::int64_t rows = from / width - to / width, columns = from % width - to % width;
    return std::hypot(static_cast<double>(rows), static_cast<double>(columns));
  }
  // Return the number of keys that the query may attend to.
  std::int64_t visible(std::int64_t row) const {
    const std::int64_t position = row + map_.columns - map_.rows, window = map_.range.window;
    std::int64_t first = 0, last = map_.causal() ? position : map_.columns - 1;
    if (window > 0)
      first = std::max(first, position - window + 1), last = std::min(last, position + window - 1);
    return last - first + 1;
  }
  double entropy(std::int64_t row) const {
    double bits = 0;
    for (std::int64_t column = 0; column < map_.columns; ++column)
      if (const double weight = map_.at(row, column); weight > 0) bits -= weight * std::log2(weight);
    return bits;
  }
  // Return true if the column is at most 1 from the diagonal of the map. A map with a single row has no
  // diagonal.
  bool close_to_diagonal(std::int64_t row, std::int64_t column) const {
    if (map_.rows < 2) return false;
    const double across = static_cast<double>(row) / static_cast<double>(map_.rows - 1);
    return std::abs(across * static_cast<double>(map_.columns - 1) - static_cast<double>(column)) <= 1.0;
  }
  void add_row(std::int64_t row, PatternShares& shares) const {
    const auto share = [&shares](Pattern pattern) -> double& {
      return shares[static_cast<std::size_t>(pattern)];
    };
    for (std::int64_t column = 0; column < map_.columns; ++column) {
      const double weight = map_.at(row, column);
      if (special(special_columns_, column)) share(Pattern::special) += weight;
      if (column == 0 && (cross_ || row > 0)) share(Pattern::first) += weight;
      if (cross_) {
        if (close_to_diagonal(row, column)) share(Pattern::diagonal) += weight;
        continue;
      }
      if (column == row) share(Pattern::same) += weight;
      if (column == row - 1) share(Pattern::previous) += weight;
      if (column == row + 1) share(Pattern::next) += weight;
      if (column != row && rows_[static_cast<std::size_t>(row)] == columns_[static_cast<std::size_t>(column)])
        share(Pattern::same_word) += weight;
    }
  }
  double informative(std::int64_t row) const {
    double most = 0;
    for (std::int64_t column = cross_ ? 0 : 1; column < map_.columns; ++column) {
      if (special(special_columns_, column) || (!cross_ && std::abs(row - column) <= 1)) continue;
      most = std::max(most, map_.at(row, column) - column_means_[static_cast<std::size_t>(column)]);
    }
    return most;
  }
  std::string caption(const HeadSummary& summary) const {
    const std::string percent = fmt::format("{:.0f} %", 100 * summary.share);
    switch (summary.pattern) {
      case Pattern::previous:
        return "Each token attends to the one before it: " + percent + " of the weight.";
      case Pattern::next:
        return "Each token attends to the one after it: " + percent + " of the weight.";
      case Pattern::same:
        return "Each token attends to itself: " + percent + " of the weight.";
      case Pattern::same_word:
        return "Tokens attend to other occurrences of themselves: " + percent + " of the weight.";
      case Pattern::first:
        return "Most weight is on the first token: " + percent +
               ". This is common where no token matches the head's pattern.";
      case Pattern::special:
        return "Most weight is on special tokens: " + percent +
               ". This is common where no token matches the head's pattern.";
      case Pattern::diagonal:
        return "Attention follows the order of the source: " + percent +
               " of the weight is near the diagonal.";
      case Pattern::spread:
        return "Attention is spread nearly evenly: " + percent + " of the largest possible entropy.";
      case Pattern::content:
        break;
    }
    return "No single position explains the weights: they depend on the tokens.";
  }

  const Map& map_;
  bool cross_;
  std::span<const std::string> rows_, columns_;
  std::vector<bool> special_rows_, special_columns_;
  InputSpec grid_;                    // the grid of patches; patch_columns is 0 if there is none
  std::vector<double> column_means_;  // mean attention weight of each key over all queries
};

}  // namespace

const char* name_of(Pattern pattern) noexcept {
  constexpr const char* kNames[] = {"previous", "next",     "same",   "same word", "first",
                                    "special",  "diagonal", "spread", "content"};
  return kNames[static_cast<std::size_t>(pattern)];
}

void choose_pattern(HeadSummary& summary) {
  const auto best = std::max_element(summary.shares.begin(), summary.shares.end());
  summary.share = *best;
  if (*best >= kEnoughShare) {
    summary.pattern = static_cast<Pattern>(best - summary.shares.begin());
  } else if (summary.spread >= kEnoughSpread) {
    summary.pattern = Pattern::spread;
    summary.share = summary.spread;
  }
}

HeadSummary summarize(const View& view, const Map& map) {
  return Summary(view, map).make();
}

void summarize_maps(View& view) {
  for (Map& map : view.maps)
    if (!map.summary) map.summary = summarize(view, map);
}

std::vector<std::size_t> ranked_maps(const View& view) {
  std::vector<double> telling;
  for (const Map& map : view.maps)
    telling.push_back(map.summary ? map.summary->telling : summarize(view, map).telling);
  std::vector<std::size_t> order(view.maps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return telling[a] > telling[b]; });
  return order;
}

}  // namespace regard::inspect

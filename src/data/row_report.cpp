#include "data/row_report.h"

#include <fmt/format.h>

#include <numeric>

#include "base/counted.h"

namespace regard::data {
namespace {

constexpr std::array<const char*, kSkipReasons> kPhrases{"with an empty text skipped",
                                                         "not UTF-8 skipped",
                                                         "malformed skipped",
                                                         "with too many characters skipped",
                                                         "with too many tokens skipped",
                                                         "rejected"};

std::string place_name(const Place& place) {
  return place.line < 0 ? place.file : fmt::format("{}:{}", place.file, place.line);
}

}  // namespace

void RowReport::skip(SkipReason reason, Place place, std::string what) {
  const auto i = static_cast<std::size_t>(reason);
  if (counts_[i]++ == 0) first_[i] = place;
  if (skipped_.size() < kListed) skipped_.push_back({reason, std::move(place), std::move(what)});
}

void RowReport::add(const RowReport& later) {
  records += later.records;
  for (std::size_t i = 0; i < kSkipReasons; ++i) {
    if (counts_[i] == 0) first_[i] = later.first_[i];
    counts_[i] += later.counts_[i];
  }
  for (const SkippedRow& row : later.skipped_)
    if (skipped_.size() < kListed) skipped_.push_back(row);
}

std::int64_t RowReport::total_skipped() const {
  return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
}

std::string RowReport::text() const {
  std::string text = counted(records, "record");
  for (std::size_t i = 0; i < kSkipReasons; ++i)
    if (counts_[i] > 0)
      text += fmt::format("; {} {} (first: {})", counts_[i], kPhrases[i], place_name(first_[i]));
  return text;
}

void RowReport::refuse_more_than(double most, const std::string& key) const {
  const std::int64_t skipped_rows = total_skipped(), all = records + skipped_rows;
  if (static_cast<double>(skipped_rows) <= most * static_cast<double>(all)) return;
  Error error(ErrorKind::bad_file, "too many rows are skipped", skipped_.front().place);
  error.found(fmt::format("{} of {} rows; {}", skipped_rows, all, text()))
      .expected(fmt::format("at most {:g} %", 100.0 * most))
      .remedy("Correct the rows, or allow a larger fraction with " + key);
  throw error;
}

}  // namespace regard::data

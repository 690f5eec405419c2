// Numbers of rows read and skipped, with the location and the reason of each skipped row.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "regard/error.h"

namespace regard::data {

// Treatment of a faulty row. `keep` is valid only for empty texts.
enum class Faulty { refuse, skip, keep };

enum class SkipReason {
  empty,      // the text is empty or only white space
  bad_utf8,   // the row is not UTF-8
  malformed,  // wrong number of columns, text after a closing quote, invalid JSON, a missing or wrong value
  too_long,   // more characters than allowed
  too_many_tokens,  // more tokens than allowed
  rejected,  // skipped by the caller, for example for a label outside the list, or a span outside the text
};
constexpr std::size_t kSkipReasons = 6;

struct SkippedRow {
  SkipReason reason = SkipReason::empty;
  Place place;
  std::string what;  // text of the error; may be empty
};

class RowReport {
 public:
  // maximum number of rows in skipped(); further rows are only counted
  static constexpr std::size_t kListed = 1000;

  std::int64_t records = 0;  // number of rows read and not skipped

  // Count a skipped row.
  void skip(SkipReason reason, Place place, std::string what = "");
  // Call read(). If it throws bad_file and `malformed` is Faulty::skip, count `row` as malformed and return
  // false. The type of `row` has a function place().
  template <class Row, class Read>
  bool read_or_skip(Faulty malformed, const Row& row, Read&& read) {
    try {
      read();
    } catch (const Error& error) {
      if (malformed != Faulty::skip || error.kind() != ErrorKind::bad_file) throw;
      skip(SkipReason::malformed, row.place(), error.message());
      return false;
    }
    return true;
  }
  // Add a report of rows that were read after the rows of this report.
  void add(const RowReport& later);

  std::int64_t count(SkipReason reason) const { return counts_[static_cast<std::size_t>(reason)]; }
  std::int64_t total_skipped() const;
  // skipped rows, in the order of reading
  const std::vector<SkippedRow>& skipped() const { return skipped_; }

  // Return a message such as "29000 records; 2 with an empty text skipped (first: FILE:LINE)".
  std::string text() const;
  // Throw bad_file if more than `most` of all rows (a fraction from 0 to 1) were skipped. `key` is the
  // setting that the error message suggests changing.
  void refuse_more_than(double most, const std::string& key) const;

 private:
  std::array<std::int64_t, kSkipReasons> counts_{};
  std::array<Place, kSkipReasons> first_;
  std::vector<SkippedRow> skipped_;
};

}  // namespace regard::data

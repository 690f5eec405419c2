// Finds records that occur in both the training data and the validation data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "regard/error.h"

namespace regard::data {

// Counts validation records that are also in the training data. Records are equal if all their texts are
// equal; they are compared by a 64-bit hash, and memory use depends only on the number of validation records.
class SplitDuplicates {
 public:
  // Add a validation record. All validation records must be added before the first call of check_training().
  void add_validation(std::span<const std::string> texts, const Place& place);
  void check_training(std::span<const std::string> texts, const Place& place);

  // number of validation records that are also in the training data
  std::int64_t count() const { return count_; }
  // Return a message such as "duplicates: 2 of 872 validation records are also in the training data (first:
  // FILE:LINE and FILE:LINE)"; "" if there are none.
  std::string text() const;

 private:
  struct Record {
    Place place;  // location of the first validation record with this hash
    std::int64_t times = 0;
    bool in_training = false;
  };
  std::unordered_map<std::uint64_t, Record> records_;
  std::int64_t validation_ = 0, count_ = 0;
  Place first_validation_, first_training_;
};

}  // namespace regard::data

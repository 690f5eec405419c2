#include "data/duplicates.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace regard::data {
namespace {

std::uint64_t hash_of_texts(std::span<const std::string> texts) {
  Xxh3Stream hash;
  for (const std::string& text : texts) {
    const std::uint64_t size = text.size();
    hash.add(std::as_bytes(std::span(&size, 1)));
    hash.add(std::as_bytes(std::span(text.data(), text.size())));
  }
  return hash.value();
}

}  // namespace

void SplitDuplicates::add_validation(std::span<const std::string> texts, const Place& place) {
  Record& record = records_[hash_of_texts(texts)];
  if (record.times++ == 0) record.place = place;
  ++validation_;
}

void SplitDuplicates::check_training(std::span<const std::string> texts, const Place& place) {
  if (records_.empty()) return;
  const auto found = records_.find(hash_of_texts(texts));
  if (found == records_.end() || found->second.in_training) return;
  found->second.in_training = true;
  if (count_ == 0) {
    first_validation_ = found->second.place;
    first_training_ = place;
  }
  count_ += found->second.times;
}

std::string SplitDuplicates::text() const {
  if (count_ == 0) return "";
  return fmt::format(
      "duplicates: {} of {} validation records are also in the training data (first: {}:{} and {}:{})",
      count_, validation_, first_validation_.file, first_validation_.line, first_training_.file,
      first_training_.line);
}

}  // namespace regard::data

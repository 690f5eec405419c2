#include "train/encode.h"

namespace regard::train {

std::vector<std::vector<std::int32_t>> encode_all(const text::Tokenizer& tokenizer,
                                                  std::span<const std::string> texts,
                                                  const text::EncodeOptions& options, ThreadPool& pool) {
  std::vector<std::vector<std::int32_t>> ids(texts.size());
  pool.parallel_for(static_cast<std::int64_t>(texts.size()), [&](std::int64_t i, int) {
    const auto index = static_cast<std::size_t>(i);
    ids[index] = tokenizer.encode_ids(texts[index], options);
  });
  return ids;
}

void end_with(std::vector<std::int32_t>& ids, std::int32_t end) {
  if (end >= 0 && (ids.empty() || ids.back() != end)) ids.push_back(end);
}

namespace {

constexpr text::EncodeOptions kPlainText{.add_special = false, .match_special = false};
// approximate minimum number of bytes per part; the parts of a text are encoded in parallel
constexpr std::size_t kPart = 1 << 16;

}  // namespace

std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool) {
  const auto parts = tokenizer.parts_of(whole, kPart, kPlainText.match_special);
  const text::IdRows rows = tokenizer.encode_rows(parts, kPlainText, &pool);
  return {rows.ids().begin(), rows.ids().end()};
}

void StreamEncoder::encode(std::span<const std::string_view> parts) {
  const text::IdRows rows = tokenizer_.encode_rows(parts, kPlainText, &pool_);
  sink_(rows.ids());
}

void StreamEncoder::add(std::string_view piece) {
  buffer_ += piece;
  if (buffer_.size() < most_) return;
  const auto parts = tokenizer_.parts_of(buffer_, kPart, kPlainText.match_special);
  // Later text can change the boundaries of the last parts that parts_of() returns, so the last two parts
  // remain in the buffer.
  constexpr std::size_t kKept = 2;
  if (parts.size() <= kKept) {
    most_ = 2 * buffer_.size();
    return;
  }
  const auto whole = std::span(parts).first(parts.size() - kKept);
  encode(whole);
  buffer_.erase(0, static_cast<std::size_t>(parts[whole.size()].data() - buffer_.data()));
}

void StreamEncoder::finish() {
  encode(tokenizer_.parts_of(buffer_, kPart, kPlainText.match_special));
  buffer_.clear();
}

}  // namespace regard::train

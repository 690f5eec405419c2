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

std::vector<std::int32_t> encode_stream(const text::Tokenizer& tokenizer, const std::string& whole,
                                        ThreadPool& pool) {
  constexpr text::EncodeOptions kPlain{.add_special = false, .match_special = false};
  constexpr std::size_t kPart = 1 << 16;  // bytes
  const auto parts = tokenizer.parts_of(whole, kPart, kPlain.match_special);
  const text::IdRows rows = tokenizer.encode_rows(parts, kPlain, &pool);
  return {rows.ids().begin(), rows.ids().end()};
}

}  // namespace regard::train

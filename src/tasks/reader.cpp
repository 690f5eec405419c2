#include "tasks/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/plain_text.h"
#include "regard/error.h"

namespace regard::tasks {

Reader::Reader(const infer::LoadedModel& loaded, const Options& options)
    : tokenizer_(loaded.source),
      normalizes_whitespace_(loaded.normalizes_whitespace),
      source_end_(loaded.source_end),
      most_(options.most_tokens),
      cut_(options.cut) {
  const std::int64_t max_positions = loaded.model->max_positions();
  if (most_ == 0) most_ = max_positions;
  if (max_positions > 0 && most_ > max_positions)
    throw usage_error("the maximum length exceeds the model's maximum number of positions")
        .found(std::to_string(most_))
        .expected(fmt::format("at most {}", counted(max_positions, "token")));
  const auto added = static_cast<std::int64_t>(tokenizer_->before().size() + tokenizer_->after().size());
  if (most_ < 0 || (most_ > 0 && most_ <= added))
    throw usage_error("the maximum length is too small for the special tokens and text")
        .found(counted(most_, "token"))
        .expected(fmt::format("more than the {} special tokens of every text", added));
}

void Reader::require_room(std::size_t tokens) const {
  if (most_ == 0 || cut_ || static_cast<std::int64_t>(tokens) <= most_) return;
  throw input_error(infer::kTextTooLong)
      .found(counted(tokens, "token"))
      .expected(fmt::format("at most {}", most_))
      .remedy("Split the text");
}

Input Reader::read_text(std::string_view text, bool marked) const {
  Input input;
  const text::EncodeOptions options{.add_special = true, .match_special = marked};
  input.ids = normalizes_whitespace_ ? tokenizer_->encode_ids(normalize_whitespace(text), options)
                                     : tokenizer_->encode_ids(text, options);
  if (source_end_ >= 0 && (input.ids.empty() || input.ids.back() != source_end_))
    input.ids.push_back(source_end_);
  require_room(input.ids.size());
  const auto most = static_cast<std::size_t>(most_);
  if (most_ == 0 || input.ids.size() <= most) return input;
  const auto after = tokenizer_->after();
  input.ids.resize(most);
  std::copy(after.begin(), after.end(), input.ids.end() - static_cast<std::ptrdiff_t>(after.size()));
  if (source_end_ >= 0) input.ids.back() = source_end_;
  input.cut = true;
  return input;
}

Input Reader::read(std::string_view first, std::string_view second) const {
  text::EncodeOptions options{.add_special = true, .match_special = false, .as_file = false};
  if (cut_ && most_ > 0) options.truncation = text::Truncation{.max_length = static_cast<std::size_t>(most_)};
  text::Encoding encoding = tokenizer_->encode_pair(first, second, options);
  require_room(encoding.ids.size());
  return Input({std::move(encoding.ids), std::move(encoding.type_ids)}, !encoding.overflowing.empty());
}

}  // namespace regard::tasks

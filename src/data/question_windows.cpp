#include "data/question_windows.h"

#include <fmt/format.h>

#include "regard/error.h"

namespace regard::data {
namespace {

// Return the window for `part`, an encoding of the question and a part of the text. The first `asked` tokens
// that are not special belong to the question.
QuestionWindow window_of(const text::Encoding& part, std::size_t asked) {
  QuestionWindow window{part.ids, part.type_ids, 0, {}, {}, {}};
  std::size_t plain = 0;
  for (std::size_t t = 0; t < part.size(); ++t) {
    if (part.special_mask[t] != 0 || plain++ < asked) continue;
    if (window.bytes.empty()) window.first = t;
    window.bytes.push_back(part.byte_offsets[t]);
    window.characters.push_back(part.offsets[t]);
    window.words.push_back(part.words[t]);
  }
  return window;
}

}  // namespace

std::vector<QuestionWindow> question_windows(const text::Tokenizer& tokenizer, std::string_view question,
                                             std::string_view text, const WindowSize& size) {
  text::EncodeOptions options{.add_special = true, .match_special = false, .as_file = false};
  const std::size_t asked =
      tokenizer.encode_ids(question, {.add_special = false, .match_special = false}).size();
  options.truncation = text::Truncation{.max_length = static_cast<std::size_t>(size.length),
                                        .stride = static_cast<std::size_t>(size.stride),
                                        .strategy = text::Truncation::Strategy::only_second};
  text::Encoding encoding;
  try {
    encoding = tokenizer.encode_pair(question, text, options);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage && error.kind() != ErrorKind::invalid_input) throw;
    throw Error(ErrorKind::invalid_input, "the question is too long for the window")
        .found(
            fmt::format("a question of {} tokens, windows of {}, stride {}", asked, size.length, size.stride))
        .remedy("Shorten the question, or choose longer windows or a smaller stride");
  }
  std::vector<QuestionWindow> windows;
  const auto add = [&](const text::Encoding& part) {
    QuestionWindow window = window_of(part, asked);
    if (!window.bytes.empty()) windows.push_back(std::move(window));
  };
  add(encoding);
  for (const text::Encoding& part : encoding.overflowing) add(part);
  return windows;
}

}  // namespace regard::data

#include "infer/stop_strings.h"

#include <algorithm>
#include <utility>

#include "regard/error.h"

namespace regard::infer {
namespace {

// Number of extra tokens that ended_by() decodes before the tokens that can contain a stop string. Without
// them, the first token might be decoded differently: many tokenizers remove the space at the start of a
// text.
constexpr std::size_t kMargin = 8;

}  // namespace

StopStrings::StopStrings(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> texts)
    : tokenizer_(std::move(tokenizer)), texts_(std::move(texts)) {
  for (const std::string& text : texts_) {
    if (text.empty())
      throw usage_error("a stop string is empty").expected("a text of at least one character");
    window_ = std::max(window_, text.size() + kMargin);
  }
}

bool StopStrings::ended_by(std::span<const std::int32_t> prompt,
                           std::span<const std::int32_t> generated) const {
  if (generated.size() >= window_)
    return find(tokenizer_->decode(generated.last(window_))) != std::string::npos;
  const std::span<const std::int32_t> context = prompt.last(std::min(kMargin, prompt.size()));
  std::vector<std::int32_t> ids(context.begin(), context.end());
  ids.insert(ids.end(), generated.begin(), generated.end());
  const std::string before = tokenizer_->decode(context), text = tokenizer_->decode(ids);
  // Search after the common prefix of the two texts. The prefix may be shorter than `before`: an incomplete
  // character at the end of `before` is decoded differently once a generated token completes it.
  const auto begin = std::ranges::mismatch(before, text).in2 - text.begin();
  return find(std::string_view(text).substr(static_cast<std::size_t>(begin))) != std::string::npos;
}

std::size_t StopStrings::find(std::string_view text) const {
  std::size_t first = std::string::npos;
  for (const std::string& stop : texts_) first = std::min(first, text.find(stop));
  return first;
}

std::size_t StopStrings::begun(std::string_view text) const {
  std::size_t most = 0;
  for (const std::string& stop : texts_)
    for (std::size_t size = std::min(stop.size() - 1, text.size()); size > most; --size)
      if (text.ends_with(std::string_view(stop).substr(0, size))) most = size;
  return most;
}

std::string StopFilter::push(std::string_view text) {
  if (stops_ == nullptr) return std::string(text);
  if (stopped_) return "";
  held_ += text;
  const std::size_t stop = stops_->find(held_);
  stopped_ = stop != std::string::npos;
  const std::size_t certain = stopped_ ? stop : held_.size() - stops_->begun(held_);
  std::string shown = held_.substr(0, certain);
  held_.erase(0, certain);
  return shown;
}

std::string StopFilter::finish() {
  return stopped_ ? "" : std::exchange(held_, {});
}

}  // namespace regard::infer

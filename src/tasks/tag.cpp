#include "tasks/tag.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "regard/error.h"
#include "tasks/classify.h"
#include "tasks/probabilities.h"
#include "text/encode_words.h"

namespace regard::tasks {
namespace {

constexpr std::int64_t kWindowWithoutLimit = 512, kLongestOverlap = 128;

std::vector<std::string> checked_labels(const infer::LoadedModel& loaded, const TagOptions& options) {
  if (loaded.model->output() != Output::token_classes)
    throw usage_error("this model has no token-classification head")
        .expected("an architecture for token classification");
  const std::int64_t count = loaded.model->labels();
  std::vector<std::string> labels =
      options.labels ? *options.labels : labels_of(loaded.model->config(), count, "config.json");
  if (std::ssize(labels) != count)
    throw Error(ErrorKind::bad_file, "the number of labels does not match the model")
        .found(counted(labels.size(), "label"))
        .expected(counted(count, "label"));
  return labels;
}

std::int64_t special_tokens(const text::Tokenizer& tokenizer) {
  return std::ssize(tokenizer.before()) + std::ssize(tokenizer.after());
}

std::int64_t checked_window(const infer::LoadedModel& loaded, std::int64_t window) {
  const std::int64_t max_positions = loaded.model->max_positions(), added = special_tokens(*loaded.source);
  if (window == 0) window = max_positions > 0 ? max_positions : kWindowWithoutLimit;
  if (max_positions > 0 && window > max_positions)
    throw usage_error("the window exceeds the model's maximum number of positions")
        .found(counted(window, "token"))
        .expected(fmt::format("at most {}", counted(max_positions, "token")));
  if (window <= added)
    throw usage_error("the window is too small for the special tokens and a word")
        .found(counted(window, "token"))
        .expected(fmt::format("more than the {} tokens that are added to every text", added));
  return window;
}

std::int64_t checked_stride(std::optional<std::int64_t> stride, std::int64_t content) {
  if (!stride) return std::min(content / 4, kLongestOverlap);
  if (*stride < 0 || *stride >= content)
    throw usage_error("the stride is out of range")
        .found(counted(*stride, "token"))
        .expected(fmt::format("at least 0 and less than {} tokens", content));
  return *stride;
}

// Return the distance of a token from the nearer end of its window, in tokens. The start and the end of the
// whole text are ignored, because no context is missing there.
std::size_t context_of(const Tagger::Reading& reading, std::size_t window, std::size_t token) {
  const std::size_t tokens = reading.windows[window].places.size();
  const std::size_t left = window == 0 ? tokens : token;
  const std::size_t right = window + 1 == reading.windows.size() ? tokens : tokens - 1 - token;
  return std::min(left, right);
}

}  // namespace

Tagger::Tagger(const infer::LoadedModel& loaded, ThreadPool& pool, const TagOptions& options)
    : loaded_(loaded),
      options_(options),
      labels_(checked_labels(loaded, options)),
      aggregator_(loaded.source, options.aggregation, options.ignored),
      window_(checked_window(loaded, options.window)),
      stride_(checked_stride(options.stride, window_ - special_tokens(*loaded.source))),
      pass_(*loaded.model, pool, options.probe) {}

std::int64_t Tagger::Reading::tokens() const {
  std::int64_t sum = 0;
  for (const Window& window : windows) sum += window.input.tokens();
  return sum;
}

Tagger::Reading Tagger::windows_of(std::string text, text::Encoding encoding) const {
  Reading reading;
  reading.text = std::move(text);
  if (encoding.size() == 0) return reading;
  const auto before = loaded_.source->before(), after = loaded_.source->after();
  const auto content = static_cast<std::size_t>(window_ - special_tokens(*loaded_.source));
  const std::size_t step = content - static_cast<std::size_t>(stride_);
  const std::vector<std::int32_t> words = encoding.words;
  text::truncate(encoding, content, static_cast<std::size_t>(stride_), text::Side::right);
  const auto add = [&](const text::Encoding& part) {
    const std::size_t first = reading.windows.size() * step;  // index of the window's first token in the text
    Reading::Window window;
    window.input.ids.assign(before.begin(), before.end());
    for (std::size_t t = 0; t < part.size(); ++t) {
      const bool starts_word = first + t == 0 || words[first + t] != words[first + t - 1];
      window.places.push_back({part.ids[t], part.byte_offsets[t].begin, part.byte_offsets[t].end,
                               part.words[t], starts_word, window.input.ids.size()});
      window.input.ids.push_back(part.ids[t]);
    }
    window.input.ids.insert(window.input.ids.end(), after.begin(), after.end());
    reading.windows.push_back(std::move(window));
  };
  add(encoding);
  for (const text::Encoding& part : encoding.overflowing) add(part);
  return reading;
}

Tagger::Reading Tagger::read(std::string_view text) const {
  return windows_of(
      std::string(text),
      loaded_.source->encode(text, {.add_special = false, .match_special = false, .as_file = false}));
}

Tagger::Reading Tagger::read_words(std::span<const std::string> words) const {
  std::string text;
  std::vector<std::uint32_t> begins;
  for (const std::string& word : words) {
    if (!begins.empty()) text += ' ';
    begins.push_back(static_cast<std::uint32_t>(text.size()));
    text += word;
  }
  text::Encoding encoding = text::encode_words(*loaded_.source, words);
  for (std::size_t t = 0; t < encoding.size(); ++t) {
    const std::uint32_t begin = begins[static_cast<std::size_t>(encoding.words[t])];
    encoding.byte_offsets[t].begin += begin, encoding.byte_offsets[t].end += begin;
  }
  Reading reading = windows_of(std::move(text), std::move(encoding));
  reading.words = words.size();
  return reading;
}

// Return the probabilities [text][window] of all tokens and labels.
std::vector<std::vector<Tagger::Scores>> Tagger::scores(std::span<const Reading> readings) {
  std::vector<std::vector<Scores>> all(readings.size());
  std::vector<Input> inputs;
  // index of the text, and one of its windows
  std::vector<std::pair<std::size_t, const Reading::Window*>> windows;
  for (std::size_t i = 0; i < readings.size(); ++i)
    for (const Reading::Window& window : readings[i].windows) {
      inputs.push_back(window.input);
      windows.emplace_back(i, &window);
    }
  in_passes(inputs, [&](std::size_t first, std::size_t count) {
    const Pass::States states = pass_.run(std::span(inputs).subspan(first, count));
    const Tensor logits = pass_.head(states);  // [tokens, labels]
    const auto width = static_cast<std::size_t>(logits.columns());
    for (std::size_t w = 0; w < count; ++w) {
      const auto& [text, window] = windows[first + w];
      Scores& scores = all[text].emplace_back(window->places.size() * width);
      for (std::size_t t = 0; t < window->places.size(); ++t) {
        const std::int64_t row =
            states.batch.shape.offsets[w] + static_cast<std::int64_t>(window->places[t].index);
        const std::span<const float> from(logits.row(row), width);
        require_finite(from);
        softmax(from, std::span(scores).subspan(t * width, width));
      }
    }
  });
  return all;
}

std::vector<std::vector<Tag>> Tagger::tag(std::span<const Reading> readings) {
  const std::vector<std::vector<Scores>> probabilities = scores(readings);
  std::vector<std::vector<Tag>> all(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = readings[i];
    for (std::size_t w = 0; w < reading.windows.size(); ++w)
      for (Tag& tag : aggregator_.tags(reading.text, reading.windows[w].places, probabilities[i][w], labels_))
        all[i].push_back(std::move(tag));
    if (reading.windows.size() > 1) all[i] = TagAggregator::merge(std::move(all[i]));
  }
  return all;
}

std::vector<std::vector<std::int32_t>> Tagger::word_classes(std::span<const Reading> readings) {
  const std::vector<std::vector<Scores>> probabilities = scores(readings);
  std::vector<std::vector<std::int32_t>> all(readings.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Reading& reading = readings[i];
    all[i].assign(reading.words, -1);
    std::vector<std::size_t> context(reading.words);
    for (std::size_t w = 0; w < reading.windows.size(); ++w) {
      const auto& places = reading.windows[w].places;
      for (std::size_t t = 0; t < places.size(); ++t) {
        if (!places[t].starts_word) continue;
        const auto word = static_cast<std::size_t>(places[t].word);
        const std::size_t here = context_of(reading, w, t);
        if (all[i][word] >= 0 && here <= context[word]) continue;
        context[word] = here;
        const auto row = std::span(probabilities[i][w]).subspan(t * labels_.size(), labels_.size());
        all[i][word] = static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
      }
    }
  }
  return all;
}

}  // namespace regard::tasks

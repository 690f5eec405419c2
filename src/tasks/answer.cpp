#include "tasks/answer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/plain_text.h"
#include "data/question_windows.h"
#include "regard/error.h"
#include "tasks/probabilities.h"

namespace regard::tasks {
namespace {

constexpr std::int64_t kUsualWindow = 384, kUsualStride = 128;
// maximum number of special tokens of a pair: <s> question </s></s> text </s>
constexpr std::int64_t kMostSpecial = 4;

}  // namespace

Answerer::Answerer(const infer::LoadedModel& loaded, ThreadPool& pool, const AnswerOptions& options)
    : loaded_(loaded),
      options_(options),
      window_(options.window),
      stride_(options.stride),
      pass_(*loaded.model, pool, options.probe) {
  if (loaded.model->output() != Output::span)
    throw usage_error("this model has no question-answering head")
        .expected("an architecture for question answering");
  const std::int64_t max_positions = loaded.model->max_positions();
  if (window_ == 0) window_ = max_positions > 0 ? std::min(max_positions, kUsualWindow) : kUsualWindow;
  if (max_positions > 0 && window_ > max_positions)
    throw usage_error("the window exceeds the model's maximum number of positions")
        .found(counted(window_, "token"))
        .expected(fmt::format("at most {}", counted(max_positions, "token")));
  if (stride_ == 0) stride_ = std::min(window_ / 2, kUsualStride);
  if (stride_ < 0 || stride_ >= window_)
    throw usage_error("the stride is out of range")
        .found(counted(stride_, "token"))
        .expected(fmt::format("at least 0 and less than {} tokens", window_));
  if (options_.longest < 1 || options_.count < 1)
    throw usage_error("the number of answers or their maximum length is out of range")
        .found(fmt::format("{} answers of at most {} tokens", options_.count, options_.longest))
        .expected("at least 1 answer and 1 token");
}

std::int64_t Answerer::Reading::tokens() const {
  std::int64_t sum = 0;
  for (const Window& window : windows) sum += window.input.tokens();
  return sum;
}

std::int64_t Answerer::most_tokens(std::string_view question, std::string_view text) const {
  const text::EncodeOptions plain{.add_special = false, .match_special = false, .as_file = false};
  const auto asked = std::ssize(loaded_.source->encode_ids(question, plain));
  const auto tokens = std::ssize(loaded_.source->encode_ids(text, plain));
  const std::int64_t step = std::max<std::int64_t>(1, window_ - asked - kMostSpecial - stride_);
  return (tokens / step + 1) * window_;
}

Answerer::Reading Answerer::read(std::string_view question, std::string_view text) const {
  if (is_blank(question) || is_blank(text))
    throw input_error(is_blank(question) ? "the question is empty" : "the text is empty")
        .expected("at least one character other than white space");
  Reading reading;
  reading.text = text;
  for (data::QuestionWindow& one :
       data::question_windows(*loaded_.source, question, text, {window_, stride_})) {
    Reading::Window window{Input({std::move(one.ids), std::move(one.types)}), one.first, {}};
    for (std::size_t t = 0; t < one.bytes.size(); ++t)
      window.places.push_back({one.bytes[t].begin, one.bytes[t].end, one.words[t]});
    reading.windows.push_back(std::move(window));
  }
  if (reading.windows.empty())
    throw Error(ErrorKind::invalid_input, "the text has no tokens").expected("a text of at least one token");
  return reading;
}

// Return the best `count` spans of a window, best first; replace the logits `start` and `end` [tokens] by
// probabilities. If "no answer" is a candidate, set `none` to the minimum of `none` and the window's score of
// "no answer".
std::vector<Answerer::Span> Answerer::best_spans(const Reading::Window& window, std::span<float> start,
                                                 std::span<float> end, std::size_t count, float& none) const {
  const std::size_t first = window.first, places = window.places.size();
  // Mask the tokens outside the text, except token 0, which represents "no answer".
  for (std::size_t t = 1; t < start.size(); ++t)
    if (t < first || t >= first + places) start[t] = end[t] = -10000.0f;
  softmax(start, start);
  softmax(end, end);
  if (options_.may_be_none) none = std::min(none, start[0] * end[0]);
  const auto better = [](const Span& a, const Span& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.start != b.start ? a.start < b.start : a.end < b.end;
  };
  std::vector<Span> best;  // best spans, as a heap with the worst of them at the top
  for (std::size_t s = 0; s < places; ++s) {
    const std::size_t last = std::min(places, s + static_cast<std::size_t>(options_.longest));
    for (std::size_t e = s; e < last; ++e) {
      const Span span{s, e, start[first + s] * end[first + e]};
      if (best.size() == count && !better(span, best.front())) continue;
      if (best.size() == count) {
        std::pop_heap(best.begin(), best.end(), better);
        best.pop_back();
      }
      best.push_back(span);
      std::push_heap(best.begin(), best.end(), better);
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  return best;
}

Answer Answerer::answer_of(const Reading& reading, const Reading::Window& window, const Span& span) const {
  std::size_t first = span.start, last = span.end;
  const auto& places = window.places;
  if (options_.whole_words) {
    while (first > 0 && places[first - 1].word == places[first].word) --first;
    while (last + 1 < places.size() && places[last + 1].word == places[last].word) ++last;
  }
  Answer answer;
  answer.begin = places[first].begin, answer.end = std::max(places[last].end, places[first].begin);
  answer.text = reading.text.substr(answer.begin, answer.end - answer.begin);
  answer.score = span.score;
  return answer;
}

std::vector<Answer> Answerer::answer(const Reading& reading) {
  // Request more spans than answers, because extension to whole words can make spans equal.
  const std::size_t spans = options_.whole_words ? 2 * options_.count + 10 : options_.count;
  std::vector<Answer> answers;
  std::vector<std::string> folded;  // the answers' texts in lower case
  float none = 1e6f;
  std::vector<Input> inputs;
  for (const Reading::Window& window : reading.windows) inputs.push_back(window.input);
  in_passes(inputs, [&](std::size_t first, std::size_t count) {
    const Pass::States states = pass_.run(std::span(inputs).subspan(first, count));
    const Tensor logits = pass_.head(states);  // [tokens, 2]
    for (std::size_t w = 0; w < count; ++w) {
      const std::int64_t begin = states.batch.shape.offsets[w], end = states.batch.shape.offsets[w + 1];
      std::vector<float> starts, ends;
      for (std::int64_t t = begin; t < end; ++t)
        starts.push_back(logits.row(t)[0]), ends.push_back(logits.row(t)[1]);
      require_finite(starts), require_finite(ends);
      const Reading::Window& window = reading.windows[first + w];
      for (const Span& span : best_spans(window, starts, ends, spans, none)) {
        Answer answer = answer_of(reading, window, span);
        answer.window = first + w;
        std::string key = lower_case(answer.text);
        const auto known = std::find(folded.begin(), folded.end(), key);
        if (known != folded.end()) {
          answers[static_cast<std::size_t>(known - folded.begin())].score += answer.score;
        } else {
          answers.push_back(std::move(answer));
          folded.push_back(std::move(key));
        }
      }
    }
  });
  if (options_.may_be_none) answers.push_back({"", none, 0, 0, 0});
  std::stable_sort(answers.begin(), answers.end(),
                   [](const Answer& a, const Answer& b) { return a.score > b.score; });
  std::erase_if(answers, [this](const Answer& answer) {
    return answer.score < options_.threshold && !(options_.may_be_none && answer.text.empty());
  });
  if (answers.size() > options_.count) answers.resize(options_.count);
  return answers;
}

}  // namespace regard::tasks

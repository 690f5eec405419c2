#include "serve/regard_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "serve/http_error.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

// Maximum total number of tokens in the overlapping windows of a text for question answering. This limit and
// the next one bound the memory of a request; a request of 1 MiB could otherwise allocate many times its
// size.
constexpr std::int64_t kMostWindowTokens = std::int64_t{1} << 20;
// maximum total size, in bytes, of the texts in a response of /fill
constexpr std::size_t kMostFilledBytes = std::size_t{16} << 20;

// Calls Waiting::require() at each probe point. If the client has disconnected or the deadline has passed,
// this throws and ends the forward pass.
class DeadlineProbe final : public Probe {
 public:
  explicit DeadlineProbe(const Waiting& waiting) : waiting_(waiting) {}
  bool wants(std::string_view) override { return waiting_.require(), false; }
  void see(std::string_view, std::int64_t, const Tensor&) override {}

 private:
  const Waiting& waiting_;
};

// Return the probe of the request's interventions. If there are none, return `deadline`.
Probe* probe_or(Call& call, ModelHost& host, DeadlineProbe& deadline) {
  Probe* edits = probe_of(call, host);
  return edits != nullptr ? edits : &deadline;
}

void count_tokens(Call& call, ModelHost& host, std::int64_t tokens) {
  call.prompt_tokens += static_cast<std::uint64_t>(tokens);
  host.metrics().prompt_tokens += static_cast<std::uint64_t>(tokens);
}

}  // namespace

std::vector<tasks::Answer> answers_of(Call& call, ModelHost& host, const std::string& question,
                                      const std::string& context, tasks::AnswerOptions options) {
  DeadlineProbe deadline(call.waiting);
  options.probe = probe_or(call, host, deadline);
  tasks::Answerer answerer(host.loaded(), host.pool(), options);
  const std::int64_t most = answerer.most_tokens(question, context);
  if (most > kMostWindowTokens)
    throw HttpError(
        400,
        fmt::format(
            "expected windows of at most {} tokens in all, found {}; shorten the question or the text",
            kMostWindowTokens, most),
        "request_too_large", "context");
  const tasks::Answerer::Reading reading = answerer.read(question, context);
  count_tokens(call, host, reading.tokens());
  return answerer.answer(reading);
}

std::vector<std::vector<tasks::Filling>> fillings_of(Call& call, ModelHost& host, const std::string& text,
                                                     std::size_t count, std::vector<std::string> targets) {
  DeadlineProbe deadline(call.waiting);
  tasks::Filler filler(host.loaded(), host.pool(),
                       {{.probe = probe_or(call, host, deadline)}, std::move(targets)});
  const tasks::Input inputs[] = {filler.read(text)};
  const std::size_t masks = filler.masks_of(inputs[0]);
  if (masks * count > kMostFilledBytes / std::max<std::size_t>(1, text.size()))
    throw HttpError(400,
                    fmt::format("expected results of at most {} bytes, found {} masks with {} candidates "
                                "each in a text of {} bytes; request fewer candidates",
                                kMostFilledBytes, masks, count, text.size()),
                    "request_too_large", "text");
  count_tokens(call, host, inputs[0].tokens());
  return filler.fill(inputs, count)[0];
}

std::vector<std::vector<tasks::Tag>> tags_of(Call& call, ModelHost& host,
                                             const std::vector<std::string>& texts,
                                             const std::string& aggregation) {
  tasks::TagOptions options;
  options.aggregation = tasks::aggregation_named(aggregation);
  DeadlineProbe deadline(call.waiting);
  options.probe = probe_or(call, host, deadline);
  tasks::Tagger tagger(host.loaded(), host.pool(), options);
  std::vector<tasks::Tagger::Reading> readings;
  for (const std::string& text : texts) {
    readings.push_back(tagger.read(text));
    count_tokens(call, host, readings.back().tokens());
  }
  constexpr std::size_t kAtOnce = 32;  // number of inputs between two checks for cancellation
  std::vector<std::vector<tasks::Tag>> tags;
  for (std::size_t first = 0; first < readings.size(); first += kAtOnce) {
    call.waiting.require();
    const std::size_t count = std::min(kAtOnce, readings.size() - first);
    for (auto& one : tagger.tag(std::span(readings).subspan(first, count))) tags.push_back(std::move(one));
  }
  return tags;
}

}  // namespace regard::serve

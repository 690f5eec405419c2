#include "serve/regard_tasks.h"

#include <algorithm>
#include <span>

#include "serve/request_edits.h"

namespace regard::serve {
namespace {

void count_tokens(Call& call, ModelHost& host, std::int64_t tokens) {
  call.prompt_tokens += static_cast<std::uint64_t>(tokens);
  host.metrics().prompt_tokens += static_cast<std::uint64_t>(tokens);
}

}  // namespace

std::vector<tasks::Answer> answers_of(Call& call, ModelHost& host, const std::string& question,
                                      const std::string& context, tasks::AnswerOptions options) {
  options.probe = probe_of(call, host);
  tasks::Answerer answerer(host.loaded(), host.pool(), options);
  const tasks::Answerer::Reading reading = answerer.read(question, context);
  count_tokens(call, host, reading.tokens());
  return answerer.answer(reading);
}

std::vector<std::vector<tasks::Filling>> fillings_of(Call& call, ModelHost& host, const std::string& text,
                                                     std::size_t count, std::vector<std::string> targets) {
  tasks::Filler filler(host.loaded(), host.pool(), {{.probe = probe_of(call, host)}, std::move(targets)});
  const tasks::Input inputs[] = {filler.read(text)};
  count_tokens(call, host, inputs[0].tokens());
  return filler.fill(inputs, count)[0];
}

std::vector<std::vector<tasks::Tag>> tags_of(Call& call, ModelHost& host,
                                             const std::vector<std::string>& texts,
                                             const std::string& aggregation) {
  tasks::TagOptions options;
  options.aggregation = tasks::aggregation_named(aggregation);
  options.probe = probe_of(call, host);
  tasks::Tagger tagger(host.loaded(), host.pool(), options);
  std::vector<tasks::Tagger::Reading> readings;
  for (const std::string& text : texts) {
    readings.push_back(tagger.read(text));
    count_tokens(call, host, readings.back().tokens());
  }
  constexpr std::size_t kAtOnce = 32;  // the request can be cancelled after this many inputs
  std::vector<std::vector<tasks::Tag>> tags;
  for (std::size_t first = 0; first < readings.size(); first += kAtOnce) {
    call.waiting.require();
    const std::size_t count = std::min(kAtOnce, readings.size() - first);
    for (auto& one : tagger.tag(std::span(readings).subspan(first, count))) tags.push_back(std::move(one));
  }
  return tags;
}

}  // namespace regard::serve

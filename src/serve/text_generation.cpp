#include "serve/text_generation.h"

#include <algorithm>

#include "infer/choice.h"
#include "infer/new_tokens.h"
#include "serve/http_error.h"
#include "serve/request_edits.h"

namespace regard::serve {
namespace {

// number of preceding tokens that are decoded together with a token, because they can affect its text
constexpr std::size_t kContext = 4;

}  // namespace

TextGeneration::TextGeneration(Call& call, GenerationPlan plan) : call_(call), plan_(std::move(plan)) {
  if (plan_.input.empty()) {
    HttpError empty(400, "the prompt has no tokens", "empty_prompt");
    empty.kind = ErrorKind::invalid_input;
    throw empty;
  }
  const auto& loaded = plan_.host->loaded();
  infer::SearchOptions& search = plan_.search;
  const std::int64_t wanted = plan_.copies;
  if (search.sample) search.n_best = wanted, plan_.copies = 1;
  streams_tokens_ = search.beam == 1;
  search.report_top = streams_tokens_ ? std::max<std::int64_t>(search.report_top, 0) : -1;
  if (search.sample) plan_.copies = 1;
  search.check();
  prompt_tokens_ = std::ssize(plan_.input.ids);
  call_.prompt_tokens += static_cast<std::uint64_t>(prompt_tokens_);
  infer::Request request = infer::request_of(*loaded.model, std::move(plan_.input));
  infer::limit_new_tokens(*loaded.model, request, call_.services.options.most_new_tokens, search);
  search_ = std::make_shared<const infer::SearchOptions>(search);
  request.options = search_;
  prompt_ = request.prompt;
  const std::int64_t results = search.beam > 1 ? search.n_best : infer::width_of(search);
  for (std::int64_t i = 0; i < results; ++i) streams_.emplace_back(loaded, search, prompt_);
  choices_.resize(static_cast<std::size_t>(results));
  generator_ = generator_of(call_, *plan_.host);
  generation_ = generator_->submit(std::move(request), call_.waiting.client);
  cancels_ = call_.exchange->when_gone(
      [generator = std::weak_ptr(generator_), generation = std::weak_ptr(generation_)] {
        const auto of = generator.lock();
        const auto running = generation.lock();
        if (of && running) of->cancel(running);
      });
}

TextGeneration::~TextGeneration() {
  generator_->cancel(generation_);  // cancel() does nothing if the generation has ended
}

bool TextGeneration::take(const Generation::Token& token,
                          const std::function<bool(const StreamedPiece&)>& piece) {
  const auto index = static_cast<std::size_t>(token.sequence);
  if (plan_.token_scores) choices_[index].push_back(token.choice);
  if (!piece) return true;
  const std::string text = streams_[index].push(token.choice.token.token);
  for (std::int64_t copy = 0; copy < plan_.copies; ++copy)
    if (!piece({token.sequence + copy, text, plan_.token_scores ? &token.choice : nullptr})) return false;
  return true;
}

std::vector<GeneratedText> TextGeneration::run(const std::function<bool(const StreamedPiece&)>& piece) {
  std::vector<Generation::Token> tokens;
  for (bool ended = false; !ended;) {
    tokens.clear();
    ended = generation_->wait(tokens, call_.waiting.deadline);
    for (const Generation::Token& token : tokens)
      if (!take(token, piece)) throw HttpError(503, "the client has disconnected");
  }
  std::vector<infer::Hypothesis> hypotheses = generation_->results();
  std::vector<GeneratedText> results;
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    if (piece) {
      const std::string rest = streams_[i].finish(hypotheses[i]);
      for (std::int64_t copy = 0; copy < plan_.copies; ++copy)
        if (!rest.empty() && !piece({static_cast<std::int64_t>(i) + copy, rest, nullptr}))
          throw HttpError(503, "the client has disconnected");
    }
    call_.completion_tokens += hypotheses[i].tokens.size();
    GeneratedText result;
    result.text = plan_.host->loaded().written(hypotheses[i], *search_, prompt_);
    result.hypothesis = std::move(hypotheses[i]);
    result.choices = std::move(choices_[i]);
    results.push_back(std::move(result));
  }
  for (std::int64_t copy = 1; copy < plan_.copies && !results.empty(); ++copy) results.push_back(results[0]);
  return results;
}

std::size_t shown_tokens(const GeneratedText& text, const infer::SearchOptions& search) {
  const auto& tokens = text.hypothesis.tokens;
  const bool end = !tokens.empty() && std::find(search.end_tokens.begin(), search.end_tokens.end(),
                                                tokens.back()) != search.end_tokens.end();
  return tokens.size() - (end ? 1 : 0);
}

std::string token_text(const text::Tokenizer& tokenizer, std::span<const std::int32_t> before,
                       std::int32_t next) {
  const std::span<const std::int32_t> context = before.last(std::min(before.size(), kContext));
  std::vector<std::int32_t> ids(context.begin(), context.end());
  const std::string shorter = tokenizer.decode(ids, false);
  ids.push_back(next);
  std::string longer = tokenizer.decode(ids, false);
  if (!context.empty() && longer.starts_with(shorter)) return longer.substr(shorter.size());
  return tokenizer.decode({&next, 1}, false);
}

std::int64_t bounded_new_tokens(const Call& call, const ModelHost& host, const ModelInput& input,
                                std::int64_t wanted, std::int64_t rows) {
  const auto& loaded = host.loaded();
  const bool decoder = loaded.model->kind() == ModelKind::decoder;
  const std::int64_t prompt = std::ssize(input.ids);
  // without a given maximum, encoder–decoders use the folder's limit or derive one from the source's length
  if (wanted == 0 && !decoder) return loaded.options.max_new;
  std::int64_t most = call.services.options.most_new_tokens;
  if (wanted > 0) most = std::min(most, wanted);
  if (decoder && host.positions() > 0) most = std::min(most, host.positions() - prompt);
  // The cache is reserved in whole pages. A request without a maximum length gets at most half of the cache.
  const std::int64_t cache = host.cache_tokens() / std::max<std::int64_t>(1, rows) - 2 * kPageTokens;
  most = std::min(most, (wanted > 0 ? cache : cache / 2) - (decoder ? prompt : 0));
  if (most < 1)
    throw HttpError(
        400, "the prompt of " + std::to_string(prompt) + " tokens leaves no room for new tokens; shorten it",
        "context_length_exceeded");
  return most;
}

}  // namespace regard::serve

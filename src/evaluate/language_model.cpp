#include "evaluate/language_model.h"

#include "base/counted.h"
#include "data/corpus.h"
#include "metrics/perplexity.h"
#include "train/encode.h"
#include "train/evaluation.h"

namespace regard::evaluate {

Evaluation language_model(const Subject& subject, const DataOptions& data, std::int64_t context) {
  constexpr std::int64_t kDefaultContext = 1024;
  const std::int64_t most = subject.model.model->max_positions();
  if (context == 0) context = most > 0 ? most : kDefaultContext;
  if (most > 0 && context > most)
    throw usage_error("the context exceeds the model's maximum number of positions")
        .found(fmt::format("a context of {} tokens", context))
        .expected(fmt::format("at most {}", counted(most, "token")));
  data::CorpusReport report;
  const std::string text = data::read_text(data.files, data::Faulty::refuse, report);
  const std::vector<std::int32_t> stream = train::encode_stream(*subject.model.target, text, subject.pool);
  if (stream.size() < 2)
    throw usage_error("the text is too short to evaluate on")
        .found(counted(stream.size(), "token"))
        .expected("at least 2");
  Arena arena;
  const train::LossSum loss = train::stream_loss(
      *subject.model.model, {.pool = subject.pool, .arena = arena, .probe = subject.probe}, stream, context);
  const std::int64_t words = metrics::count_words(text), bytes = std::ssize(text);
  Evaluation result;
  result.task = "language-model";
  result.fact("tokens", loss.tokens);
  result.fact("words", words);
  result.fact("bytes", bytes);
  result.fact("context", context);
  result.fact("loss", loss.mean());
  result.fact("perplexity", metrics::perplexity(loss.total, loss.tokens));
  result.line("tokens           {}\nloss             {:.4f} nats per token\nperplexity       {:.2f}",
              loss.tokens, loss.mean(), metrics::perplexity(loss.total, loss.tokens));
  if (words > 0) {
    result.fact("word_perplexity", metrics::perplexity(loss.total, words));
    result.line("  per word       {:.2f} ({})", metrics::perplexity(loss.total, words),
                counted(words, "word"));
  }
  result.fact("byte_perplexity", metrics::perplexity(loss.total, bytes));
  result.fact("bits_per_byte", metrics::bits_per_byte(loss.total, bytes));
  result.line("  per byte       {:.4f} ({}, {:.4f} bits per byte)", metrics::perplexity(loss.total, bytes),
              counted(bytes, "byte"), metrics::bits_per_byte(loss.total, bytes));
  return result;
}

}  // namespace regard::evaluate

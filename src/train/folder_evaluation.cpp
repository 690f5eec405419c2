#include "train/folder_evaluation.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/corpus.h"
#include "train/encode.h"

namespace regard::train {
namespace {

// Token ids of a reference, ending with the end token.
std::vector<std::int32_t> target_ids(const infer::LoadedModel& model, const std::string& text) {
  std::vector<std::int32_t> ids =
      model.target->encode_ids(model.as_trained(text), {.add_special = true, .match_special = false});
  if (model.options.end_tokens.empty()) return ids;
  const std::int32_t end = model.options.end_tokens[0];
  if (ids.empty() || ids.back() != end) ids.push_back(end);
  return ids;
}

LossSum reference_loss(infer::LoadedModel& model, ThreadPool& pool, const ParallelText& text) {
  data::PairStore pairs;
  for (std::size_t i = 0; i < text.sources.size(); ++i) {
    if (model.as_trained(text.sources[i]).empty()) continue;
    pairs.source.add(model.encode_source(text.sources[i]));
    pairs.target.add(target_ids(model, text.references[0][i]));
  }
  Arena arena;
  return pair_loss(*model.model, {pool, arena}, pairs, model.options.start_token);
}

std::vector<std::string> translations(infer::LoadedModel& model, ThreadPool& pool,
                                      const std::vector<std::string>& sources) {
  std::vector<ModelInput> inputs;
  for (const std::string& source : sources)
    if (!model.as_trained(source).empty()) inputs.push_back(model.read(source));
  model.model->prepare_for_inference(pool);
  const auto results = infer::decode(*model.model, pool, inputs, model.options);
  std::vector<std::string> outputs;
  std::size_t next = 0;
  for (const std::string& source : sources)
    outputs.push_back(model.as_trained(source).empty() ? "" : model.decode(results[next++].at(0)));
  return outputs;
}

}  // namespace

ParallelText read_parallel(const std::vector<std::string>& files, const std::vector<std::string>& columns,
                           bool header) {
  const data::CorpusFormat format = data::format_of(files.at(0), data::CorpusFormat::lines);
  const bool aligned = format == data::CorpusFormat::lines;
  const std::size_t texts_a_line = aligned ? files.size() : columns.size();
  if (texts_a_line < 2)
    throw usage_error("a translation needs a source and a reference")
        .found(fmt::format("{} {}", texts_a_line, aligned ? "file" : "columns"))
        .expected(aligned ? "SOURCE REFERENCE…, line-aligned" : "--columns SOURCE,REFERENCE…");
  data::CorpusReader reader(
      {.files = files, .format = format, .columns = columns, .empty = data::Faulty::keep, .header = header});
  ParallelText text;
  text.references.resize(texts_a_line - 1);
  for (std::vector<std::string> line; reader.next(line);) {
    text.sources.push_back(line[0]);
    for (std::size_t r = 0; r + 1 < line.size(); ++r) text.references[r].push_back(line[r + 1]);
  }
  if (text.sources.empty()) throw file_error(files[0], "no data to evaluate on");
  return text;
}

TranslationScores evaluate_translation(infer::LoadedModel& model, ThreadPool& pool, const ParallelText& text,
                                       const ScoringOptions& options) {
  TranslationScores scores;
  scores.loss = reference_loss(model, pool, text);
  scores.outputs = translations(model, pool, text.sources);
  metrics::BleuOptions bleu;
  bleu.lowercase = options.lowercase;
  bleu.tokenizer = options.tokenizer;
  scores.bleu = metrics::corpus_bleu(scores.outputs, text.references, bleu);
  scores.bleu_signature = metrics::bleu_signature(bleu, text.references.size());
  metrics::ChrfOptions chrf;
  chrf.lowercase = options.lowercase;
  scores.chrf = metrics::corpus_chrf(scores.outputs, text.references, chrf);
  scores.chrf_signature = metrics::chrf_signature(chrf, text.references.size());
  return scores;
}

LossSum evaluate_text(infer::LoadedModel& model, ThreadPool& pool, const std::string& text,
                      std::int64_t context) {
  constexpr std::int64_t kDefaultContext = 1024;
  const std::int64_t most = model.model->max_positions();
  if (context == 0) context = most > 0 ? most : kDefaultContext;
  if (most > 0 && context > most)
    throw usage_error("the context exceeds the model's positions")
        .found(fmt::format("{}", context))
        .expected(fmt::format("at most {}", most));
  const std::vector<std::int32_t> stream = encode_stream(*model.target, text, pool);
  if (stream.size() < 2) throw usage_error("the text is too short to evaluate on");
  Arena arena;
  return stream_loss(*model.model, {pool, arena}, stream, context);
}

}  // namespace regard::train

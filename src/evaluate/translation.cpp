#include "evaluate/translation.h"

#include <utility>

#include "base/counted.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/perplexity.h"
#include "metrics/ter.h"
#include "train/evaluation.h"

namespace regard::evaluate {
namespace {

struct ParallelText {
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> references;  // [reference][line]
  std::vector<Place> places;                         // [line]
};

ParallelText read_parallel(const DataOptions& data) {
  data::TableOptions table = data::table_options(data);
  data::check_columns(table);
  const bool aligned = table.format == data::TableFormat::lines;
  if (table.columns.empty() && !aligned && table.format != data::TableFormat::jsonl)
    table.columns = {"1", "2"};
  const std::size_t width = aligned ? data.files.size() : table.columns.size();
  if (width < 2)
    throw usage_error("the evaluation of a translation model requires a source and a reference")
        .found(counted(width, aligned ? "file" : "column"))
        .expected(aligned ? "SOURCE REFERENCE…, line-aligned" : "--columns SOURCE,REFERENCE…");
  data::TableReader reader(std::move(table));
  ParallelText text;
  text.references.resize(width - 1);
  for (data::TableRow row; reader.next(row);) {
    text.sources.push_back(row.text(0));
    text.places.push_back(row.place());
    for (std::size_t r = 0; r + 1 < width; ++r) text.references[r].push_back(row.text(r + 1));
  }
  if (text.sources.empty()) throw nothing_to_evaluate(data);
  return text;
}

void check_length(const infer::LoadedModel& model, std::size_t tokens, const char* what) {
  const std::int64_t most = model.model->max_positions();
  if (most > 0 && static_cast<std::int64_t>(tokens) > most)
    throw Error(ErrorKind::invalid_input,
                fmt::format("{} exceeds the model's maximum number of positions", what))
        .found(counted(tokens, "token"))
        .expected(fmt::format("at most {}", counted(most, "token")))
        .remedy("Split the line, or leave it out");
}

// Return the token ids of a reference, ending with the end token.
std::vector<std::int32_t> target_ids(const infer::LoadedModel& model, const std::string& text) {
  std::vector<std::int32_t> ids =
      model.target->encode_ids(model.as_trained(text), {.add_special = true, .match_special = false});
  if (model.options.end_tokens.empty()) return ids;
  const std::int32_t end = model.options.end_tokens[0];
  if (ids.empty() || ids.back() != end) ids.push_back(end);
  return ids;
}

// Token ids of the pairs whose source has tokens, and the index of the row of each pair.
struct EncodedText {
  data::PairStore pairs;
  std::vector<std::size_t> rows;
};

EncodedText encoded(const infer::LoadedModel& model, const ParallelText& text) {
  EncodedText result;
  for (std::size_t i = 0; i < text.sources.size(); ++i) {
    if (model.as_trained(text.sources[i]).empty()) continue;
    placed(text.places[i], [&] {
      const std::vector<std::int32_t> source = model.encode_source(text.sources[i]);
      const std::vector<std::int32_t> target = target_ids(model, text.references[0][i]);
      check_length(model, source.size(), "the source");
      check_length(model, target.size(), "the reference");
      if (source.empty()) return;
      result.pairs.source.add(source);
      result.pairs.target.add(target);
      result.rows.push_back(i);
    });
  }
  return result;
}

std::vector<std::string> translations(const Subject& subject, const ParallelText& text,
                                      const EncodedText& encoded) {
  const data::TokenStore& sources = encoded.pairs.source;
  std::vector<std::vector<std::int32_t>> ids;
  for (std::size_t i = 0; i < sources.size(); ++i) ids.emplace_back(sources[i].begin(), sources[i].end());
  infer::LoadedModel& model = subject.model;
  model.model->prepare_for_inference(subject.pool);
  const auto results = infer::translate(*model.model, subject.pool, ids, subject.search());
  std::vector<std::string> outputs(text.sources.size());
  for (std::size_t i = 0; i < results.size(); ++i) outputs[encoded.rows[i]] = model.decode(results[i].at(0));
  return outputs;
}

void add_scores(const ParallelText& text, const std::vector<std::string>& outputs,
                const ScoringOptions& options, Evaluation& result) {
  metrics::BleuOptions bleu;
  bleu.lowercase = options.lowercase;
  bleu.tokenizer = options.tokenizer;
  metrics::ChrfOptions chrf;
  chrf.lowercase = options.lowercase;
  const metrics::TerOptions ter;
  Table tables[3];
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::vector<std::string> references = metrics::line_of(text.references, i);
    tables[0].push_back(metrics::bleu_statistics(outputs[i], references, bleu));
    tables[1].push_back(metrics::chrf_statistics(outputs[i], references, chrf));
    tables[2].push_back(metrics::ter_statistics(outputs[i], references, ter));
    result.rows[i].score = metrics::sentence_chrf(outputs[i], references, chrf);
  }
  const std::size_t count = text.references.size();
  const metrics::BleuScore score = metrics::corpus_bleu(outputs, text.references, bleu);
  const double chrf_score = metrics::corpus_chrf(outputs, text.references, chrf);
  const double ter_score = metrics::corpus_ter(outputs, text.references, ter).score;
  result.scores = {
      {"bleu", score.score,
       sums(std::move(tables[0]), [bleu](auto totals) { return metrics::bleu_of(totals, bleu); })},
      {"chrf", chrf_score,
       sums(std::move(tables[1]), [chrf](auto totals) { return metrics::chrf_of(totals, chrf); })},
      {"ter", ter_score, sums(std::move(tables[2]), [](auto totals) { return metrics::ter_of(totals); })}};
  result.fact("bleu_signature", metrics::bleu_signature(bleu, count));
  result.fact("chrf_signature", metrics::chrf_signature(chrf, count));
  result.fact("ter_signature", metrics::ter_signature(ter, count));
  result.line("{}\n  {}", score.text(), metrics::bleu_signature(bleu, count));
  result.line("chrF2 = {:.2f}\n  {}", chrf_score, metrics::chrf_signature(chrf, count));
  result.line("TER = {:.2f}\n  {}", ter_score, metrics::ter_signature(ter, count));
}

}  // namespace

Evaluation translation(const Subject& subject, const DataOptions& data, const ScoringOptions& options) {
  const ParallelText text = read_parallel(data);
  const EncodedText ids = encoded(subject.model, text);
  Evaluation result;
  result.task = "translation";
  result.row_score = "chrf";
  Arena arena;
  const train::LossSum loss =
      train::pair_loss(*subject.model.model, {.pool = subject.pool, .arena = arena, .probe = subject.probe},
                       ids.pairs, subject.model.options.start_token);
  const std::vector<std::string> outputs = translations(subject, text, ids);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Json references = metrics::line_of(text.references, i);
    result.rows.push_back({text.places[i], text.sources[i],
                           text.references.size() == 1 ? references[0] : references, outputs[i]});
  }
  const double perplexity = metrics::perplexity(loss.total, loss.tokens);
  result.fact("sentences", outputs.size());
  result.fact("beam", subject.model.options.beam);
  result.fact("loss", loss.mean());
  result.fact("perplexity", perplexity);
  result.fact("target_tokens", loss.tokens);
  result.line("sentences   {}\nloss        {:.4f} nats per target token ({})\nperplexity  {:.2f}",
              outputs.size(), loss.mean(), counted(loss.tokens, "token"), perplexity);
  add_scores(text, outputs, options, result);
  return result;
}

}  // namespace regard::evaluate

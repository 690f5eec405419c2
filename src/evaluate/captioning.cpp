#include "evaluate/captioning.h"

#include <algorithm>

#include "base/plain_text.h"
#include "evaluate/picture_data.h"
#include "infer/search.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/exact_text.h"

namespace regard::evaluate {
namespace {

std::vector<std::string> captions(const Subject& subject, const tasks::ImageReader& reader,
                                  std::span<const data::PictureRow> rows) {
  infer::LoadedModel& model = subject.model;
  std::vector<std::string> texts;
  for (std::size_t first = 0; first < rows.size(); first += kPicturesTogether) {
    const std::size_t count = std::min(kPicturesTogether, rows.size() - first);
    std::vector<ModelInput> inputs;
    for (tasks::Input& input : inputs_of(rows.subspan(first, count), reader))
      inputs.push_back(std::move(input));
    for (const auto& found : infer::decode(*model.model, subject.pool, inputs, subject.search()))
      texts.push_back(found.empty() ? "" : model.decode(found[0]));
  }
  return texts;
}

}  // namespace

Evaluation captioning(const Subject& subject, const DataOptions& data, const CaptioningOptions& options) {
  const tasks::ImageReader reader(subject.model.folder.path, subject.model.model->input_spec());
  Evaluation result;
  result.task = "captioning";
  result.row_score = "exact_match";
  const std::vector<data::PictureRow> rows = read_pictures(data, result);
  const std::vector<std::string> outputs = captions(subject, reader, rows);
  std::vector<std::vector<std::string>> references(1);
  metrics::BleuOptions bleu;
  bleu.lowercase = options.lowercase;
  bleu.tokenizer = options.tokenizer;
  metrics::ChrfOptions chrf;
  chrf.lowercase = options.lowercase;
  Table exact, bleu_rows, chrf_rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    references[0].push_back(rows[i].text);
    const std::string reference[] = {rows[i].text};
    const bool equal = metrics::same_words(outputs[i], rows[i].text);
    exact.push_back({equal ? 1.0f : 0.0f});
    bleu_rows.push_back(metrics::bleu_statistics(outputs[i], reference, bleu));
    chrf_rows.push_back(metrics::chrf_statistics(outputs[i], reference, chrf));
    result.rows[i].output = outputs[i];
    result.rows[i].score = equal ? 1 : 0;
  }
  const double matches = metrics::exact_match(outputs, references[0]);
  const metrics::BleuScore score = metrics::corpus_bleu(outputs, references, bleu);
  const double chrf_score = metrics::corpus_chrf(outputs, references, chrf);
  result.scores = {
      {"exact_match", matches, mean(std::move(exact))},
      {"bleu", score.score,
       sums(std::move(bleu_rows), [bleu](auto totals) { return metrics::bleu_of(totals, bleu); })},
      {"chrf", chrf_score,
       sums(std::move(chrf_rows), [chrf](auto totals) { return metrics::chrf_of(totals, chrf); })}};
  result.fact("beam", subject.model.options.beam);
  result.fact("bleu_signature", metrics::bleu_signature(bleu, 1));
  result.fact("chrf_signature", metrics::chrf_signature(chrf, 1));
  result.line("exact match  {:.4f}", matches);
  result.line("{}\n  {}", score.text(), metrics::bleu_signature(bleu, 1));
  result.line("chrF2 = {:.2f}\n  {}", chrf_score, metrics::chrf_signature(chrf, 1));
  return result;
}

}  // namespace regard::evaluate

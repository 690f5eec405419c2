#include "evaluate/contrastive.h"

#include <algorithm>

#include "evaluate/picture_data.h"
#include "metrics/retrieval.h"
#include "tasks/image_text.h"
#include "train/retrieval.h"

namespace regard::evaluate {
namespace {

RowStatistics within(const std::vector<std::int64_t>& ranks, std::int64_t k) {
  Table table;
  for (const std::int64_t rank : ranks) table.push_back({rank <= k ? 1.0f : 0.0f});
  return mean(std::move(table));
}

Tensor vectors_of_pictures(tasks::ImageTextEncoder& encoder, std::span<const data::PictureRow> rows) {
  Tensor vectors = Tensor::empty({std::ssize(rows), encoder.size()});
  for (std::size_t first = 0; first < rows.size(); first += kPicturesTogether) {
    const std::size_t count = std::min(kPicturesTogether, rows.size() - first);
    std::vector<data::Image> images;
    for (const data::PictureRow& row : rows.subspan(first, count))
      images.push_back(placed(row.place, [&row] { return row.read(); }));
    const Tensor some = encoder.embed(encoder.read(images));
    std::copy_n(some.f32(), some.elements(), vectors.row(static_cast<std::int64_t>(first)));
  }
  return vectors;
}

}  // namespace

Evaluation contrastive(const Subject& subject, const DataOptions& data) {
  tasks::ImageTextEncoder encoder(subject.model, subject.pool, subject.probe);
  Evaluation result;
  result.task = "contrastive";
  result.row_score = "reciprocal_rank";
  const std::vector<data::PictureRow> rows = read_pictures(data, result);
  std::vector<tasks::Input> inputs;
  std::vector<std::string> texts, pictures;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    inputs.push_back(placed(rows[i].place, [&] { return encoder.read(rows[i].text); }));
    texts.push_back(rows[i].text);
    // a different name for each image, so that each is a separate candidate
    pictures.push_back(std::to_string(i));
  }
  const Tensor of_texts = encoder.embed(inputs), of_pictures = vectors_of_pictures(encoder, rows);
  const train::Retrieval found = train::retrieve(subject.pool, of_texts, of_pictures, pictures);
  const train::Retrieval named = train::retrieve(subject.pool, of_pictures, of_texts, texts);
  Table reciprocal;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double score = 1.0 / static_cast<double>(found.ranks[i]);
    reciprocal.push_back({static_cast<float>(score)});
    result.rows[i].input = rows[i].text, result.rows[i].expected = rows[i].name();
    result.rows[i].output = rows[found.best[i]].name();
    result.rows[i].score = score;
  }
  for (const auto& [name, k] :
       {std::pair<const char*, std::int64_t>{"recall_at_1", 1}, {"recall_at_5", 5}, {"recall_at_10", 10}})
    result.scores.push_back({name, metrics::recall_at(found.ranks, k), within(found.ranks, k)});
  result.scores.push_back({"mrr", metrics::mean_reciprocal_rank(found.ranks), mean(std::move(reciprocal))});
  result.scores.push_back({"text_recall_at_1", metrics::recall_at(named.ranks, 1), within(named.ranks, 1)});
  for (const Score& score : result.scores) result.line("{:<17}{:.4f}", score.name, score.value);
  return result;
}

}  // namespace regard::evaluate

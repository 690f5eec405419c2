#include "evaluate/embedding.h"

#include <algorithm>
#include <unordered_map>

#include "evaluate/class_scores.h"
#include "metrics/retrieval.h"

namespace regard::evaluate {
namespace {

struct TextPairs {
  std::vector<std::string> first, second;
  std::vector<double> scores;  // scores of the pairs; empty if the task is retrieval
  std::vector<Place> places;
};

TextPairs read_pairs(const DataOptions& data) {
  data::TableReader table = open_table(data, {{"text", "text_pair", "score"}, {"query", "document"}});
  TextPairs pairs;
  try {
    for (data::TableRow row; table.next(row);) {
      pairs.first.push_back(row.text(0)), pairs.second.push_back(row.text(1));
      if (row.size() == 3) pairs.scores.push_back(row.number(2));
      pairs.places.push_back(row.place());
    }
  } catch (Error& error) {
    // Without --columns, a table must contain scores. If it contains queries and documents, reading it throws
    // bad_file, and this remedy is added.
    if (pairs.places.empty() && data.columns.empty() && error.kind() == ErrorKind::bad_file &&
        error.remedy().empty())
      error.remedy("Give --columns with the query and the document, such as 1,2, if there are no scores");
    throw;
  }
  if (pairs.first.empty()) throw nothing_to_evaluate(data);
  return pairs;
}

Tensor embedded(tasks::Embedder& embedder, const std::vector<std::string>& texts,
                const std::vector<Place>& places) {
  std::vector<tasks::Input> inputs;
  for (std::size_t i = 0; i < texts.size(); ++i)
    inputs.push_back(placed(places[i], [&] { return embedder.read(texts[i]); }));
  return embedder.embed(inputs);
}

void similarity(tasks::Embedder& embedder, ThreadPool& pool, const TextPairs& pairs, Evaluation& result) {
  const Tensor first = embedded(embedder, pairs.first, pairs.places);
  const Tensor second = embedded(embedder, pairs.second, pairs.places);
  std::vector<double> predicted;
  for (std::int64_t i = 0; i < first.rows(); ++i) {
    const Tensor one = tasks::similarities(pool, first.slice_rows(i, i + 1), second.slice_rows(i, i + 1),
                                           embedder.compares_by_product());
    predicted.push_back(static_cast<double>(one.f32()[0]));
    EvaluatedRow& row = result.rows[static_cast<std::size_t>(i)];
    row.expected = pairs.scores[static_cast<std::size_t>(i)], row.output = predicted.back();
  }
  add_correlations(predicted, pairs.scores, false, result);
}

void retrieval(tasks::Embedder& embedder, ThreadPool& pool, const TextPairs& pairs, Evaluation& result) {
  constexpr std::int64_t kQueriesAtOnce = 256;
  std::unordered_map<std::string, std::int64_t> numbers;
  std::vector<std::string> documents;
  std::vector<Place> places;
  std::vector<std::int64_t> right;
  for (std::size_t i = 0; i < pairs.second.size(); ++i) {
    const auto [entry, is_new] = numbers.try_emplace(pairs.second[i], std::ssize(documents));
    if (is_new) documents.push_back(pairs.second[i]), places.push_back(pairs.places[i]);
    right.push_back(entry->second);
  }
  const Tensor candidates = embedded(embedder, documents, places);
  const Tensor queries = embedded(embedder, pairs.first, pairs.places);
  std::vector<std::int64_t> ranks;
  for (std::int64_t begin = 0; begin < queries.rows(); begin += kQueriesAtOnce) {
    const std::int64_t end = std::min(begin + kQueriesAtOnce, queries.rows());
    const Tensor scores =
        tasks::similarities(pool, queries.slice_rows(begin, end), candidates, embedder.compares_by_product());
    const auto more = metrics::ranks_of_right(
        {scores.f32(), static_cast<std::size_t>(scores.elements())}, candidates.rows(),
        std::span(right).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
    ranks.insert(ranks.end(), more.begin(), more.end());
  }
  Table reciprocal;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    reciprocal.push_back({static_cast<float>(1.0 / static_cast<double>(ranks[i]))});
    result.rows[i].expected = pairs.second[i];
    result.rows[i].output = {{"rank", ranks[i]}};
    result.rows[i].score = 1.0 / static_cast<double>(ranks[i]);
  }
  result.row_score = "reciprocal_rank";
  result.fact("documents", documents.size());
  result.line("documents    {}", documents.size());
  for (const std::int64_t k : {1, 5, 10}) {
    Table found;
    for (const std::int64_t rank : ranks) found.push_back({rank <= k ? 1.0f : 0.0f});
    result.scores.push_back(
        {fmt::format("recall_at_{}", k), metrics::recall_at(ranks, k), mean(std::move(found))});
  }
  result.scores.push_back({"mrr", metrics::mean_reciprocal_rank(ranks), mean(std::move(reciprocal))});
  for (const Score& score : result.scores) result.line("{:<12} {:.4f}", score.name, score.value);
}

}  // namespace

Evaluation embedding(const tasks::EmbeddingFolder& folder, ThreadPool& pool, const DataOptions& data,
                     const tasks::EmbedOptions& options, Probe* probe) {
  const TextPairs pairs = read_pairs(data);
  tasks::Embedder embedder(folder, pool, options, probe);
  Evaluation result;
  result.task = "embedding";
  result.fact("rows", pairs.first.size());
  result.line("rows         {}", pairs.first.size());
  for (std::size_t i = 0; i < pairs.first.size(); ++i) {
    const Json input = pairs.scores.empty() ? Json(pairs.first[i]) : Json{pairs.first[i], pairs.second[i]};
    result.rows.push_back({pairs.places[i], input, nullptr, nullptr});
  }
  if (pairs.scores.empty())
    retrieval(embedder, pool, pairs, result);
  else
    similarity(embedder, pool, pairs, result);
  return result;
}

}  // namespace regard::evaluate

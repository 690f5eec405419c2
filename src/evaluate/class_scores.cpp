#include "evaluate/class_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/parse_number.h"
#include "metrics/correlation.h"

namespace regard::evaluate {
namespace {

// Return row statistics for a score that is computed from class counts. A row lists two class indices for
// each of its predictions: first the true class, then the predicted class.
RowStatistics of_classes(const Table& rows, std::int32_t classes,
                         std::function<double(const metrics::ClassCounts&)> score) {
  return {rows, [classes, score = std::move(score)](Table table) -> metrics::Scorer {
            return [classes, score, table = std::move(table)](std::span<const std::uint32_t> sample) {
              metrics::ClassCounts counts;
              counts.truth.resize(static_cast<std::size_t>(classes));
              counts.predicted = counts.both = counts.truth;
              for (const std::uint32_t row : sample)
                for (std::size_t i = 0; i < table[row].size(); i += 2) {
                  const auto truth = static_cast<std::size_t>(table[row][i]);
                  const auto predicted = static_cast<std::size_t>(table[row][i + 1]);
                  ++counts.truth[truth], ++counts.predicted[predicted];
                  if (truth == predicted) ++counts.both[truth];
                }
              return score(counts);
            };
          }};
}

// Return row statistics for a score, such as a correlation, that is computed from two numbers per row.
RowStatistics of_numbers(const Table& rows,
                         double (*score)(std::span<const double> x, std::span<const double> y)) {
  return {rows, [score](Table table) -> metrics::Scorer {
            return [score, table = std::move(table)](std::span<const std::uint32_t> sample) {
              std::vector<double> x, y;
              for (const std::uint32_t row : sample) {
                x.push_back(static_cast<double>(table[row][0]));
                y.push_back(static_cast<double>(table[row][1]));
              }
              return score(x, y);
            };
          }};
}

double mean_squared_error(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum / static_cast<double>(x.size());
}

}  // namespace

std::int32_t class_named(const std::string& label, std::span<const std::string> labels) {
  const auto found = std::find(labels.begin(), labels.end(), label);
  if (found != labels.end()) return static_cast<std::int32_t>(found - labels.begin());
  // If the names of the labels are numbers, such as "1" to "5", a number in the data is a name, not an index.
  const bool named_by_numbers = std::any_of(labels.begin(), labels.end(), [](const std::string& name) {
    return parse_number<std::int32_t>(name).has_value();
  });
  if (const auto number = parse_number<std::int32_t>(label);
      number && !named_by_numbers && *number >= 0 && *number < static_cast<std::int32_t>(labels.size()))
    return *number;
  std::string names;
  for (std::size_t i = 0; i < std::min<std::size_t>(labels.size(), 8); ++i)
    names += (i == 0 ? "" : ", ") + labels[i];
  if (labels.size() > 8) names += ", …";
  if (!named_by_numbers) names += fmt::format(", or 0 to {}", labels.size() - 1);
  throw Error(ErrorKind::invalid_input, "the model has no such label")
      .found("\"" + label + "\"")
      .expected(names);
}

std::vector<std::size_t> sort_labels(std::span<const std::string> labels, Evaluation& result) {
  std::vector<std::size_t> order(labels.size()), places(labels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return labels[a] < labels[b]; });
  for (std::size_t place = 0; place < order.size(); ++place) places[order[place]] = place;
  result.labels.assign(labels.begin(), labels.end());
  std::sort(result.labels.begin(), result.labels.end());
  return places;
}

Json to_json(const metrics::PrecisionRecall& scores) {
  return {{"precision", scores.precision},
          {"recall", scores.recall},
          {"f1", scores.f1},
          {"support", scores.support}};
}

void add_class_lines(std::span<const std::string> names, std::span<const metrics::PrecisionRecall> classes,
                     Evaluation& result) {
  constexpr int kNameWidth = 20;
  result.line("{:<{}} {:>9} {:>9} {:>9} {:>9}", "class", kNameWidth, "precision", "recall", "F1", "support");
  for (std::size_t c = 0; c < names.size(); ++c)
    result.line("{:<{}} {:9.4f} {:9.4f} {:9.4f} {:9}", names[c], kNameWidth, classes[c].precision,
                classes[c].recall, classes[c].f1, classes[c].support);
}

void add_class_scores(std::span<const std::int32_t> predicted, std::span<const std::int32_t> truth,
                      std::span<const std::string> labels, Evaluation& result,
                      std::span<const std::size_t> sizes) {
  using metrics::Average;
  const auto classes = static_cast<std::int32_t>(labels.size());
  const metrics::ClassCounts counts = metrics::count_classes(predicted, truth, classes);
  const std::vector<std::size_t> places = sort_labels(labels, result);
  const auto place = [&](std::int32_t label) {
    return static_cast<float>(places[static_cast<std::size_t>(label)]);
  };
  // right [rows, 2]: numbers of correct predictions and of all predictions
  Table rows, right;
  for (std::size_t i = 0; i < truth.size();) {
    std::vector<float>& pairs = rows.emplace_back();
    float hits = 0;
    const std::size_t begin = i, end = i + (sizes.empty() ? 1 : sizes[rows.size() - 1]);
    for (; i < end; ++i) {
      pairs.insert(pairs.end(), {place(truth[i]), place(predicted[i])});
      hits += predicted[i] == truth[i] ? 1.0f : 0.0f;
    }
    right.push_back({hits, static_cast<float>(end - begin)});
  }
  const auto f1 = [&](Average how) {
    return of_classes(rows, classes,
                      [how](const metrics::ClassCounts& some) { return metrics::average(some, how).f1; });
  };
  result.scores.push_back({"accuracy", metrics::accuracy(predicted, truth),
                           sums(std::move(right), [](auto totals) { return totals[0] / totals[1]; })});
  result.scores.push_back({"f1_macro", metrics::average(counts, Average::macro).f1, f1(Average::macro)});
  result.scores.push_back(
      {"f1_weighted", metrics::average(counts, Average::weighted).f1, f1(Average::weighted)});
  result.scores.push_back({"f1_micro", metrics::average(counts, Average::micro).f1, f1(Average::micro)});
  result.scores.push_back(
      {"matthews", metrics::matthews(counts),
       of_classes(rows, classes, [](const auto& some) { return metrics::matthews(some); })});
  for (const Score& score : result.scores) result.line("{:<12} {:.4f}", score.name, score.value);
  const std::vector<metrics::PrecisionRecall> scores = metrics::by_class(counts);
  for (std::size_t c = 0; c < scores.size(); ++c) result.details["classes"][labels[c]] = to_json(scores[c]);
  add_class_lines(labels, scores, result);
  if (labels.size() > metrics::kLargestConfusionMatrix) return;
  const std::vector<std::int64_t> matrix = metrics::confusion_matrix(predicted, truth, classes);
  for (std::size_t row = 0; row < labels.size(); ++row)
    result.details["confusion"].push_back(
        std::vector<std::int64_t>(matrix.begin() + static_cast<std::ptrdiff_t>(row * labels.size()),
                                  matrix.begin() + static_cast<std::ptrdiff_t>((row + 1) * labels.size())));
}

void add_correlations(std::span<const double> predicted, std::span<const double> truth, bool squared,
                      Evaluation& result) {
  Table rows;
  for (std::size_t i = 0; i < truth.size(); ++i)
    rows.push_back({static_cast<float>(predicted[i]), static_cast<float>(truth[i])});
  const std::size_t first = result.scores.size();
  result.scores.push_back(
      {"spearman", metrics::spearman(predicted, truth), of_numbers(rows, metrics::spearman)});
  result.scores.push_back(
      {"pearson", metrics::pearson(predicted, truth), of_numbers(rows, metrics::pearson)});
  if (squared)
    result.scores.push_back(
        {"mean_squared_error", mean_squared_error(predicted, truth), of_numbers(rows, mean_squared_error)});
  for (std::size_t i = first; i < result.scores.size(); ++i)
    result.line("{:<18} {:.4f}", result.scores[i].name, result.scores[i].value);
}

}  // namespace regard::evaluate

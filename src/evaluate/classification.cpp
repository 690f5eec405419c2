#include "evaluate/classification.h"

#include <algorithm>

#include "evaluate/class_scores.h"
#include "metrics/classification.h"

namespace regard::evaluate {
namespace {

// The tokenised texts, the table rows that contain them, and the column of the label.
struct LabelledTexts {
  std::vector<tasks::Input> inputs;
  std::vector<data::TableRow> rows;
  std::size_t label = 1;  // index of the label's column
};

LabelledTexts read_texts(const tasks::Classifier& classifier, const DataOptions& data, Evaluation& result) {
  data::TableReader table = open_table(data, {{"text", "label"}, {"text", "text_pair", "label"}});
  LabelledTexts texts;
  std::int64_t cut = 0;
  for (data::TableRow row; table.next(row);) {
    texts.label = row.size() - 1;
    Json input = row.text(0);
    if (texts.label == 2) input = {row.text(0), row.text(1)};
    placed(row.place(), [&] {
      texts.inputs.push_back(texts.label == 2 ? classifier.read(row.text(0), row.text(1))
                                              : classifier.read(row.text(0)));
      if (texts.inputs.back().ids.empty())
        throw Error(ErrorKind::invalid_input, "cannot classify a text without tokens")
            .found("0 tokens")
            .expected("at least 1 token");
    });
    cut += texts.inputs.back().cut ? 1 : 0;
    result.rows.push_back({row.place(), std::move(input), nullptr, nullptr});
    texts.rows.push_back(row);
  }
  if (texts.inputs.empty()) throw nothing_to_evaluate(data);
  result.fact("rows", texts.inputs.size());
  if (cut > 0) result.fact("truncated", cut);
  result.line("rows         {}", texts.inputs.size());
  return texts;
}

void single_label(tasks::Classifier& classifier, const LabelledTexts& texts, Evaluation& result) {
  const std::vector<std::string>& labels = classifier.labels();
  std::vector<std::int32_t> predicted, truth;
  for (const data::TableRow& row : texts.rows)
    truth.push_back(placed(row.place(), [&] { return class_named(row.text(texts.label), labels); }));
  const Tensor scores = classifier.scores(texts.inputs);
  for (std::size_t i = 0; i < texts.rows.size(); ++i) {
    const float* row = scores.row(static_cast<std::int64_t>(i));
    const auto best = std::max_element(row, row + labels.size()) - row;
    predicted.push_back(static_cast<std::int32_t>(best));
    result.rows[i].expected = labels[static_cast<std::size_t>(truth[i])];
    result.rows[i].output = labels[static_cast<std::size_t>(best)];
    result.rows[i].score = best == truth[i] ? 1 : 0;
  }
  result.row_score = "accuracy";
  add_class_scores(predicted, truth, labels, result);
}

void several_labels(tasks::Classifier& classifier, const LabelledTexts& texts, double threshold,
                    Evaluation& result) {
  using metrics::Average;
  const std::vector<std::string>& labels = classifier.labels();
  const std::size_t width = labels.size();
  std::vector<std::uint8_t> predicted, truth(texts.rows.size() * width);
  for (std::size_t i = 0; i < texts.rows.size(); ++i)
    for (const std::string& label : texts.rows[i].words(texts.label))
      truth[i * width + static_cast<std::size_t>(
                            placed(texts.rows[i].place(), [&] { return class_named(label, labels); }))] = 1;
  const Tensor scores = classifier.scores(texts.inputs);
  const std::vector<std::size_t> places = sort_labels(labels, result);
  // right [rows, 1]: 1 if all labels of the row are correct. counts [rows, 3 · labels]: for each label of
  // result.labels, whether it is predicted, true, and both.
  Table right, counts;
  for (std::size_t i = 0; i < texts.rows.size(); ++i) {
    Json expected = Json::array(), output = Json::array();
    bool same = true;
    std::vector<float>& count = counts.emplace_back(3 * width);
    for (std::size_t label = 0; label < width; ++label) {
      const bool said = static_cast<double>(scores.row(static_cast<std::int64_t>(i))[label]) >= threshold;
      const bool is = truth[i * width + label] != 0;
      predicted.push_back(said ? 1 : 0);
      if (is) expected.push_back(labels[label]);
      if (said) output.push_back(labels[label]);
      same = same && is == said;
      float* const own = count.data() + 3 * places[label];
      own[0] = said ? 1.0f : 0.0f, own[1] = is ? 1.0f : 0.0f, own[2] = said && is ? 1.0f : 0.0f;
    }
    right.push_back({same ? 1.0f : 0.0f});
    result.rows[i].expected = std::move(expected), result.rows[i].output = std::move(output);
    result.rows[i].score = same ? 1 : 0;
  }
  const metrics::ClassCounts all = metrics::count_labels(predicted, truth, static_cast<std::int32_t>(width));
  const auto f1 = [&](Average how) {
    return sums(counts, [how, width](std::span<const double> totals) {
      metrics::ClassCounts some;
      for (std::size_t label = 0; label < width; ++label) {
        some.predicted.push_back(static_cast<std::int64_t>(totals[3 * label]));
        some.truth.push_back(static_cast<std::int64_t>(totals[3 * label + 1]));
        some.both.push_back(static_cast<std::int64_t>(totals[3 * label + 2]));
      }
      return metrics::average(some, how, metrics::Averaged::all).f1;
    });
  };
  result.row_score = "accuracy";
  result.fact("threshold", threshold);
  result.scores.push_back(
      {"accuracy", metrics::exact_rows(predicted, truth, static_cast<std::int32_t>(width)), mean(right)});
  for (const auto& [name, how] : {std::pair{"f1_micro", Average::micro},
                                  {"f1_macro", Average::macro},
                                  {"f1_weighted", Average::weighted}})
    result.scores.push_back({name, metrics::average(all, how, metrics::Averaged::all).f1, f1(how)});
  for (const Score& score : result.scores) result.line("{:<12} {:.4f}", score.name, score.value);
  const std::vector<metrics::PrecisionRecall> classes = metrics::by_class(all);
  for (std::size_t label = 0; label < width; ++label)
    result.details["classes"][labels[label]] = to_json(classes[label]);
  add_class_lines(labels, classes, result);
}

void regression(tasks::Classifier& classifier, const LabelledTexts& texts, Evaluation& result) {
  if (classifier.labels().size() != 1)
    throw usage_error("a regression model with several outputs cannot be evaluated")
        .found(fmt::format("a model with {} outputs", classifier.labels().size()))
        .expected("a model with 1 output");
  std::vector<double> predicted, truth;
  for (const data::TableRow& row : texts.rows) truth.push_back(row.number(texts.label));
  const Tensor scores = classifier.scores(texts.inputs);
  for (std::size_t i = 0; i < truth.size(); ++i) {
    predicted.push_back(static_cast<double>(scores.row(static_cast<std::int64_t>(i))[0]));
    result.rows[i].expected = truth[i], result.rows[i].output = predicted[i];
    result.rows[i].score = -(predicted[i] - truth[i]) * (predicted[i] - truth[i]);
  }
  result.row_score = "negative_squared_error";
  add_correlations(predicted, truth, true, result);
}

}  // namespace

Evaluation classification(const Subject& subject, const DataOptions& data,
                          const ClassificationOptions& options) {
  tasks::ClassifyOptions classify;
  classify.scores = options.scores;
  classify.reading.cut = options.cut;
  classify.reading.most_tokens = options.most_tokens;
  classify.reading.probe = subject.probe;
  const Json config = subject.model.model->config();
  const tasks::Scores scores =
      options.scores.value_or(tasks::scores_of(config, subject.model.model->labels(), "config.json"));
  tasks::Classifier classifier(subject.model, subject.pool, classify);
  Evaluation result;
  result.task = "classification";
  const LabelledTexts texts = read_texts(classifier, data, result);
  switch (scores) {
    case tasks::Scores::softmax:
      single_label(classifier, texts, result);
      break;
    case tasks::Scores::sigmoid:
      several_labels(classifier, texts, options.threshold, result);
      break;
    case tasks::Scores::plain:
      regression(classifier, texts, result);
      break;
  }
  return result;
}

}  // namespace regard::evaluate

#include "evaluate/token_classification.h"

#include <algorithm>

#include "base/counted.h"
#include "data/tagged.h"
#include "evaluate/class_scores.h"
#include "tasks/tag.h"

namespace regard::evaluate {
namespace {

constexpr const char* kNoLabel = "O";  // label predicted for a word without tokens

struct LabelledWords {
  std::vector<tasks::Tagger::Reading> readings;
  std::vector<std::vector<std::string>> labels;  // [row][word]
};

// Return true if the file is a column file with one word per line.
bool has_columns(const std::string& file) {
  for (const char* end : {".conllu", ".conll", ".bio", ".iob", ".iob2"})
    if (file.ends_with(end)) return true;
  return false;
}

std::vector<data::TaggedSentence> read_sentences(const DataOptions& data) {
  std::vector<data::TaggedSentence> sentences;
  if (has_columns(data.files.at(0))) {
    if (data.columns.size() != 0 && data.columns.size() != 2)
      throw usage_error("the number of columns does not fit the task")
          .found(counted(data.columns.size(), "column"))
          .expected("2 columns (words, labels)");
    for (const std::string& file : data.files)
      if (!has_columns(file))
        throw usage_error("the data files have different formats")
            .found(file)
            .expected("a column file, as " + data.files[0]);
    data::TaggedOptions options{.files = data.files};
    if (!data.columns.empty()) options.word_column = data.columns[0], options.tag_column = data.columns[1];
    data::TaggedReader reader(std::move(options));
    for (data::TaggedSentence sentence; reader.next(sentence);) sentences.push_back(sentence);
    return sentences;
  }
  data::TableReader table = open_table(data, {{"words", "labels"}});
  for (data::TableRow row; table.next(row);) sentences.push_back(data::tagged_sentence(row, 0, 1));
  return sentences;
}

LabelledWords read_words(const tasks::Tagger& tagger, const DataOptions& data, Evaluation& result) {
  LabelledWords all;
  for (data::TaggedSentence& sentence : read_sentences(data)) {
    if (sentence.words.empty()) continue;
    if (std::find(sentence.tags.begin(), sentence.tags.end(), "") != sentence.tags.end())
      throw Error(ErrorKind::bad_file, "a label is empty", sentence.place)
          .remedy("Add the label, or remove the sentence");
    placed(sentence.place, [&] { all.readings.push_back(tagger.read_words(sentence.words)); });
    result.rows.push_back({sentence.place, Json(sentence.words), Json(sentence.tags), nullptr});
    all.labels.push_back(std::move(sentence.tags));
  }
  if (all.readings.empty()) throw nothing_to_evaluate(data);
  return all;
}

bool has_prefix(const std::string& label) {
  return label.size() > 2 && label[1] == '-' &&
         std::string_view("BIESLU").find(label[0]) != std::string_view::npos;
}

std::size_t same(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] == b[i] ? 1 : 0;
  return count;
}

void add_entity_scores(const std::vector<std::vector<std::string>>& predicted,
                       const std::vector<std::vector<std::string>>& truth,
                       const TokenClassificationOptions& options, Evaluation& result) {
  // words [rows, 2]: numbers of correct words and of all words.
  // entities [rows, 3]: numbers of predicted, true and correct entities.
  Table words, entities;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    words.push_back({static_cast<float>(same(predicted[i], truth[i])), static_cast<float>(truth[i].size())});
    const std::vector<metrics::Entity> wanted = placed(result.rows[i].place, [&] {
      return metrics::entities_of(std::span(truth).subspan(i, 1), options.strict);
    });
    const metrics::ClassCounts counts = metrics::count_entities(
        metrics::entities_of(std::span(predicted).subspan(i, 1), options.strict), wanted);
    std::vector<float>& row = entities.emplace_back();
    for (const auto* list : {&counts.predicted, &counts.truth, &counts.both}) {
      float sum = 0;
      for (const std::int64_t count : *list) sum += static_cast<float>(count);
      row.push_back(sum);
    }
  }
  const metrics::EntityScores scores = metrics::entity_scores(predicted, truth, options.strict);
  const auto ratio = [](double part, double whole) { return whole > 0 ? part / whole : 0; };
  result.scores = {
      {"f1", scores.micro.f1, sums(entities, [ratio](auto s) { return ratio(2 * s[2], s[0] + s[1]); })},
      {"precision", scores.micro.precision, sums(entities, [ratio](auto s) { return ratio(s[2], s[0]); })},
      {"recall", scores.micro.recall, sums(entities, [ratio](auto s) { return ratio(s[2], s[1]); })},
      {"accuracy", scores.accuracy, sums(words, [ratio](auto s) { return ratio(s[0], s[1]); })},
      {"f1_macro", scores.macro.f1, {}},
      {"f1_weighted", scores.weighted.f1, {}}};
  for (const Score& score : result.scores) result.line("{:<12} {:.4f}", score.name, score.value);
  std::vector<std::string> types;
  std::vector<metrics::PrecisionRecall> classes;
  for (const auto& [type, one] : scores.by_type) {
    result.details["entities"][type] = to_json(one);
    types.push_back(type), classes.push_back(one);
  }
  add_class_lines(types, classes, result);
}

}  // namespace

Evaluation token_classification(const Subject& subject, const DataOptions& data,
                                const TokenClassificationOptions& options) {
  tasks::Tagger tagger(subject.model, subject.pool, {.window = options.window, .probe = subject.probe});
  Evaluation result;
  result.task = "token-classification", result.row_score = "accuracy";
  const LabelledWords all = read_words(tagger, data, result);
  const std::vector<std::vector<std::int32_t>> classes = tagger.word_classes(all.readings);
  const std::vector<std::string>& names = tagger.labels();
  std::vector<std::vector<std::string>> predicted;
  std::int64_t words = 0, without_tokens = 0;
  bool entities = false;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    std::vector<std::string>& labels = predicted.emplace_back();
    for (std::size_t word = 0; word < classes[i].size(); ++word) {
      labels.push_back(classes[i][word] < 0 ? kNoLabel : names[static_cast<std::size_t>(classes[i][word])]);
      without_tokens += classes[i][word] < 0 ? 1 : 0;
      entities = entities || has_prefix(all.labels[i][word]);
    }
    words += std::ssize(labels);
    result.rows[i].output = labels;
    result.rows[i].score =
        static_cast<double>(same(labels, all.labels[i])) / static_cast<double>(labels.size());
  }
  result.fact("rows", classes.size());
  result.fact("words", words);
  result.line("rows         {}\nwords        {}", classes.size(), words);
  if (without_tokens > 0) result.fact("words_without_tokens", without_tokens);
  if (entities || options.strict) {
    add_entity_scores(predicted, all.labels, options, result);
    return result;
  }
  std::vector<std::int32_t> said, is;
  std::vector<std::size_t> sizes;  // [rows]: number of words
  for (std::size_t i = 0; i < classes.size(); ++i) {
    sizes.push_back(classes[i].size());
    for (std::size_t word = 0; word < classes[i].size(); ++word) {
      const auto found = std::find(names.begin(), names.end(), all.labels[i][word]);
      if (found == names.end())
        throw Error(ErrorKind::invalid_input, "the model has no such label", result.rows[i].place)
            .found("\"" + all.labels[i][word] + "\"")
            .expected(fmt::format("one of {}", fmt::join(names, ", ")));
      if (classes[i][word] < 0)
        throw Error(ErrorKind::invalid_input, fmt::format("word {} of the sentence has no tokens", word + 1),
                    result.rows[i].place)
            .expected("at least 1 token for each word")
            .remedy("Correct the word, or remove the sentence");
      is.push_back(static_cast<std::int32_t>(found - names.begin())), said.push_back(classes[i][word]);
    }
  }
  add_class_scores(said, is, names, result, sizes);
  return result;
}

}  // namespace regard::evaluate

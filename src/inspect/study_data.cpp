#include "inspect/study_data.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/line_reader.h"
#include "base/placed.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// Return the class with this name in the configuration's id2label, or with this number.
std::int32_t class_of(Network& model, const std::string& label) {
  const Json config = model.config();
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < model.labels(); ++i) {
    std::string name = std::to_string(i);
    if (label == name) return static_cast<std::int32_t>(i);
    if (config.contains("id2label") && config["id2label"].is_object() && config["id2label"].contains(name))
      if (const Json& given = config["id2label"][name]; given.is_string()) name = given.get<std::string>();
    if (label == name) return static_cast<std::int32_t>(i);
    if (names.size() < 10) names.push_back(name);
  }
  throw input_error("the model has no such label")
      .found("'" + label + "'")
      .expected(fmt::format("one of {}", fmt::join(names, ", ")));
}

// Return, for each of `ids`, true if its bytes in the decoded text overlap the first occurrence of `answer`.
// Throws invalid_input if the text does not contain the answer.
std::vector<bool> tokens_in(const text::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids,
                            const std::string& answer) {
  const std::string whole = tokenizer.decode(ids);
  const std::size_t begin = whole.find(answer);
  if (begin == whole.npos)
    throw input_error("the text does not contain the answer")
        .found("'" + whole + "'")
        .expected("'" + answer + "'");
  std::vector<bool> inside;
  std::size_t before = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::size_t after = tokenizer.decode(std::span(ids).first(i + 1)).size();
    inside.push_back(after > begin && before < begin + answer.size() && after > before);
    before = after;
  }
  return inside;
}

}  // namespace

std::int32_t StudyExample::label() const {
  if (labels.empty()) throw usage_error("the study needs logits of tokens or classes");
  return labels[0];
}

StudyExample study_example(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& text,
                           const std::string& target, const StudyDataOptions& options) {
  StudyExample example;
  example.text = text, example.target = target;
  Network& model = *loaded.model;
  const bool decodes = model.kind() != ModelKind::encoder;
  example.input =
      pass_input(loaded, pool, text,
                 model.kind() == ModelKind::encoder_decoder ? std::string_view(target) : "", options.between);
  if (!decodes) {
    if (!target.empty() && model.output() == Output::sequence_classes)
      example.labels = {class_of(model, target)};
    return example;
  }
  std::vector<std::int32_t>& labels = example.labels;
  if (model.kind() == ModelKind::encoder_decoder) {
    labels = example.input.written;
  } else {
    labels.assign(example.input.target.begin() + 1, example.input.target.end());
    labels.push_back(kIgnoredLabel);
  }
  if (options.answer.empty()) return example;
  const bool shifted = model.kind() == ModelKind::decoder;
  const std::vector<std::int32_t>& ids = shifted ? example.input.target : example.input.written;
  const std::vector<bool> inside = tokens_in(*loaded.target, ids, options.answer);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const std::size_t token = i + (shifted ? 1 : 0); token >= inside.size() || !inside[token])
      labels[i] = kIgnoredLabel;
  return example;
}

std::vector<StudyExample> read_examples(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const std::filesystem::path& path, const StudyDataOptions& options) {
  std::vector<StudyExample> examples;
  LineReader reader(path);
  std::string line;
  while (reader.next(line)) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::size_t tab = line.rfind('\t');
    const std::string text = line.substr(0, tab), target = tab == line.npos ? "" : line.substr(tab + 1);
    try {
      examples.push_back(study_example(loaded, pool, text, target, options));
    } catch (Error& error) {
      throw error.at({reader.name(), reader.line_number(), -1});
    }
    if (options.most_examples > 0 && std::ssize(examples) >= options.most_examples) break;
  }
  if (examples.empty())
    throw Error(ErrorKind::invalid_input, "the file has no texts", {reader.name(), -1, -1});
  return examples;
}

}  // namespace regard::inspect

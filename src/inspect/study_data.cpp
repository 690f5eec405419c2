#include "inspect/study_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "base/line_reader.h"
#include "base/parse_number.h"
#include "base/placed.h"
#include "data/image.h"
#include "models/dual_encoder.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

namespace fs = std::filesystem;

// Return true for each of `ids` whose bytes in the decoded text overlap the first occurrence of `answer`.
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
  std::string before;
  std::size_t first = 0;  // number of bytes of `whole` that the earlier tokens decode to
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string text = tokenizer.decode(std::span(ids).first(i + 1));
    // If token i ends inside a character, `text` ends with U+FFFD. The token is then treated as if it
    // contained the first byte of this character.
    const std::size_t equal = static_cast<std::size_t>(std::ranges::mismatch(text, whole).in1 - text.begin());
    const std::size_t end = std::max(first + 1, equal);
    inside.push_back(text != before && end > begin && first < begin + answer.size());
    first = std::max(first, equal);
    before = std::move(text);
  }
  return inside;
}

// Return the class of a target or, for a multi-label classifier, its classes: labels separated by spaces, or
// a JSON list of labels.
std::vector<std::int32_t> classes_of(Network& model, const std::string& target) {
  if (model.labels() == 1)
    throw usage_error("the study needs a classifier").found("a model that predicts a number");
  if (!is_multi_label(model)) return {class_of(model, target)};
  std::vector<std::int32_t> classes;
  if (target.starts_with("[")) {
    const Json labels = Json::parse(target, nullptr, false);
    if (!labels.is_array())
      throw input_error("the labels are not a JSON list")
          .found("'" + target + "'")
          .expected("[\"LABEL\", …]");
    for (const Json& label : labels)
      classes.push_back(class_of(model, label.is_string() ? label.get<std::string>() : label.dump()));
    return classes;
  }
  std::istringstream words(target);
  for (std::string label; words >> label;) classes.push_back(class_of(model, label));
  return classes;
}

// Set example.labels. Requires example.input and example.target.
void set_labels(const infer::LoadedModel& loaded, const StudyDataOptions& options, StudyExample& example) {
  Network& model = *loaded.model;
  if (model.kind() == ModelKind::encoder) {
    if (example.target.empty() || !options.labels) return;
    if (model.output() == Output::sequence_classes) example.labels = classes_of(model, example.target);
    if (model.output() == Output::ctc && options.media != nullptr)
      example.labels = options.media->ctc_labels(example.target);
    return;
  }
  std::vector<std::int32_t>& labels = example.labels;
  if (model.kind() == ModelKind::encoder_decoder) {
    labels = example.input.written;
  } else {
    labels.assign(example.input.target.begin() + 1, example.input.target.end());
    labels.push_back(kIgnoredLabel);
  }
  if (options.answer.empty()) return;
  const bool shifted = model.kind() == ModelKind::decoder;
  const std::vector<std::int32_t>& ids = shifted ? example.input.target : example.input.written;
  const std::vector<bool> inside = tokens_in(*loaded.target, ids, options.answer);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const std::size_t token = i + (shifted ? 1 : 0); token >= inside.size() || !inside[token])
      labels[i] = kIgnoredLabel;
}

void require_whole(const infer::LoadedModel& loaded, const MediaInput& media, const std::string& target) {
  // Accept a truncated sound only if the model has a fixed input window and the target is not a transcript,
  // because a transcript describes the whole sound.
  const bool window = loaded.model->input_spec().shape[0] > 0;
  if (media.cut && (!window || (loaded.model->kind() == ModelKind::encoder_decoder && !target.empty())))
    throw input_error("the sound is too long for a study")
        .expected("at most 30 seconds, or the model's window");
}

// Return an example of an image or sound. The prompt tokens at the start of a transcript are not predicted.
StudyExample media_example(const infer::LoadedModel& loaded, ThreadPool& pool, const MediaInput& media,
                           const std::string& name, const std::string& target,
                           const StudyDataOptions& options) {
  require_whole(loaded, media, target);
  const FileInput& file = media.file;
  StudyExample example;
  example.text = name, example.target = target;
  example.places =
      media.places.empty() ? position_names(loaded.model->input_spec(), file.input) : media.places;
  const bool writes = loaded.model->kind() == ModelKind::encoder_decoder;
  example.input =
      media_input(loaded, pool, file, name, writes ? std::string_view(target) : "", options.generation());
  set_labels(loaded, options, example);
  for (std::size_t i = 0; i + 1 < file.prompt.size() && i < example.labels.size(); ++i)
    example.labels[i] = kIgnoredLabel;
  return example;
}

bool reads_media(const infer::LoadedModel& loaded) {
  return loaded.model->input_spec().kind != InputKind::tokens;
}

void require_media(Network& network, const StudyDataOptions& options) {
  if (options.media == nullptr || !options.media->file || !options.media->rows)
    throw usage_error("this call cannot read image or sound files")
        .found(fmt::format("a model that reads {}s", input_name(network)))
        .expected("a model that reads texts");
}

// Call add(text, target, place) for each line of the files until it returns false. If `targets` is false, the
// whole line is the text, and the target is empty.
void read_lines(const data::DataFiles& data, bool targets,
                const std::function<bool(const std::string&, const std::string&, const Place&)>& add) {
  if (!data.columns.empty() || data.header || data.highest > 0)
    throw usage_error("columns, header and highest apply only to tables of images and sounds")
        .remedy("Remove these settings");
  for (const std::string& file : data.files) {
    LineReader reader(file);
    std::string line;
    bool any = false;
    while (reader.next(line)) {
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      any = true;
      const std::size_t tab = targets ? line.rfind('\t') : line.npos;
      if (!add(line.substr(0, tab), tab == line.npos ? "" : line.substr(tab + 1),
               {reader.name(), reader.line_number(), -1}))
        return;
    }
    if (!any)
      throw Error(ErrorKind::invalid_input, "the file has no texts", {reader.name(), -1, -1})
          .remedy("Write one text per line, or give another file");
  }
}

// Return the rows of a data set of images or sounds. `network` is the model or, in a model with two encoders,
// the image encoder.
std::vector<MediaRow> media_rows(Network& network, const data::DataFiles& data,
                                 const StudyDataOptions& options) {
  require_media(network, options);
  std::vector<MediaRow> rows = options.media->rows(data);
  if (rows.empty())
    throw Error(ErrorKind::invalid_input, fmt::format("the data has no {}s", input_name(network)),
                {data.files.at(0), -1, -1})
        .remedy("Write one file name per row, or give another table");
  const auto most = static_cast<std::size_t>(options.most_examples);
  if (most > 0 && rows.size() > most) rows.resize(most);
  return rows;
}

// Return true if the first column of a file contains names of images, false if it contains texts.
bool lists_images(const std::string& file) {
  std::optional<bool> images;
  LineReader reader(file);
  std::int64_t first = 0;  // number of the first line that is not blank
  for (std::string line; reader.next(line);) {
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string text = line.substr(0, line.find('\t'));
    const bool image = data::names_image(text, fs::path(file).parent_path());
    if (!images) images = image, first = reader.line_number();
    if (*images != image)
      throw Error(ErrorKind::invalid_input, "the table mixes images and texts",
                  {reader.name(), reader.line_number(), -1})
          .found("'" + text + "'")
          .expected(fmt::format("{} in the first column, as in line {}", *images ? "an image file" : "a text",
                                first));
  }
  return images.value_or(false);
}

// Return true if the data for a model with two encoders are images, false if they are texts.
bool are_images(const data::DataFiles& data) {
  if (!data.columns.empty() || data.header || data.highest > 0) return true;  // options of image tables
  const std::string& first = data.files.at(0);
  if (first == "-") return false;
  std::error_code ignored;
  if (fs::is_directory(first, ignored) || data::looks_like_image(first)) return true;  // folder or IDX file
  const data::TableFormat format = data::format_of(first, data::TableFormat::lines);
  if (data::has_columns(format) && format != data::TableFormat::tsv) return true;
  return lists_images(first);
}

}  // namespace

std::int32_t class_of(Network& model, const std::string& label) {
  const Json config = model.config();
  std::vector<std::string> names;
  bool named_by_numbers = false;
  for (std::int64_t i = 0; i < model.labels(); ++i) {
    std::string name = std::to_string(i);
    if (config.contains("id2label") && config["id2label"].is_object() && config["id2label"].contains(name))
      if (const Json& given = config["id2label"][name]; given.is_string()) {
        name = given.get<std::string>();
        named_by_numbers = named_by_numbers || parse_number<std::int32_t>(name).has_value();
      }
    if (label == name) return static_cast<std::int32_t>(i);
    names.push_back(name);
  }
  if (const auto number = parse_number<std::int32_t>(label);
      number && !named_by_numbers && *number >= 0 && *number < model.labels())
    return *number;
  if (names.size() > 10) names.resize(10);
  throw input_error("the model has no such label")
      .found("'" + label + "'")
      .expected(fmt::format("one of {}", fmt::join(names, ", ")));
}

bool is_multi_label(Network& model) {
  return model.config().value("problem_type", Json()) == "multi_label_classification";
}

const char* input_name(Network& model) {
  constexpr const char* kNames[] = {"text", "sound", "image"};  // in the order of InputKind
  return kNames[static_cast<std::size_t>(model.input_spec().kind)];
}

std::int32_t StudyExample::label() const {
  if (labels.empty())
    throw usage_error("the study needs logits of tokens or classes")
        .expected("a decoder, an encoder-decoder or a classifier");
  return labels[0];
}

StudyExample study_example(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& text,
                           const std::string& target, const StudyDataOptions& options) {
  if (reads_media(loaded)) {
    require_media(*loaded.model, options);
    return media_example(loaded, pool, options.media->file(text), text, target, options);
  }
  if (loaded.model->kind() == ModelKind::decoder && !target.empty())
    throw usage_error("the target does not apply to a decoder-only model").remedy("Remove the target");
  StudyExample example;
  example.text = text, example.target = target;
  const bool writes = loaded.model->kind() == ModelKind::encoder_decoder;
  example.input =
      pass_input(loaded, pool, text, writes ? std::string_view(target) : "", options.generation());
  set_labels(loaded, options, example);
  return example;
}

std::vector<StudyExample> read_examples(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const data::DataFiles& data, const StudyDataOptions& options) {
  std::vector<StudyExample> examples;
  if (reads_media(loaded)) {
    for (const MediaRow& row : media_rows(*loaded.model, data, options)) {
      if (options.between) options.between();
      examples.push_back(placed(
          row.place, [&] { return media_example(loaded, pool, row.read(), row.name, row.text, options); }));
    }
    return examples;
  }
  // in the data of a decoder, the whole line is the text, including tabs
  const bool targets = loaded.model->kind() != ModelKind::decoder;
  read_lines(data, targets, [&](const std::string& text, const std::string& target, const Place& place) {
    examples.push_back(placed(place, [&] { return study_example(loaded, pool, text, target, options); }));
    return options.most_examples == 0 || std::ssize(examples) < options.most_examples;
  });
  return examples;
}

LabeledInputs read_labeled_inputs(const infer::LoadedModel& loaded, const data::DataFiles& data,
                                  const StudyDataOptions& options) {
  DualEncoder* const dual = dual_encoder_of(*loaded.model);
  LabeledInputs all{.network = loaded.model.get()};
  if (dual != nullptr) {
    const bool images = options.media != nullptr && options.media->rows && are_images(data);
    all.network = images ? &dual->vision() : &dual->text(), all.tower = images ? "vision" : "text";
  }
  const bool writes = loaded.model->kind() == ModelKind::encoder_decoder;
  const auto started = [&loaded, writes](PassInput input) {
    if (writes) input.target = {loaded.options.start_token};
    return input;
  };
  if (all.network->input_spec().kind != InputKind::tokens) {
    for (const MediaRow& row : media_rows(*all.network, data, options))
      all.inputs.push_back({row.text, [started, row] {
                              PassInput input;
                              input.source = placed(row.place, [&row] { return row.read(); }).file.input;
                              return started(std::move(input));
                            }});
    return all;
  }
  read_lines(data, true, [&](const std::string& text, const std::string& label, const Place& place) {
    if (label.empty())
      throw Error(ErrorKind::invalid_input, "the line has no label", place).expected("TEXT<tab>LABEL");
    if (dual != nullptr && data.files[0] == "-" && data::names_image(text, "."))
      throw Error(ErrorKind::invalid_input, "standard input cannot be a table of images", place)
          .found("'" + text + "'")
          .remedy("Write the table to a file");
    all.inputs.push_back({label, [started, text, place, dual, &loaded] {
                            PassInput input;
                            input.source = placed(place, [&] { return loaded.read(text); });
                            if (input.source.empty())
                              throw input_error("the text has no tokens").found("'" + text + "'");
                            if (dual != nullptr) dual->pad(input.source.ids);
                            if (loaded.model->kind() == ModelKind::decoder)
                              input.target = std::exchange(input.source, {}).ids;
                            return started(std::move(input));
                          }});
    return options.most_examples == 0 || std::ssize(all.inputs) < options.most_examples;
  });
  return all;
}

}  // namespace regard::inspect

#include "train/unused_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/new_families.h"
#include "train/task.h"

namespace regard::train {
namespace {

using Keys = std::vector<std::string>;

// A reason why certain keys have no effect. A key that ends in a dot, such as "model.", means all keys of
// [model] except those in `except`.
struct Rule {
  Keys keys;
  bool (*unused)(const RunConfig& config);
  const char* reason;
  Keys except{};
};

bool tabular(const RunConfig& config) {
  // Do not report data.columns as unused if data.train is empty, because check_run() then throws an error.
  return config.data.train.empty() || is_tabular(config);
}

bool has_type(const RunConfig& config, std::initializer_list<const char*> types) {
  return std::find(types.begin(), types.end(), config.tokenizer.type) != types.end();
}

// Return the rules for keys of [images], [sound], [labels] and [embedding], for SQuAD files, and for keys
// that depend on the task or on the type of positions.
const std::vector<Rule>& encoder_rules() {
  static const std::vector<Rule> all{
      {{"images.size", "images.patch_size", "images.mean", "images.deviation"},
       [](const RunConfig& c) { return !c.model.from.empty(); },
       "the configuration of 'model.from' is used"},
      {{"sound.bins", "sound.patch_size", "sound.patch_stride", "sound.channels", "sound.vocabulary"},
       [](const RunConfig& c) { return !c.model.from.empty(); },
       "the configuration of 'model.from' is used"},
      {{"sound.channels"},
       [](const RunConfig& c) { return c.model.family != "wav2vec2"; },
       "'model.family' is not \"wav2vec2\""},
      {{"sound.bins", "sound.vocabulary", "sound.mask_frames", "sound.mask_bins"},
       [](const RunConfig& c) { return c.model.from.empty() && c.model.family == "wav2vec2"; },
       "'model.family' is \"wav2vec2\", which reads samples"},
      {{"sound.masked_frames"},
       [](const RunConfig& c) { return c.sound.mask_frames == 0.0; },
       "'sound.mask_frames' is 0"},
      {{"sound.masked_bins"},
       [](const RunConfig& c) { return c.sound.mask_bins == 0.0; },
       "'sound.mask_bins' is 0"},
      {{"tokenizer.", "model.vectors", "model.freeze_vectors", "data.normalize_whitespace"},
       [](const RunConfig& c) { return !task_traits(c.task).has_text; },
       "the models of this task neither read nor write text"},
      {{"model.rotary_base"},
       [](const RunConfig& c) {
         return c.model.transformer.positions != "rotary" && find_new_family(c.model.family) == nullptr;
       },
       "'model.positions' is not \"rotary\""},
      {{"embedding.scale"},
       [](const RunConfig& c) { return c.embedding.loss != "ranking"; },
       "'embedding.loss' is not \"ranking\""},
      {{"embedding.margin", "embedding.distance"},
       [](const RunConfig& c) { return c.embedding.loss != "triplet"; },
       "'embedding.loss' is not \"triplet\""},
      {{"labels.weights", "labels.balance"},
       [](const RunConfig& c) { return c.labels.problem_type != "single_label_classification"; },
       "'labels.problem_type' is not \"single_label_classification\""},
      {{"labels.balance"},
       [](const RunConfig& c) { return !c.labels.weights.empty(); },
       "'labels.weights' sets the weights"},
      {{"labels.names", "labels.until"},
       [](const RunConfig& c) { return c.labels.problem_type == "regression"; },
       "'labels.problem_type' is \"regression\""},
      {{"data.format", "data.columns", "data.header", "data.empty_lines", "data.bad_utf8", "data.delimiter",
        "data.valid_format", "data.valid_columns", "data.valid_header"},
       [](const RunConfig& c) { return c.task == "question-answering"; },
       "the files are SQuAD's JSON, or JSONL with the same keys"},
  };
  return all;
}

// Return the rules for keys that describe the format of the data files, and for keys that depend on
// data.valid, data.conversations or data.train_list.
const std::vector<Rule>& form_rules() {
  static const std::vector<Rule> all{
      {{"data.delimiter"},
       [](const RunConfig& c) {
         if (c.data.train.empty()) return false;
         const data::CorpusFormat format = corpus_format(c, c.data.train[0]);
         return format != data::CorpusFormat::tsv && format != data::CorpusFormat::csv;
       },
       "only TSV and CSV have delimiters"},
      {{"data.valid_format", "data.valid_columns", "data.valid_header"},
       [](const RunConfig& c) { return c.data.valid.empty(); },
       "'data.valid' names no file"},
      {{"data.chat_template"},
       [](const RunConfig& c) { return !c.data.conversations; },
       "'data.conversations' is false"},
      {{"training.windows", "data.cache", "data.sharded"},
       [](const RunConfig& c) { return c.data.conversations; },
       "'data.conversations' is true"},
      {{"data.train_list"},
       [](const RunConfig& c) { return c.data.train_list.empty() && c.train_places.empty(); },
       "no list is named"},
  };
  return all;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {{"model."},
       [](const RunConfig& c) { return !c.model.from.empty(); },
       "the configuration of 'model.from' is used",
       {"model.from", "model.vectors", "model.freeze_vectors"}},
      {{"tokenizer."},
       [](const RunConfig& c) { return !c.tokenizer.file.empty(); },
       "'tokenizer.file' is set",
       {"tokenizer.file"}},
      {{"tokenizer."},
       [](const RunConfig& c) { return !c.model.from.empty() && c.tokenizer.file.empty(); },
       "the tokenizer of 'model.from' is used",
       {"tokenizer.file"}},
      {{"tokenizer.vocab_size", "tokenizer.words"},
       [](const RunConfig& c) { return has_type(c, {"char"}); },
       "'tokenizer.type' is \"char\""},
      {{"tokenizer.min_frequency"},
       [](const RunConfig& c) {
         return has_type(c, {"char", "unigram"});
       },
       "tokenizers of types char and unigram have no minimum frequency"},
      {{"tokenizer.limit_alphabet", "tokenizer.character_coverage"},
       [](const RunConfig& c) {
         return has_type(c, {"byte-bpe", "word"});
       },
       "tokenizers of types byte-bpe and word have no alphabet of characters"},
      {{"tokenizer.max_piece_length"},
       [](const RunConfig& c) {
         return has_type(c, {"char", "word", "wordpiece"});
       },
       "only tokenizers of types bpe, byte-bpe and unigram limit the length of tokens"},
      {{"data.columns"},
       [](const RunConfig& c) { return !tabular(c); },
       "only TSV, CSV and JSONL have columns"},
      {{"data.valid_fraction"},
       [](const RunConfig& c) { return !c.data.valid.empty(); },
       "'data.valid' is set"},
      {{"data.empty_lines"},
       [](const RunConfig& c) {
         return !task_traits(c.task).corpus.aligned && !c.data.train.empty() && is_plain_text(c);
       },
       "empty lines are part of plain text"},
      {{"lora."}, [](const RunConfig& c) { return !c.lora.used(); }, "'lora.rank' is 0", {"lora.rank"}},
      {{"training.freeze"},
       [](const RunConfig& c) { return c.lora.used(); },
       "with 'lora.rank' only the adapter is trained"},
      {{"training.gradient_checkpointing"},
       [](const RunConfig& c) { return c.model.from.empty() && is_sequence_family(c.model.family); },
       "'model.family' has no layers of a Transformer"},
  };
  return all;
}

bool trains_new_ctc_model(const RunConfig& config) {
  return config.task == "speech-recognition" && config.model.from.empty() &&
         config.model.family == "wav2vec2";
}

// Return the rules for keys of [validation], and for keys that depend on the loss of the task.
const std::vector<Rule>& loss_rules() {
  static const std::vector<Rule> all{
      {{"training.label_smoothing"},
       [](const RunConfig& c) {
         return c.task == "question-answering" || c.task == "contrastive" || trains_new_ctc_model(c);
       },
       "the loss of this task has no label smoothing"},
      {{"validation.beam", "validation.length_penalty"},
       trains_new_ctc_model,
       "'model.family' is \"wav2vec2\", whose texts are decoded without a beam"},
      {{"validation.patience"},
       [](const RunConfig& c) { return c.validation.every_steps == 0; },
       "'validation.every_steps' is 0, so there is one validation only"},
      {{"validation.lower_case"},
       [](const RunConfig& c) { return !c.wants("bleu") && !c.wants("chrf"); },
       "'validation.metrics' has neither bleu nor chrf"},
      {{"validation.max_sentences"},
       [](const RunConfig& c) {
         return !c.wants("bleu") && !c.wants("chrf") && !(c.task == "captioning" && c.wants("exact_match"));
       },
       "no metric of generated texts in 'validation.metrics' uses it"},
  };
  return all;
}

// Return the reason if a key of [model] has no effect because the family does not use it; otherwise "".
std::string why_unused_in_family(const RunConfig& config, const std::string& name) {
  constexpr const char* kSection = "model.";
  const NewFamily* family = find_new_family(config.model.family);
  if (family == nullptr || !name.starts_with(kSection)) return "";
  const std::string key = name.substr(std::string(kSection).size());
  for (const char* common : {"family", "from", "vectors", "freeze_vectors"})
    if (key == common) return "";
  if (std::find(family->keys.begin(), family->keys.end(), key) != family->keys.end()) return "";
  return fmt::format("'model.family' is \"{}\", which does not use it", family->name);
}

bool covers(const Rule& rule, const std::string& name) {
  if (std::find(rule.except.begin(), rule.except.end(), name) != rule.except.end()) return false;
  return std::any_of(rule.keys.begin(), rule.keys.end(), [&name](const std::string& key) {
    return key.ends_with('.') ? name.starts_with(key) : name == key;
  });
}

}  // namespace

std::string why_unused(const RunConfig& config, const Field& field) {
  if (!field.applies_to(config.task))
    return fmt::format("only runs of the task{} '{}' read it", field.tasks.size() > 1 ? "s" : "",
                       fmt::join(field.tasks, "', '"));
  const std::string name = field.name();
  for (const auto* list : {&rules(), &loss_rules(), &encoder_rules(), &form_rules()})
    for (const Rule& rule : *list)
      if (covers(rule, name) && rule.unused(config)) return rule.reason;
  if (field.section == "model" && config.model.from.empty())
    if (const std::string reason = why_unused_in_sequence_model(config, field.key); !reason.empty())
      return reason;
  if (const std::string reason = why_unused_in_family(config, name); !reason.empty()) return reason;
  return field.section == "training" ? why_unused_in_optimization(config.training, field.key) : "";
}

std::vector<Field> used_fields(RunConfig& config) {
  std::vector<Field> fields = run_fields(config);
  std::erase_if(fields, [&config](const Field& field) { return !why_unused(config, field).empty(); });
  return fields;
}

}  // namespace regard::train

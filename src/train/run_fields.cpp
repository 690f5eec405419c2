// The list of all keys of a run file.

#include "models/transformer_fields.h"
#include "text/train_tokenizer.h"
#include "train/new_families.h"
#include "train/run_field_parts.h"
#include "train/sequence_keys.h"

namespace regard::train {
namespace {

void add_text_rules(std::vector<Field>& list, DataConfig& c) {
  list.push_back(
      {.section = "data",
       .key = "max_length",
       .target = &c.max_length,
       .unit = "tokens",
       .meaning =
           "Translation: skip a pair if one of its texts has more tokens than this, or more characters "
           "than 32 times this number. Tasks of encoders: truncate longer texts.",
       .low = 1,
       .high = 1e9});
  list.push_back({.section = "data",
                  .key = "empty_lines",
                  .target = &c.empty_lines,
                  .meaning = "Treatment of rows with an empty text.",
                  .choices = {"skip", "refuse"}});
  list.push_back({.section = "data",
                  .key = "bad_utf8",
                  .target = &c.bad_utf8,
                  .meaning = "Treatment of lines that are not UTF-8.",
                  .choices = {"refuse", "skip"}});
  list.push_back({.section = "data",
                  .key = "normalize_whitespace",
                  .target = &c.normalize_whitespace,
                  .meaning = "Translation: remove a byte order mark and outer white space, and replace each "
                             "sequence of white space with one space, in training and inference."});
}

void add_data(std::vector<Field>& list, DataConfig& c) {
  list.push_back(
      {.section = "data",
       .key = "train",
       .target = &c.train,
       .meaning = "Training text. Translation: two line-aligned files (source, target), or one TSV, CSV or "
                  "JSONL file with `columns`. Language models: plain text files. Paths are relative to the "
                  "run file; ${NAME} and ${NAME:-default} are replaced by environment variables.",
       .may_change = true});
  list.push_back({.section = "data",
                  .key = "valid",
                  .target = &c.valid,
                  .meaning = "Validation text, in the format of `train`.",
                  .may_change = true});
  list.push_back({.section = "data",
                  .key = "format",
                  .target = &c.format,
                  .meaning = "Format of the files; auto determines it from the file name.",
                  .choices = {"auto", "lines", "tsv", "csv", "jsonl", "text"}});
  list.push_back({.section = "data",
                  .key = "columns",
                  .target = &c.columns,
                  .meaning = "Columns of the source and of the target. TSV, CSV: numbers from 1, or names in "
                             "the first line. JSONL: names."});
  list.push_back(
      {.section = "data",
       .key = "header",
       .target = &c.header,
       .meaning = "TSV, CSV: the first line of each file is a header (implied by names in `columns`)."});
  list.push_back({.section = "data",
                  .key = "valid_fraction",
                  .target = &c.valid_fraction,
                  .meaning = "Fraction of the training text that is used for validation if `valid` is empty. "
                             "Pairs are selected by a hash of their source; for plain text, the end is used.",
                  .low = 0.0,
                  .high = 0.5});
  add_text_rules(list, c);
  add_data_forms(list, c);
}

void add_tokenizer(std::vector<Field>& list, TokenizerConfig& c) {
  list.push_back({.section = "tokenizer",
                  .key = "type",
                  .target = &c.type,
                  .meaning = "Type of the tokenizer to train.",
                  .choices = text::trainable_types()});
  list.push_back({.section = "tokenizer",
                  .key = "file",
                  .target = &c.file,
                  .meaning = "Existing tokenizer.json to use, as a path relative to the run file.",
                  .may_change = true});
  list.push_back({.section = "tokenizer",
                  .key = "vocab_size",
                  .target = &c.vocab_size,
                  .unit = "tokens",
                  .meaning = "Vocabulary size, including special tokens.",
                  .low = 8,
                  .high = 2e6});
  list.push_back({.section = "tokenizer",
                  .key = "joint",
                  .target = &c.joint,
                  .meaning = "Use one vocabulary for source and target."});
  list.push_back({.section = "tokenizer",
                  .key = "lower_case",
                  .target = &c.lower_case,
                  .meaning = "Convert text to lower case. The model's output is then lower-case too."});
  list.push_back({.section = "tokenizer",
                  .key = "min_frequency",
                  .target = &c.min_frequency,
                  .meaning = "Minimum frequency of a merge (or word). Default (0): 2; 1 for type word.",
                  .low = 0});
  list.push_back({.section = "tokenizer",
                  .key = "limit_alphabet",
                  .target = &c.limit_alphabet,
                  .unit = "characters",
                  .meaning = "Keep at most this number of the most frequent characters; 0 keeps all.",
                  .low = 0});
  list.push_back({.section = "tokenizer",
                  .key = "character_coverage",
                  .target = &c.character_coverage,
                  .meaning = "Keep the most frequent characters that cover this fraction of the text.",
                  .low = 1e-6,
                  .high = 1.0});
  list.push_back({.section = "tokenizer",
                  .key = "max_piece_length",
                  .target = &c.max_piece_length,
                  .unit = "characters",
                  .meaning = "Maximum length of a token (byte-bpe: in bytes). Default: 0, which means 16 for "
                             "unigram and no limit for all other types.",
                  .low = 0});
  std::vector<std::string> rules = text::word_rule_names();
  rules.insert(rules.begin(), "auto");
  list.push_back({.section = "tokenizer",
                  .key = "words",
                  .target = &c.words,
                  .meaning = "Word boundaries: words (letters with combining marks, any script), spaces, "
                             "signs (spaces and punctuation), gpt2, bert or metaspace (as sentencepiece). "
                             "auto: bert for wordpiece, signs for word, else words.",
                  .choices = rules});
}

void add_transformer(std::vector<Field>& list, TransformerConfig& c) {
  transformer::visit_fields(c, [&list](const transformer::Key& key, auto& value) {
    if (!key.in_run_files()) return;
    list.push_back({.section = "model",
                    .key = key.name,
                    .target = &value,
                    .unit = key.unit,
                    .meaning = key.meaning,
                    .low = key.low,
                    .high = key.high,
                    .choices = key.choices});
  });
}

void add_training(std::vector<Field>& list, TrainingConfig& c) {
  const auto count = [&list](auto&&... rest) { list.push_back(count_field("training", rest...)); };
  count("batch_tokens", c.batch_tokens, "target tokens", "Batch size of translation.", 1);
  count("batch_size", c.batch_size, "windows or examples", "Batch size of all tasks except translation.", 1);
  count("context", c.context, "tokens", "Window length of language models.", 1);
  list.push_back({.section = "training",
                  .key = "bucketing",
                  .target = &c.bucketing,
                  .meaning = "Translation: batches of pairs of similar length (length), or of any length "
                             "(none). No padding is used.",
                  .choices = {"length", "none"}});
  list.push_back({.section = "training",
                  .key = "windows",
                  .target = &c.windows,
                  .meaning = "Language models: windows at random positions (random), or consecutive windows "
                             "in a random order each epoch (sequential).",
                  .choices = {"random", "sequential"}});
  count("accumulate", c.accumulate, "batches",
        "Gradient accumulation: number of batches per step. The loss of a step is the mean over the tokens "
        "of all its batches.",
        1);
  list.back().high = 65536;
  list.push_back({.section = "training",
                  .key = "precision",
                  .target = &c.precision,
                  .meaning = "Number format of the operands of linear layers, attention and the loss in "
                             "training: f32, or bf16 with f32 sums, weights and optimiser, on processors "
                             "with AMX-BF16, and AMD processors with AVX512_BF16.",
                  .choices = {"f32", "bf16"}});
  list.push_back(
      {.section = "training",
       .key = "gradient_checkpointing",
       .target = &c.gradient_checkpointing,
       .meaning =
           "Store only the output of each layer, and recompute all other activations in the backward pass. "
           "This reduces memory, takes about a third more time, and does not change the weights.",
       .may_change = true});
  count("max_steps", c.max_steps, "steps",
        "Maximum number of steps; 0 means no limit. The run ends at the first limit reached.", 0);
  list.back().may_change = true;
  list.push_back({.section = "training",
                  .key = "max_epochs",
                  .target = &c.max_epochs,
                  .unit = "passes over the data",
                  .meaning = "Maximum number of epochs; 0 means no limit.",
                  .low = 0,
                  .may_change = true});
  list.push_back({.section = "training",
                  .key = "max_minutes",
                  .target = &c.max_minutes,
                  .unit = "minutes",
                  .meaning = "Maximum training time over all starts of the run; 0 means no limit.",
                  .low = 0,
                  .may_change = true});
  count("average_last", c.average_last, "validations",
        "Number of latest validated checkpoints to average at the end of the run. The average is validated "
        "and saved. 0 disables averaging.",
        0);
  list.back().may_change = true;
}

std::vector<std::string> family_names() {
  std::vector<std::string> names{"transformer"};
  for (const NewFamily& family : new_families()) names.emplace_back(family.name);
  names.insert(names.end(), sequence_families().begin(), sequence_families().end());
  return names;
}

}  // namespace

std::vector<Field> run_fields(RunConfig& config) {
  std::vector<Field> list;
  add_task(list, config.task);
  list.push_back({.key = "seed", .target = &config.seed, .meaning = "Random seed.", .low = 0});
  add_data(list, config.data);
  add_tokenizer(list, config.tokenizer);
  list.push_back({.section = "model",
                  .key = "family",
                  .target = &config.model.family,
                  .meaning = "Architecture of a new model.",
                  .choices = family_names()});
  list.push_back(
      {.section = "model",
       .key = "from",
       .target = &config.model.from,
       .meaning = "Model folder to fine-tune: training starts with its weights and tokenizer. The key cannot "
                  "be combined with vectors and freeze_vectors; all other keys of [model] have no effect."});
  list.push_back(
      {.section = "model",
       .key = "vectors",
       .target = &config.model.vectors,
       .meaning = "File of word vectors to initialise the embedding, in a format that `regard vectors` "
                  "reads. With two vocabularies, only the source embedding is initialised. The vectors must "
                  "have the size of the embedding. Tokens without a vector keep random values, so "
                  "`tokenizer.type = \"word\"` is recommended. The path is relative to the run file."});
  list.push_back({.section = "model",
                  .key = "freeze_vectors",
                  .target = &config.model.freeze_vectors,
                  .meaning = "Do not train the embedding that `vectors` initialises. This includes tokens "
                             "without a vector and a tied output layer."});
  add_transformer(list, config.model.transformer);
  add_sequence_fields(list, config.model.sequence);
  add_labels(list, config.labels);
  add_masking(list, config.masking);
  add_questions(list, config.questions);
  add_embedding(list, config.embedding);
  add_images(list, config.images);
  add_augmentation(list, config.augmentation);
  add_sound(list, config.sound);
  add_optimization_fields(list, config.training);
  add_training(list, config.training);
  add_lora_fields(list, config.lora);
  add_validation(list, config.validation);
  add_output(list, config.output);
  add_distributed(list, config.distributed);
  mark_tasks(list);
  return list;
}

}  // namespace regard::train

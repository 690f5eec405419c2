// The list of all keys of a run file.

#include "models/transformer_fields.h"
#include "text/train_tokenizer.h"
#include "train/new_families.h"
#include "train/run_field_parts.h"
#include "train/sequence_keys.h"

namespace regard::train {
namespace {

// Append the keys of [data] for the format of data files and for reading them.
void add_data_forms(std::vector<Field>& list, DataConfig& c) {
  const SectionFields add(list, "data");
  add("train_list", c.train_list,
      "A text file that replaces `train`: each line has the path of a training file, or the paths of "
      "line-aligned files, separated by tabs. Paths are relative to the folder of the list. In the run "
      "folder, run.toml contains these paths in `train`.",
      {.may_change = true});
  add("sharded", c.sharded,
      "The training files are shards, and a process reads only the shards of its own micro-batches. "
      "Micro-batch i of a step (0 to `accumulate` - 1) is drawn from the shards i, i + accumulate, …. "
      "Requires `valid`, and `tokenizer.file` or `model.from`.");
  add("conversations", c.conversations,
      "Language models: the column contains conversations, lists of objects with `role` and `content` in "
      "JSONL files. Each conversation is one example, formatted by the chat template. The loss counts only "
      "the tokens of the assistant. Requires `model.from`.");
  add("chat_template", c.chat_template,
      "Name of the chat template, as for `regard generate --chat-template`. Default: the template of the "
      "folder in `model.from`.");
  add("delimiter", c.delimiter,
      "CSV, TSV: the character between fields. Default: a comma in CSV, a tab in TSV.");
  add("malformed", c.malformed, "Treatment of rows without a required column or with an invalid format.",
      {.choices = {"refuse", "skip"}});
  add("max_skipped", c.max_skipped,
      "Maximum fraction of the rows that may be skipped. A larger fraction is an error.",
      {.low = 0.0, .high = 1.0});
  add("weights", c.weights,
      "Number of times that an epoch contains the rows of each file of `train` (or of each group of "
      "line-aligned files). Default: 1 for each.",
      {.low = 0.0, .high = 1000.0});
  add("valid_format", c.valid_format,
      "Format of the files in `valid`. Default: same, which means the value of `format`.",
      {.choices = {"same", "auto", "lines", "tsv", "csv", "jsonl", "text"}});
  add("valid_columns", c.valid_columns, "Columns of the files of `valid`. Default: `columns`.");
  add("valid_header", c.valid_header, "TSV, CSV: the first line of each file of `valid` is a header.");
  add("cache", c.cache,
      "Store token ids and features in a folder next to the run folder and memory-map them, so that the data "
      "may be larger than the memory. auto: for files of 64 MiB or more, and always for features.",
      {.choices = {"auto", "always", "never"}, .may_change = true});
  add("preview", c.preview,
      "Number of examples per batch to show in a dry run. 0 shows only the first example, in short form.",
      {.unit = "examples", .low = 0, .high = 1000, .may_change = true});
}

void add_text_rules(std::vector<Field>& list, DataConfig& c) {
  const SectionFields add(list, "data");
  add("max_length", c.max_length,
      "Translation: skip a pair if one of its texts has more tokens than this, or more characters than 32 "
      "times this number. Tasks of encoders: truncate longer texts.",
      {.unit = "tokens", .low = 1, .high = 1e9});
  add("empty_lines", c.empty_lines, "Treatment of rows with an empty text.", {.choices = {"skip", "refuse"}});
  add("bad_utf8", c.bad_utf8, "Treatment of lines that are not UTF-8.", {.choices = {"refuse", "skip"}});
  add("normalize_whitespace", c.normalize_whitespace,
      "Translation: remove a byte order mark and outer white space, and replace each sequence of white space "
      "with one space, in training and inference.");
}

void add_data(std::vector<Field>& list, DataConfig& c) {
  const SectionFields add(list, "data");
  add("train", c.train,
      "Training text. Translation: two line-aligned files (source, target), or one TSV, CSV or JSONL file "
      "with `columns`. Language models: plain text files. Paths are relative to the run file; ${NAME} and "
      "${NAME:-default} are replaced by environment variables.",
      {.may_change = true});
  add("valid", c.valid, "Validation text, in the format of `train`.", {.may_change = true});
  add("format", c.format, "Format of the files; auto determines it from the file name.",
      {.choices = {"auto", "lines", "tsv", "csv", "jsonl", "text"}});
  add("columns", c.columns,
      "Columns of the source and of the target. TSV, CSV: numbers from 1, or names in the first line. JSONL: "
      "names.");
  add("header", c.header,
      "TSV, CSV: the first line of each file is a header (implied by names in `columns`).");
  add("valid_fraction", c.valid_fraction,
      "Fraction of the training text that is used for validation if `valid` is empty. Pairs are selected by "
      "a hash of their source; for plain text, the end is used.",
      {.low = 0.0, .high = 0.5});
  add_text_rules(list, c);
  add_data_forms(list, c);
}

void add_tokenizer(std::vector<Field>& list, TokenizerConfig& c) {
  const SectionFields add(list, "tokenizer");
  add("type", c.type, "Type of the tokenizer to train.", {.choices = text::trainable_types()});
  add("file", c.file, "Existing tokenizer.json to use, as a path relative to the run file.",
      {.may_change = true});
  add("vocab_size", c.vocab_size, "Vocabulary size, including special tokens.",
      {.unit = "tokens", .low = 8, .high = 2e6});
  add("joint", c.joint, "Use one vocabulary for source and target.");
  add("lower_case", c.lower_case, "Convert text to lower case. The model's output is then lower-case too.");
  add("min_frequency", c.min_frequency,
      "Minimum frequency of a merge (or word). Default (0): 2; 1 for type word.", {.low = 0});
  add("limit_alphabet", c.limit_alphabet,
      "Keep at most this number of the most frequent characters; 0 keeps all.",
      {.unit = "characters", .low = 0});
  add("character_coverage", c.character_coverage,
      "Keep the most frequent characters that cover this fraction of the text.", {.low = 1e-6, .high = 1.0});
  add("max_piece_length", c.max_piece_length,
      "Maximum length of a token (byte-bpe: in bytes). Default: 0, which means 16 for unigram and no limit "
      "for all other types.",
      {.unit = "characters", .low = 0});
  std::vector<std::string> rules = text::word_rule_names();
  rules.insert(rules.begin(), "auto");
  add("words", c.words,
      "Word boundaries: words (letters with combining marks, any script), spaces, signs (spaces and "
      "punctuation), gpt2, bert or metaspace (as sentencepiece). auto: bert for wordpiece, signs for word, "
      "else words.",
      {.choices = rules});
}

void add_transformer(std::vector<Field>& list, TransformerConfig& c) {
  const SectionFields add(list, "model");
  transformer::visit_fields(c, [&add](const transformer::Key& key, auto& value) {
    if (!key.in_run_files()) return;
    add(key.name, value, key.meaning,
        {.unit = key.unit, .low = key.low, .high = key.high, .choices = key.choices});
  });
}

void add_training(std::vector<Field>& list, TrainingConfig& c) {
  const SectionFields add(list, "training");
  add("batch_tokens", c.batch_tokens, "Batch size of translation.",
      {.unit = "target tokens", .low = 1, .high = 1e9});
  add("batch_size", c.batch_size, "Batch size of all tasks except translation.",
      {.unit = "windows or examples", .low = 1, .high = 1e9});
  add("context", c.context, "Window length of language models.", {.unit = "tokens", .low = 1, .high = 1e9});
  add("bucketing", c.bucketing,
      "Translation: batches of pairs of similar length (length), or of any length (none). No padding is "
      "used.",
      {.choices = {"length", "none"}});
  add("windows", c.windows,
      "Language models: windows at random positions (random), or consecutive windows in a random order each "
      "epoch (sequential).",
      {.choices = {"random", "sequential"}});
  add("accumulate", c.accumulate,
      "Gradient accumulation: number of batches per step. The loss of a step is the mean over the tokens of "
      "all its batches.",
      {.unit = "batches", .low = 1, .high = 65536});
  add("precision", c.precision,
      "Number format of the operands of linear layers, attention and the loss in training: f32, or bf16 with "
      "f32 sums, weights and optimiser, on processors with AMX-BF16, and AMD processors with AVX512_BF16.",
      {.choices = {"f32", "bf16"}});
  add("gradient_checkpointing", c.gradient_checkpointing,
      "Store only the output of each layer, and recompute all other activations in the backward pass. This "
      "reduces memory, takes about a third more time, and does not change the weights.",
      {.may_change = true});
  add("max_steps", c.max_steps,
      "Maximum number of steps; 0 means no limit. The run ends at the first limit reached.",
      {.unit = "steps", .low = 0, .high = 1e9, .may_change = true});
  add("max_epochs", c.max_epochs, "Maximum number of epochs; 0 means no limit.",
      {.unit = "passes over the data", .low = 0, .may_change = true});
  add("max_minutes", c.max_minutes, "Maximum training time over all starts of the run; 0 means no limit.",
      {.unit = "minutes", .low = 0, .may_change = true});
  add("average_last", c.average_last,
      "Number of latest validated checkpoints to average at the end of the run. The average is validated and "
      "saved. 0 disables averaging.",
      {.unit = "validations", .low = 0, .high = 1e9, .may_change = true});
}

std::vector<std::string> family_names() {
  std::vector<std::string> names{"transformer"};
  for (const NewFamily& family : new_families()) names.emplace_back(family.name);
  names.insert(names.end(), sequence_families().begin(), sequence_families().end());
  return names;
}

void add_model(std::vector<Field>& list, ModelConfig& c) {
  const SectionFields add(list, "model");
  add("family", c.family, "Architecture of a new model.", {.choices = family_names()});
  add("from", c.from,
      "Model folder to fine-tune: training starts with its weights and tokenizer. The key cannot be combined "
      "with vectors and freeze_vectors; all other keys of [model] have no effect.");
  add("vectors", c.vectors,
      "File of word vectors to initialise the embedding, in a format that `regard vectors` reads. With two "
      "vocabularies, only the source embedding is initialised. The vectors must have the size of the "
      "embedding. Tokens without a vector keep random values, so `tokenizer.type = \"word\"` is recommended. "
      "The path is relative to the run file.");
  add("freeze_vectors", c.freeze_vectors,
      "Do not train the embedding that `vectors` initialises. This includes tokens without a vector and a "
      "tied output layer.");
  add_transformer(list, c.transformer);
  add_sequence_fields(list, c.sequence);
}

}  // namespace

std::vector<Field> run_fields(RunConfig& config) {
  std::vector<Field> list;
  add_task(list, config.task);
  list.push_back({.key = "seed", .target = &config.seed, .meaning = "Random seed.", .low = 0});
  add_data(list, config.data);
  add_tokenizer(list, config.tokenizer);
  add_model(list, config.model);
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

// The list of keys of a run file.

#include "models/transformer_fields.h"
#include "text/train_tokenizer.h"
#include "train/run_field_parts.h"

namespace regard::train {
namespace {

void add_text_rules(std::vector<Field>& list, DataConfig& c) {
  list.push_back({.section = "data",
                  .key = "max_length",
                  .target = &c.max_length,
                  .unit = "tokens",
                  .meaning = "Pairs with a longer side, or 32 times as many characters, are left out.",
                  .low = 1,
                  .high = 1e9});
  list.push_back({.section = "data",
                  .key = "empty_lines",
                  .target = &c.empty_lines,
                  .meaning = "What to do about a pair with an empty side.",
                  .choices = {"skip", "refuse"}});
  list.push_back({.section = "data",
                  .key = "bad_utf8",
                  .target = &c.bad_utf8,
                  .meaning = "What to do about a line that is not UTF-8.",
                  .choices = {"refuse", "skip"}});
  list.push_back({.section = "data",
                  .key = "normalize_whitespace",
                  .target = &c.normalize_whitespace,
                  .meaning =
                      "Translation: a line loses its byte order mark and outer white space, and a run "
                      "of white space becomes one space, in training and wherever the model is used."});
}

void add_data(std::vector<Field>& list, DataConfig& c) {
  list.push_back(
      {.section = "data",
       .key = "train",
       .target = &c.train,
       .meaning =
           "Training text: two files whose lines correspond (source, target), or one TSV, CSV or JSONL file "
           "with `columns`; plain text files for language models. Relative to the run file; "
           "${NAME} and ${NAME:-default} stand for environment variables.",
       .may_change = true});
  list.push_back({.section = "data",
                  .key = "valid",
                  .target = &c.valid,
                  .meaning = "Validation text, in the same form.",
                  .may_change = true});
  list.push_back({.section = "data",
                  .key = "format",
                  .target = &c.format,
                  .meaning = "Form of the files; auto goes by their names.",
                  .choices = {"auto", "lines", "tsv", "csv", "jsonl", "text"}});
  list.push_back(
      {.section = "data",
       .key = "columns",
       .target = &c.columns,
       .meaning =
           "TSV, CSV: the columns' numbers, from 1, or their names in the first line; JSONL: their names. "
           "Source first, then target."});
  list.push_back(
      {.section = "data",
       .key = "header",
       .target = &c.header,
       .meaning = "TSV, CSV: the first line of each file is a header, as names in `columns` imply."});
  list.push_back(
      {.section = "data",
       .key = "valid_fraction",
       .target = &c.valid_fraction,
       .meaning =
           "Without `valid`: the part of the training text that is held out. Pairs are chosen by a hash of "
           "their source, of plain text it is the end.",
       .low = 0.0,
       .high = 0.5});
  add_text_rules(list, c);
}

void add_tokenizer(std::vector<Field>& list, TokenizerConfig& c) {
  list.push_back({.section = "tokenizer",
                  .key = "type",
                  .target = &c.type,
                  .meaning = "What to train.",
                  .choices = text::trainable_types()});
  list.push_back({.section = "tokenizer",
                  .key = "file",
                  .target = &c.file,
                  .meaning = "A tokenizer.json to use instead of training one. Relative to the run file.",
                  .may_change = true});
  list.push_back({.section = "tokenizer",
                  .key = "vocab_size",
                  .target = &c.vocab_size,
                  .unit = "tokens",
                  .meaning = "Size of the vocabulary, special tokens included.",
                  .low = 8,
                  .high = 2e6});
  list.push_back({.section = "tokenizer",
                  .key = "joint",
                  .target = &c.joint,
                  .meaning = "One vocabulary for both sides."});
  list.push_back({.section = "tokenizer",
                  .key = "lower_case",
                  .target = &c.lower_case,
                  .meaning = "Text is lower-cased before it is split; the output is lower-case then."});
  list.push_back({.section = "tokenizer",
                  .key = "min_frequency",
                  .target = &c.min_frequency,
                  .meaning = "A rarer pair is not joined, a rarer word is unknown; 0: 2, with word 1.",
                  .low = 0});
  list.push_back({.section = "tokenizer",
                  .key = "limit_alphabet",
                  .target = &c.limit_alphabet,
                  .unit = "characters",
                  .meaning = "Keep so many, the commonest; 0: all.",
                  .low = 0});
  list.push_back({.section = "tokenizer",
                  .key = "character_coverage",
                  .target = &c.character_coverage,
                  .meaning = "Keep the commonest characters that make up this part of the text.",
                  .low = 1e-6,
                  .high = 1.0});
  list.push_back({.section = "tokenizer",
                  .key = "max_piece_length",
                  .target = &c.max_piece_length,
                  .unit = "characters",
                  .meaning = "Longest piece, with byte-bpe in bytes; 0: 16 with unigram, else no limit.",
                  .low = 0});
  std::vector<std::string> rules = text::word_rule_names();
  rules.insert(rules.begin(), "auto");
  list.push_back({.section = "tokenizer",
                  .key = "words",
                  .target = &c.words,
                  .meaning =
                      "Where words end: at white space (spaces), also at signs, as GPT-2 or BERT cut, or "
                      "words: letters with their marks, for every script; auto: words, with wordpiece "
                      "bert, with word signs.",
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
  const auto count = [&list](const char* key, std::int64_t& value, const char* unit, const char* meaning,
                             double low) {
    list.push_back({.section = "training",
                    .key = key,
                    .target = &value,
                    .unit = unit,
                    .meaning = meaning,
                    .low = low,
                    .high = 1e9});
  };
  count("batch_tokens", c.batch_tokens, "target tokens", "Translation: size of a batch.", 1);
  count("batch_size", c.batch_size, "windows", "Language models: size of a batch.", 1);
  count("context", c.context, "tokens", "Language models: length of a window.", 1);
  list.push_back(
      {.section = "training",
       .key = "bucketing",
       .target = &c.bucketing,
       .meaning =
           "Translation: batches of pairs of similar length, or of any. No padding is computed either way.",
       .choices = {"length", "none"}});
  list.push_back(
      {.section = "training",
       .key = "windows",
       .target = &c.windows,
       .meaning =
           "Language models: windows at random places, or one after the other in a random order each epoch.",
       .choices = {"random", "sequential"}});
  count("accumulate", c.accumulate, "batches",
        "Batches whose gradients make one step; the loss is the mean over all their tokens.", 1);
  list.back().high = 65536;
  list.push_back({.section = "training",
                  .key = "precision",
                  .target = &c.precision,
                  .meaning = "Of multiplication and storage.",
                  .choices = {"f32"}});
  count("max_steps", c.max_steps, "steps",
        "The run ends here; 0: no such limit. Whichever limit is reached first counts.", 0);
  list.back().may_change = true;
  list.push_back({.section = "training",
                  .key = "max_epochs",
                  .target = &c.max_epochs,
                  .unit = "passes over the data",
                  .meaning = "The same in epochs; 0: no limit.",
                  .low = 0,
                  .may_change = true});
  list.push_back({.section = "training",
                  .key = "max_minutes",
                  .target = &c.max_minutes,
                  .unit = "minutes",
                  .meaning = "The same in time, earlier parts of a resumed run included; 0: no limit.",
                  .low = 0,
                  .may_change = true});
  count("average_last", c.average_last, "validations",
        "At the end the weights of the last validations are averaged, validated and kept; 0: not.", 0);
}

}  // namespace

std::vector<Field> run_fields(RunConfig& config) {
  std::vector<Field> list;
  add_task(list, config.task);
  list.push_back({.key = "seed", .target = &config.seed, .meaning = "Seed of every random draw.", .low = 0});
  add_data(list, config.data);
  add_tokenizer(list, config.tokenizer);
  list.push_back({.section = "model",
                  .key = "family",
                  .target = &config.model.family,
                  .meaning = "Which model.",
                  .choices = {"transformer"}});
  list.push_back({.section = "model",
                  .key = "from",
                  .target = &config.model.from,
                  .meaning =
                      "A model folder whose weights, and whose tokenizer, to start from; the other keys of "
                      "[model] have no effect then."});
  list.push_back({.section = "model",
                  .key = "vectors",
                  .target = &config.model.vectors,
                  .meaning =
                      "Word vectors of size hidden_size that the embedding starts with, for tokens that have "
                      "one; with two vocabularies the source's. Any form that `regard vectors` reads. Goes "
                      "well with `tokenizer.type = \"word\"`. Relative to the run file."});
  list.push_back(
      {.section = "model",
       .key = "freeze_vectors",
       .target = &config.model.freeze_vectors,
       .meaning = "That embedding is not trained, tokens without a vector and a tied output included."});
  add_transformer(list, config.model.transformer);
  add_optimization_fields(list, config.training);
  add_training(list, config.training);
  add_validation(list, config.validation);
  add_output(list, config.output);
  mark_tasks(list);
  return list;
}

}  // namespace regard::train

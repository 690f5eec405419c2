// Keys of [data] for the formats of data files and for reading them.
#include "train/run_field_parts.h"

namespace regard::train {

namespace {

void add_shards(std::vector<Field>& list, DataConfig& c) {
  list.push_back(
      {.section = "data",
       .key = "train_list",
       .target = &c.train_list,
       .meaning = "A text file that replaces `train`: each line has the path of a training file, or the "
                  "paths of line-aligned files, separated by tabs. Paths are relative to the folder of the "
                  "list. In the run folder, run.toml contains these paths in `train`.",
       .may_change = true});
  list.push_back(
      {.section = "data",
       .key = "sharded",
       .target = &c.sharded,
       .meaning = "The training files are shards, and a process reads only the shards of its own "
                  "micro-batches. Micro-batch i of a step (0 to `accumulate` - 1) is drawn from the shards "
                  "i, i + accumulate, …. Requires `valid`, and `tokenizer.file` or `model.from`."});
}

void add_conversations(std::vector<Field>& list, DataConfig& c) {
  list.push_back(
      {.section = "data",
       .key = "conversations",
       .target = &c.conversations,
       .meaning =
           "Language models: the column contains conversations, lists of objects with `role` and "
           "`content` in JSONL files. Each conversation is one example, formatted by the chat template. "
           "The loss counts only the tokens of the assistant. Requires `model.from`."});
  list.push_back({.section = "data",
                  .key = "chat_template",
                  .target = &c.chat_template,
                  .meaning = "Name of the chat template, as for `regard generate --chat-template`. Default: "
                             "the template of the folder in `model.from`."});
}

}  // namespace

void add_data_forms(std::vector<Field>& list, DataConfig& c) {
  add_shards(list, c);
  add_conversations(list, c);
  list.push_back(
      {.section = "data",
       .key = "delimiter",
       .target = &c.delimiter,
       .meaning = "CSV, TSV: the character between fields. Default: a comma in CSV, a tab in TSV."});
  list.push_back({.section = "data",
                  .key = "malformed",
                  .target = &c.malformed,
                  .meaning = "Treatment of rows without a required column or with an invalid format.",
                  .choices = {"refuse", "skip"}});
  list.push_back(
      {.section = "data",
       .key = "max_skipped",
       .target = &c.max_skipped,
       .meaning = "Maximum fraction of the rows that may be skipped. A larger fraction is an error.",
       .low = 0.0,
       .high = 1.0});
  list.push_back({.section = "data",
                  .key = "weights",
                  .target = &c.weights,
                  .meaning = "Number of times that an epoch contains the rows of each file of `train` (or of "
                             "each group of line-aligned files). Default: 1 for each.",
                  .low = 0.0,
                  .high = 1000.0});
  list.push_back(
      {.section = "data",
       .key = "valid_format",
       .target = &c.valid_format,
       .meaning = "Format of the files in `valid`. Default: same, which means the value of `format`.",
       .choices = {"same", "auto", "lines", "tsv", "csv", "jsonl", "text"}});
  list.push_back({.section = "data",
                  .key = "valid_columns",
                  .target = &c.valid_columns,
                  .meaning = "Columns of the files of `valid`. Default: `columns`."});
  list.push_back({.section = "data",
                  .key = "valid_header",
                  .target = &c.valid_header,
                  .meaning = "TSV, CSV: the first line of each file of `valid` is a header."});
  list.push_back(
      {.section = "data",
       .key = "cache",
       .target = &c.cache,
       .meaning =
           "Store token ids and features in a folder next to the run folder and memory-map them, so that the "
           "data may be larger than the memory. auto: for files of 64 MiB or more, and always for features.",
       .choices = {"auto", "always", "never"},
       .may_change = true});
  list.push_back({.section = "data",
                  .key = "preview",
                  .target = &c.preview,
                  .unit = "examples",
                  .meaning = "Number of examples per batch to show in a dry run. 0 shows only the first "
                             "example, in short form.",
                  .low = 0,
                  .high = 1000,
                  .may_change = true});
}

}  // namespace regard::train

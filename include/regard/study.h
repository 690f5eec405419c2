// Studies of what the heads and layers of a model do, each as a table: those of `regard study`, described in
// docs/looking.md.
//
//   regard::Model model = regard::load("models/translator");
//   regard::Study study = regard::study(model, "heads", {.data = "valid.tsv"});
//   for (const regard::Study::Row& row : study.rows) …
//
// Attention is not an explanation: what a head looks at need not be what changes the result. The views
// "heads", "sets", "flip", "patch" and "path" change values and measure the result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "regard/export.h"
#include "regard/model.h"

namespace regard {

// Fields that a view does not use have no effect.
struct StudyOptions {
  // A file with one text per line: TEXT, or TEXT<tab>TARGET (a translation or a label); or one text.
  std::filesystem::path data = {};
  std::string text = {}, target = {};         // target: of `text`; empty: generated
  std::string other = {}, other_target = {};  // patch, path: the text into which values of `text` are put
  std::string answer = {}, instead = {};      // the logit of the answer is measured, minus that of `instead`
  std::vector<HeadName> off = {};             // heads, sets: ablated throughout
  std::filesystem::path state = {};  // heads: a file that keeps finished heads; a later call continues
  std::int64_t position = -1;        // where the answer is predicted; -1: the last of a decoder, else 0
  std::int64_t examples = 0;         // use at most this many lines of `data`; 0: all
  std::int64_t most = 3;             // sets, flip: largest number of heads
  std::int64_t steps = 50;           // tokens: steps of the integral
  std::int64_t length = 20;          // induction: random tokens before the repetition
  std::int64_t sequences = 8;        // induction: number of sequences
  std::uint64_t seed = 1;
  // Called during long studies with the finished share, 0 to 1; false ends the study with `cancelled`.
  std::function<bool(double share)> progress = {};
};

struct Study {
  using Cell = std::variant<std::string, double>;
  using Row = std::vector<Cell>;  // one cell per column

  std::string view, title;           // "heads"; one line that says what is measured, with units
  std::vector<std::string> columns;  // the first columns of text are the row's name
  std::vector<Row> rows;
  std::vector<std::string> notes;  // facts that belong to the numbers, one sentence each
};

// Names of the views: heads, sets, flip, kinds, induction, lens, direct, patch, path, tokens, rollout, flow,
// probe.
REGARD_API std::vector<std::string> study_views();

// Run a study. It uses the threads of regard/threads.h and is serialised with no other call on the model;
// results are bit-identical for any number of threads. Throws usage for a view that does not exist, lacks an
// option or does not fit the model, io and bad_file for `data`, and cancelled.
REGARD_API Study study(const Model& model, std::string_view view, const StudyOptions& options = {});

// Format a study: "text" (at most `most_rows` rows; 0: all), "csv" (RFC 4180, with a header), "json" or
// "svg". Throws usage for another format.
REGARD_API std::string format(const Study& study, std::string_view format, std::size_t most_rows = 0);

}  // namespace regard

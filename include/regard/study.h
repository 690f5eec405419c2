// Measure the effects of a model's heads and layers. Each study returns the table that `regard study` prints
// (docs/looking.md).
//
//   regard::Model model = regard::load("models/translator");
//   regard::Study study = regard::study(model, "heads", {.data = "valid.tsv"});
//   for (const regard::Study::Row& row : study.rows) …
//
// Attention is not an explanation: the tokens that a head attends to may differ from the tokens that change
// the result. The views "heads", "sets", "flip", "patch" and "path" change values and measure the result.
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

// Options of a study. If a field applies only to some views, its comment lists these views; the other views
// ignore the field.
struct StudyOptions {
  // Data: a file with one text per line, as TEXT or TEXT<tab>TARGET (a translation or a label). For a
  // decoder, the whole line is the text. To study a single text, set `text` instead. If the model reads
  // images or sounds, this is a data set in a format of `regard evaluate` (docs/evaluation.md): a table of
  // paths with labels or texts, a folder that has one folder of images per label, or an IDX file of images.
  // `more_data` then names the IDX file of the labels.
  std::filesystem::path data = {};
  // A text and its target; if the target is empty, the model generates it. For a model of images or sounds:
  // the name of a file, and its label, caption or transcript.
  std::string text = {}, target = {};
  // Views "patch" and "path": a second text or file. Values of its forward pass are replaced by values of the
  // pass over `text`.
  std::string other = {}, other_target = {};
  // Views "heads" and "sets": `answer` is the part of the target whose predictions are counted in the loss.
  // Other views: two tokens or labels; the measured value is logit(answer) − logit(instead). Default of
  // `answer` in these views: the label at `position`; for "flip", the token with the highest logit other than
  // `instead`.
  std::string answer = {}, instead = {};
  std::vector<HeadName> off = {};  // views "heads" and "sets": heads ablated in all passes
  // Views "heads", "sets", "flip", "patch" and "path": file that stores the result of each head, set of
  // heads or component when it is computed. A later call with this file computes only the missing results.
  std::filesystem::path state = {};
  // Position at which the answer is predicted; the views "lens" and "rollout" list only this position.
  // Default: -1. For "lens" and "rollout", -1 means all positions. For the other views, it means the last
  // position of a decoder, the first position after the prompt of a transcript, the first mask of a masked
  // language model, and 0 for other models.
  std::int64_t position = -1;
  std::int64_t examples = 0;   // maximum number of lines or files of `data`; 0 means all
  std::int64_t most = 3;       // views "sets" and "flip": maximum number of heads to ablate
  std::int64_t steps = 50;     // view "tokens": number of steps of integrated gradients
  std::int64_t length = 20;    // view "induction": number of random tokens, which are then repeated
  std::int64_t sequences = 8;  // view "induction": number of random sequences
  std::uint64_t seed = 1;
  // Called during long studies with the completed fraction, 0 to 1. Return false to end the study, which then
  // throws `cancelled`.
  std::function<bool(double share)> progress = {};
  // Interventions that change values in every forward pass (docs/looking.md). The view "lens" does not
  // support interventions on the decoder's output; the view "direct" does not support them on the decoder's
  // output or residuals.
  std::vector<std::string> interventions = {};
  // View "alignment": a file with the word links of each line of `data` in Pharaoh format, such as "0-1 2p0";
  // "p" marks a link that is only possible.
  std::filesystem::path alignments = {};
  // data files in addition to `data`, such as the label file of an IDX file
  std::vector<std::filesystem::path> more_data = {};
  // The following fields apply only to tables of images and sounds.
  std::vector<std::string> columns = {};  // names or numbers (from 1) of the columns to read
  bool header = false;                    // true if the first line of the table is a header
  // value of a white pixel, for a table in which each row contains the pixels of one image; 0 for a table of
  // paths
  std::int64_t highest = 0;
};

struct Study {
  using Cell = std::variant<std::string, double>;
  using Row = std::vector<Cell>;  // cells of one row, one per column

  // `view` is a name such as "heads"; `title` is one line with the measured quantity and its unit.
  std::string view, title;
  // headings; the first columns identify the row, the others contain results
  std::vector<std::string> columns;
  std::vector<Row> rows;
  std::vector<std::string> notes;  // remarks about the numbers, one sentence each

  // An intervention that changed nothing. `reason` is "place" if no pass computes the value to be changed,
  // and "positions" or "keys" if no input has tokens at the positions or keys that it names; `message` states
  // this in one sentence.
  struct Warning {
    std::string intervention, reason, message;
  };
  std::vector<Warning> warnings = {};
};

// Return the names of the views: heads, sets, flip, kinds, induction, lens, direct, patch, path, tokens,
// rollout, flow, probe, alignment.
REGARD_API std::vector<std::string> study_views();

// Run a study on the threads of regard/threads.h; results are bit-identical for any number of threads. The
// study is not serialised with other calls on the same model. Throws usage if the view does not exist,
// requires an option that is not set, or does not apply to the model. Throws io or bad_file if `data` cannot
// be read or is invalid, and cancelled if `progress` returns false.
REGARD_API Study study(const Model& model, std::string_view view, const StudyOptions& options = {});

// Return a study as "text" (at most `most_rows` rows; 0 means all), "csv" (RFC 4180, with a header), "json"
// or "svg". Throws usage for another format, and if a row does not have one cell per column.
REGARD_API std::string format(const Study& study, std::string_view format, std::size_t most_rows = 0);

}  // namespace regard

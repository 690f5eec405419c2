// Reads the examples of a study (texts, images or sounds) as inputs of the model, with the expected
// predictions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/media_reader.h"
#include "inspect/pass_input.h"

namespace regard::inspect {

struct StudyExample {
  // text (or the name of an image or sound) and target as in the file; `target` is the translation, caption
  // or transcript for an encoder–decoder or a CTC head, otherwise the label
  std::string text, target;
  PassInput input;
  std::vector<std::string> places = {};  // for images and sounds, the name of each encoder position
  // The expected prediction at each position of the decoder, or kIgnoredLabel. For classifiers: the class, or
  // all classes of a multi-label classifier. For a CTC head: the labels of the target, without blanks. Empty
  // if unknown.
  std::vector<std::int32_t> labels = {};

  // Return labels[0], which for classifiers is the class. Throws usage if there is none.
  std::int32_t label() const;
};

struct StudyDataOptions {
  std::int64_t most_examples = 0;  // maximum number of examples; 0 means all
  // Predict only the tokens that are part of the first occurrence of this text in the target or, for a
  // decoder-only model, in the text. Throws invalid_input if an example lacks this text. If empty, predict
  // all tokens.
  std::string answer;
  bool labels = true;                  // if false, the labels of an encoder are not read
  BetweenPasses between = {};          // called while a target is generated; see BetweenPasses
  const MediaReader* media = nullptr;  // needed if the model reads images or sounds
  const EditedPass* edits = nullptr;   // interventions while a target is generated; may be null
  // Token ids used as the target if an example has none. If empty, the model generates the target.
  std::vector<std::int32_t> written = {};

  TargetGeneration generation() const { return {between, edits, written}; }
};

// Return the class with this name in the configuration's id2label or, if no name is a number, with this
// number. Throws invalid_input if there is none.
std::int32_t class_of(Network& model, const std::string& label);

// Return true for a classifier that gives an input any number of labels.
bool is_multi_label(Network& model);

// Return what the model reads: "text", "image" or "sound".
const char* input_name(Network& model);

// Return one example with the given `text` and `target` (see StudyExample). If the model reads images or
// sounds, `text` is the name of a file. If `target` is empty, an encoder–decoder generates it, and other
// models get an example without a label. Throws the errors of pass_input() and options.media->file, usage if
// options.media is needed and null or if a decoder-only model has a target, and invalid_input for a label
// that the model does not have.
StudyExample study_example(const infer::LoadedModel& loaded, ThreadPool& pool, const std::string& text,
                           const std::string& target, const StudyDataOptions& options = {});

// Read files of texts ("-" is standard input); blank lines are skipped. A line is TEXT or TEXT<tab>TARGET;
// for a decoder-only model, the whole line is the text. If the model reads images or sounds, read a data set
// with options.media->rows. Throws io, the errors of study_example() with file and line, invalid_input for
// data without inputs, and usage if data.columns, header or highest are set for texts.
std::vector<StudyExample> read_examples(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const data::DataFiles& data, const StudyDataOptions& options = {});

// An input that is read when it is needed, with its label.
struct LabeledInput {
  std::string label;
  std::function<PassInput()> read;  // for an encoder–decoder, the decoder's input is only the start token
};
struct LabeledInputs {
  // The network that reads the inputs: the model or, in a model with two encoders, the encoder of texts or
  // the encoder of images.
  Network* network = nullptr;
  std::string tower = {};  // name of `network` (as in ValueEdit) if there are two encoders, otherwise empty
  std::vector<LabeledInput> inputs = {};
};
// Read lines TEXT<tab>LABEL, or a data set of images or sounds, as read_examples() does; options.answer has
// no effect.
// For a model with two encoders, the data are images if they are a folder, IDX files, or a CSV or JSONL
// table. They are also images if options of image tables are set, or if the first column contains names of
// images. Otherwise, the data are texts, which are padded as in training.
// Throws invalid_input for a line without a tab, and for a table that mixes images and texts. `loaded` must
// outlive the result.
LabeledInputs read_labeled_inputs(const infer::LoadedModel& loaded, const data::DataFiles& data,
                                  const StudyDataOptions& options = {});

}  // namespace regard::inspect

// Images and sounds as inputs of studies. The caller supplies the functions that read them, because this
// directory must not include the code that prepares files for a model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "data/data_files.h"
#include "inspect/other_input.h"
#include "regard/error.h"

namespace regard::inspect {

// An image or sound as input of a study, with the names of the encoder's positions.
struct MediaInput {
  FileInput file;
  // Name of each position of the encoder: "[CLS]", "0,3" (row and column of a patch) or "1.24 s". If empty,
  // position_names() are used.
  std::vector<std::string> places = {};
  bool cut = false;  // true if the sound was truncated to a maximum length
};

// One image or sound of a data set.
struct MediaRow {
  std::string name;  // path as given, or number of the image in its file
  std::string text;  // label, caption or transcript
  Place place;
  std::function<MediaInput()> read;
};

struct MediaReader {
  std::function<MediaInput(const std::string& file)> file;
  // Return the rows of a data set in the formats of `regard evaluate`. The images and sounds are not read.
  std::function<std::vector<MediaRow>(const data::DataFiles& data)> rows;
  // Return the labels of a transcript for a CTC head, without blanks.
  std::function<std::vector<std::int32_t>(const std::string& text)> ctc_labels;
};

// Return the names of the encoder's positions for an image or sound: "[CLS]" and "[DIST]" for special tokens,
// "ROW,COLUMN" for patches, otherwise the number of the position.
std::vector<std::string> position_names(const InputSpec& spec, const ModelInput& input);

// Return the input of a pass over an image or sound. `name` is the name of the file, and `target` the text
// that an encoder–decoder generates (if empty, the model generates it). Throws usage if the model does not
// accept a target, and invalid_input if the model generates nothing.
PassInput media_input(const infer::LoadedModel& loaded, ThreadPool& pool, const FileInput& file,
                      const std::string& name, std::string_view target = {},
                      const TargetGeneration& generation = {});

}  // namespace regard::inspect

// The input of another pass that an intervention names: a text, token ids, or an image or sound file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/between_passes.h"
#include "inspect/intervention.h"
#include "inspect/pass_input.h"
#include "models/dual_encoder.h"

namespace regard::inspect {

// An image or sound as input of a pass.
struct FileInput {
  ModelInput input;
  // Encoder–decoders: the first decoder tokens, beginning with the start token. Empty means only the start
  // token.
  std::vector<std::int32_t> prompt = {};
  // Encoder–decoders: options for generating the rest of the target. Default: the options of the model's
  // folder.
  std::optional<infer::SearchOptions> search = {};
};

// Reads an image or sound file with the preprocessing of the model's folder. If the function is empty, an
// intervention with a file throws usage.
using FileReader = std::function<FileInput(const std::string& file)>;

class OtherInputReader {
 public:
  // The arguments must outlive the object. `loaded` may be null; reading a text then throws usage.
  OtherInputReader(Network& model, ThreadPool& pool, const infer::LoadedModel* loaded,
                   const BetweenPasses& between, const FileReader& read_file);

  // Convert `other` to the input of a pass. If `decodes` is false, only values of the encoder are needed, so
  // no target is generated for a file and the decoder gets a single token. Throws usage if the model does not
  // read this kind of input or the input is incomplete, and the errors of the FileReader.
  PassInput read(const OtherInput& other, bool decodes) const;

  // Throw usage if the model does not read texts (`files` false) or files (`files` true). `given` is the key
  // of the intervention with its value.
  void require_kind(bool files, const std::string& given) const;

 private:
  PassInput read_text(const OtherInput& other) const;
  PassInput read_ids(const OtherInput& other) const;
  PassInput read_image_or_sound(const OtherInput& other, bool decodes) const;

  Network& model_;
  ThreadPool& pool_;
  const infer::LoadedModel* loaded_;
  const BetweenPasses& between_;
  const FileReader& read_file_;
  DualEncoder* dual_;  // the model if it has two encoders, otherwise null
};

}  // namespace regard::inspect

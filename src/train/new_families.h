// Families of new models other than regard's own Transformer. They write the config.json that transformers
// reads, from the sizes in [model].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "models/network.h"
#include "models/transformer.h"
#include "train/run_config.h"
#include "train/tokenizers.h"

namespace regard::train {

struct NewModel {
  const TransformerConfig& sizes;  // [model]
  std::int64_t vocabulary = 0;
  SpecialIds special;
  std::int64_t positions = 0;           // used if sizes.max_positions is 0: the longest sequence of the run
  const ImageConfig* images = nullptr;  // set for families that read pictures
  const SoundConfig* sound = nullptr;   // set for families that read sound
};

struct NewFamily {
  const char* name = "";  // value of model.family
  // Keys of [model] that the family uses, without the prefix "model."; the others have no effect.
  std::vector<std::string> keys{};
  Json (*config)(const NewModel& model) = nullptr;  // omits "architectures" for families of encoders
  // Change weights after regard::initialise(). Null if no weight needs a change.
  void (*initialise)(Network& model) = nullptr;
};

// Return the families of new models, in the order of their names, without "transformer".
const std::vector<NewFamily>& new_families();
const NewFamily* find_new_family(const std::string& name);  // returns null if no family has this name

}  // namespace regard::train

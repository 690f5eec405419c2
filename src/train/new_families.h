// Families of new models other than regard's own Transformer. They construct the config.json that
// transformers reads, with the sizes in [model].
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
  const TransformerConfig& sizes;  // values of [model]
  std::int64_t vocabulary = 0;
  SpecialIds special;
  // number of positions if sizes.max_positions is 0: the length of the longest sequence of the run
  std::int64_t positions = 0;
  const ImageConfig* images = nullptr;  // settings of [images]; null unless the family reads images
  const SoundConfig* sound = nullptr;   // settings of [sound]; null unless the family reads sound
};

struct NewFamily {
  const char* name = "";  // value of model.family
  // Keys of [model] that the family uses, without the prefix "model."; all other keys of [model] have no
  // effect.
  std::vector<std::string> keys{};
  // Returns the content of config.json; for encoders, without the key "architectures".
  Json (*config)(const NewModel& model) = nullptr;
  // Sets weights that models::initialise() initialises differently from transformers. Null if there are none.
  void (*initialise)(Network& model) = nullptr;
};

// Return the families of new models except "transformer", in the order of their names.
const std::vector<NewFamily>& new_families();
// return the family with this name; null if there is none
const NewFamily* find_new_family(const std::string& name);

}  // namespace regard::train

// Creates the probe that applies interventions. This includes finding the named probe points, running the
// model on other inputs, and reading files.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "inspect/between_passes.h"
#include "inspect/edited_pass.h"
#include "inspect/intervention.h"
#include "inspect/other_input.h"

namespace regard::inspect {

// The probe points of a model and their numbers of features, found by a forward pass over a minimal input.
struct ModelPoints {
  // number of features of each probe point, for example "decoder.0.self.context" → 64
  std::map<std::string, std::int64_t, std::less<>> features;
  std::map<std::pair<Kind, std::int64_t>, std::int64_t> heads;
  // attention layers whose attention weights interventions can change
  std::set<std::pair<Kind, std::int64_t>> replaceable;

  // Return the probe points of the model. For a model with two encoders, return the points of the text
  // encoder.
  static ModelPoints of(Network& model, ThreadPool& pool);

  std::vector<Head> all_heads() const;
  // Return the number of features of the head's output before the output projection.
  std::int64_t head_size(const Head& head) const;
  // Return the value edit that covers the head's output before the output projection. Throws usage if there
  // is no such head.
  ValueEdit of_head(const Head& head) const;
};

// Return the probe that applies the interventions; null if there are none. Values from another text need
// `loaded`, and values from an image or sound file need `read_file`. Throws usage if an intervention names a
// probe point, layer or head that does not exist, if the other input has too few positions, or if `loaded` or
// `read_file` is needed and missing. Throws io or bad_file if a file cannot be read.
std::unique_ptr<EditedPass> resolve(Network& model, ThreadPool& pool, const infer::LoadedModel* loaded,
                                    const std::vector<Intervention>& interventions,
                                    const BetweenPasses& between = {}, const FileReader& read_file = {});

// Return the probe that sets the outputs of the heads `ablated` to zero and applies the interventions, given
// as text; null if there are none.
std::unique_ptr<Probe> probe_of(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const std::vector<Head>& ablated,
                                const std::vector<std::string>& interventions,
                                const FileReader& read_file = {});

}  // namespace regard::inspect

// Importance of each head of a model with two encoders (CLIP, SigLIP): the contrastive loss on image–text
// pairs with the head's output set to zero.
#pragma once

#include <string>
#include <vector>

#include "inspect/head_summary.h"
#include "inspect/head_sweep.h"
#include "inspect/media_reader.h"
#include "inspect/study_data.h"
#include "models/dual_encoder.h"

namespace regard::inspect {

struct ImageTextPair {
  std::string name, caption;  // name of the image; text of the pair
  ModelInput image, text;
};

// Read the pairs of a data set with options.media, as read_examples() does. Texts are truncated to the
// model's maximum length. Throws usage for fewer than two pairs.
std::vector<ImageTextPair> read_image_texts(const infer::LoadedModel& loaded, const data::DataFiles& data,
                                            const StudyDataOptions& options);

struct TowerHead {
  std::string name;       // name of the head, such as "vision.encoder.0.1"
  double loss = 0;        // loss with the head ablated
  double lost = 0;        // `loss` minus PairSweep::loss
  HeadSummary mean = {};  // mean HeadSummary of the head over the pairs
};

struct PairSweep {
  double loss = 0;               // loss of the model with only the heads of `off` ablated
  std::vector<TowerHead> heads;  // heads sorted by loss, largest first
};

struct PairSweepOptions {
  std::string off = {};  // heads such as "vision.0.1,text.1.0", ablated in all passes
  const EditedPass* edits =
      nullptr;                       // interventions of every pass, applied before the ablations; may be null
  std::filesystem::path state = {};  // see HeadSweepOptions::state
  std::function<bool(double)> progress = {};  // see HeadSweepOptions::progress
};

// Measure the loss with each head ablated, one head at a time. The loss is the contrastive loss used in
// training, over all pairs in one batch. Throws usage for a head that does not exist, and numeric if the loss
// is not finite.
PairSweep sweep_pairs(const infer::LoadedModel& loaded, ThreadPool& pool,
                      const std::vector<ImageTextPair>& pairs, const PairSweepOptions& options);

// Return the mean HeadSummary of each head of both encoders over the pairs; TowerHead::loss and
// TowerHead::lost are 0. `edits` are interventions of every pass; may be null.
std::vector<TowerHead> pair_head_kinds(const infer::LoadedModel& loaded, ThreadPool& pool,
                                       const std::vector<ImageTextPair>& pairs, const BetweenPasses& between,
                                       const EditedPass* edits = nullptr);

}  // namespace regard::inspect

// Importance of each head of a model with two encoders (CLIP, SigLIP): the contrastive loss on pairs of
// images and texts with the head's output set to zero, one head at a time.
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
  std::string name, caption;  // of the image, and its text
  ModelInput image, text;
};

// Read the pairs of a data set with options.media, as read_examples() does. Texts that are too long are
// truncated. Throws usage for fewer than two pairs.
std::vector<ImageTextPair> read_image_texts(const infer::LoadedModel& loaded, const data::DataFiles& data,
                                            const StudyDataOptions& options);

struct TowerHead {
  std::string name;       // place of the head, such as "vision.encoder.0.1"
  double loss = 0;        // loss without the head
  double lost = 0;        // loss without the head minus the loss of the whole model
  HeadSummary mean = {};  // pattern of the head, mean over the pairs
};

struct PairSweep {
  double loss = 0;               // loss of the model with only the heads of `off` ablated
  std::vector<TowerHead> heads;  // in the order of their losses, largest first
};

// The loss is that of training over all pairs together: the images and texts of the other pairs are the wrong
// answers. The vectors of the encoder that a head does not belong to are computed once. `off` is a list of
// heads such as "vision.0.1,text.1.0", ablated in all passes. `state` and `progress` are those of
// HeadSweepOptions. Throws usage for a head that does not exist, numeric if the loss is not finite.
PairSweep sweep_pairs(const infer::LoadedModel& loaded, ThreadPool& pool,
                      const std::vector<ImageTextPair>& pairs, const std::string& off,
                      const std::filesystem::path& state, const std::function<bool(double)>& progress);

// Return the pattern of each head of both encoders, mean over the pairs, with the names of TowerHead.
std::vector<TowerHead> pair_head_kinds(const infer::LoadedModel& loaded, ThreadPool& pool,
                                       const std::vector<ImageTextPair>& pairs, const BetweenPasses& between);

}  // namespace regard::inspect

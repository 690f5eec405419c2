// Attention over a picture: which patches the class token, or a generated word, attends to.
#pragma once

#include <string>
#include <vector>

#include "data/image.h"
#include "inspect/attention_view.h"
#include "models/model_input.h"

namespace regard::inspect {

// Weights over the patches, row by row.
struct PatchWeights {
  std::string title;
  std::vector<float> weights;  // [patch rows × patch columns]; they sum to at most one
};

// Weights of one head over the patches. Encoder self-attention: one entry, for the class token (the first
// special token) as the query; without special tokens the mean over all queries. Cross-attention: one entry
// for each generated token.
std::vector<PatchWeights> patch_weights(const View& view, const Map& map, const InputSpec& spec);

// The same of attention_rollout() over view.maps.
PatchWeights rollout_weights(const View& view, const InputSpec& spec);

// Draw the picture once for each entry, darkened where the weight is low. `picture`: as the model reads it.
// Self-contained SVG; tooltips show the weights.
std::string picture_svg(const data::Image& picture, const std::vector<PatchWeights>& maps,
                        const InputSpec& spec, const std::string& title);

// The picture for a page: its sides divided by the smallest whole number for which none exceeds 224 pixels,
// each pixel the mean of those that it covers.
Picture display_picture(const data::Image& picture);

}  // namespace regard::inspect

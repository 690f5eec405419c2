// Attention over an image: the patches that the class token, or each generated token, attends to.
#pragma once

#include <string>
#include <vector>

#include "data/image.h"
#include "inspect/attention_view.h"
#include "models/model_input.h"

namespace regard::inspect {

// Attention weights over the patches of an image, in row order.
struct PatchWeights {
  std::string title;
  std::vector<float> weights;  // [patch rows × patch columns]; their sum is at most one
};

// Return the attention weights of one head over the patches. For encoder self-attention there is one entry:
// the query is the class token (the first special token) or, if there are no special tokens, the mean over
// all queries is returned. For cross-attention there is one entry for each generated token.
std::vector<PatchWeights> patch_weights(const View& view, const Map& map, const InputSpec& spec);

// Return the result of attention_rollout() over view.maps as weights of the patches.
PatchWeights rollout_weights(const View& view, const InputSpec& spec);

// Draw the image once for each entry, darkened where the weight is low. `picture` is the model's input image.
// The SVG is self-contained; tooltips show the weights.
std::string picture_svg(const data::Image& picture, const std::vector<PatchWeights>& maps,
                        const InputSpec& spec, const std::string& title);

// Return the image reduced for a page. Its sides are divided by the smallest integer that makes both at most
// 224 pixels; each pixel is the mean of the pixels that it covers.
Picture display_picture(const data::Image& picture);

}  // namespace regard::inspect

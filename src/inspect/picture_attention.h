// Attention over an image: the patches that the class token, or each generated token, attends to.
#pragma once

#include <string>
#include <vector>

#include "data/image.h"
#include "inspect/attention_view.h"
#include "models/model_input.h"

namespace regard::inspect {

// Attention weights over the patches of an image.
struct PatchWeights {
  std::string title;
  std::vector<float> weights;  // [patch rows × patch columns], row-major; sum at most 1
};

// Return how much one head attends to each patch. For cross-attention, the result has one entry for each
// generated token. For self-attention of the encoder, it has one entry: the weights of the class token (the
// first special token) or, without special tokens, the mean over all query tokens.
std::vector<PatchWeights> patch_weights(const View& view, const Map& map, const InputSpec& spec);

// Return the attention rollout of view.maps over the patches: the row of the class token or, if there are no
// special tokens, the mean over all rows.
PatchWeights rollout_weights(const View& view, const InputSpec& spec);

// Return an SVG that contains the image once for each element of `maps`, darkened where the attention weight
// is low. `picture` is the input image of the model; tooltips show the weights.
std::string picture_svg(const data::Image& picture, const std::vector<PatchWeights>& maps,
                        const InputSpec& spec, const std::string& title);

// Return the image, downscaled for display in the HTML page: both sides are divided by the smallest integer
// that makes them at most 224 pixels. Each pixel is the mean of the pixels that it covers.
Picture display_picture(const data::Image& picture);

}  // namespace regard::inspect

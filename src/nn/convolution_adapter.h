// Layers after the encoder of a sound model that reduce the number of frames (transformers' Wav2Vec2Adapter):
//   x = norm(projection(x)); for each layer: x = gated_linear_unit(convolution(x))
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/convolution.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/ragged.h"

namespace regard::nn {

struct ConvolutionAdapterConfig {
  std::string projection, norm;  // names of the projection and its norm; empty if there is no projection
  std::string prefix;            // layer i is named PREFIX + i + ".conv"
  std::int64_t layers = 0;
  std::int64_t out = 0;  // number of features of the result
  FrameWindow window;    // window of each convolution

  // Return the windows of all layers, in order.
  std::vector<FrameWindow> windows() const { return {static_cast<std::size_t>(layers), window}; }
};

class ConvolutionAdapter {
 public:
  ConvolutionAdapter(std::int64_t in, const ConvolutionAdapterConfig& config);

  // Return [frames of all results, out] for x [frames, in] of the sequences of `shape`. Each sequence is
  // computed as if it were alone.
  Var forward(Tape& tape, Var x, const Ragged& shape) const;
  // Return the shape of the result of forward(), stored in the tape's arena. Positions count from 0.
  Ragged output_shape(Tape& tape, const Ragged& shape) const;

  void collect(std::vector<Parameter*>& parameters) const;
  void prepare_for_inference(const Preparation& how) const;

 private:
  std::unique_ptr<Linear> projection_;  // may be null
  std::unique_ptr<Norm> norm_;          // null if projection_ is null
  std::vector<std::unique_ptr<Convolution>> layers_;
};

}  // namespace regard::nn

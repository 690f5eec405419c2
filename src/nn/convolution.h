// A 1-D convolution layer over the frames of each sequence, with an optional norm and activation.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "kernels/gemm.h"
#include "nn/norm.h"
#include "ops/convolution.h"
#include "ops/parameter.h"

namespace regard::nn {

struct ConvolutionConfig {
  enum class Norm { none, layer, group };  // group: normalise each channel over the sequence
  std::string name;                        // NAME.weight [out, in / groups, kernel], NAME.bias
  std::int64_t out = 0;
  FrameWindow window;
  std::int64_t groups = 1;
  bool bias = true;
  // If true, normalise the weight for each position of the kernel (ops/weight_norm.h). The weight is stored
  // as NAME.parametrizations.weight.original0 and original1.
  bool weight_norm = false;
  Norm norm = Norm::none;
  std::string norm_name;
  kernels::Activation activation = kernels::Activation::gelu;
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
};

class Convolution {
 public:
  Convolution(std::int64_t in, const ConvolutionConfig& config);

  // Return activation(norm(convolution(x))) [output frames, out] for x [frames, in]. `offsets` contains the
  // first frame of each sequence in x; forward() replaces it with the offsets of the result.
  Var forward(Tape& tape, Var x, std::span<const std::int32_t>& offsets) const;

  std::int64_t out() const { return config_.out; }
  const FrameWindow& window() const { return config_.window; }

  // Append the parameters. They are never quantised, because a model has few convolutions and they are its
  // first layers.
  void collect(std::vector<Parameter*>& parameters) const;

 private:
  Var normed(Tape& tape, Var x, std::span<const std::int32_t> offsets) const;

  ConvolutionConfig config_;
  std::unique_ptr<Parameter> weight_, magnitude_, bias_, gain_, shift_;  // all but weight_ may be null
  std::unique_ptr<Norm> layer_norm_;                                     // may be null
};

}  // namespace regard::nn

// A table of relative position biases, shared by all layers of an encoder or a decoder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/namespaces.h"
#include "nn/multi_head_attention.h"
#include "ops/parameter.h"
#include "ops/relative_bias.h"

namespace regard::nn {

struct RelativeBiasConfig {
  std::string name;  // NAME.weight [buckets, heads]
  std::int64_t heads = 0;
  ops::RelativeBuckets buckets;
  Initialisation initial = {Initialisation::Kind::normal, 0.02};
};

class RelativeBias {
 public:
  explicit RelativeBias(const RelativeBiasConfig& config);

  // Compute the bias of this batch and store it in `input`, whose shape and cache must be set. Call it once
  // per forward pass; all layers use the result.
  void prepare(Tape& tape, AttentionInput& input) const;

  void collect(std::vector<Parameter*>& parameters) const { parameters.push_back(table_.get()); }

 private:
  ops::RelativeBuckets buckets_;
  std::unique_ptr<Parameter> table_;
};

}  // namespace regard::nn

#pragma once

#include "inspect/head.h"
#include "models/network.h"

namespace regard::inspect {

// Return the attention kind that is shown by default: cross for an encoder–decoder, else the model's
// self-attention.
inline Kind usual_kind(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return Kind::cross;
  return kind == ModelKind::decoder ? Kind::decoder : Kind::encoder;
}

}  // namespace regard::inspect

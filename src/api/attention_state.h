// State of a regard::Attention object: the attention maps of one forward pass.
#pragma once

#include "inspect/attention_view.h"
#include "regard/export.h"
#include "regard/model.h"

namespace regard {

struct REGARD_HIDDEN Attention::State {
  inspect::View view;

  // Return the attention map of a head. Throws usage if there is no such head.
  const inspect::Map& map(Kind kind, std::int64_t layer, std::int64_t head) const;
};

}  // namespace regard

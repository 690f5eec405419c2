// Names of attention heads and probe points of attention layers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regard/attention.h"

namespace regard::inspect {

using regard::Kind;

const char* name_of(Kind kind) noexcept;  // returns "encoder", "decoder" or "cross"
std::optional<Kind> kind_of(std::string_view name) noexcept;

// An attention head. Layers and heads are numbered from 0.
struct Head {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::int64_t head = 0;

  std::string text() const;  // returns a name such as "cross.1.0"
  friend auto operator<=>(const Head&, const Head&) = default;
};

// Return the names, separated by commas: "cross.1.0,decoder.0.3".
std::string text_of(const std::vector<Head>& heads);

// Parse a comma-separated list of LAYER.HEAD or KIND.LAYER.HEAD ("1.0,cross.2.3"). An entry without KIND has
// the kind `kind`. Throws usage for an invalid entry; the error shows the first one.
std::vector<Head> parse_heads(std::string_view text, Kind kind);

// A parsed probe point: "decoder.1.cross.weights" has the kind Kind::cross, the layer 1 and the `what`
// "weights". The probe point of the attention layer itself ("decoder.1.cross") has an empty `what`.
struct AttentionPoint {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::string_view what;
};
std::optional<AttentionPoint> attention_point(std::string_view point) noexcept;

}  // namespace regard::inspect

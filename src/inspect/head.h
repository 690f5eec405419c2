// Names of attention heads, and the points at which a model tells a probe of them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace regard::inspect {

// Whose attention: the encoder to itself, the decoder to itself, the decoder to the encoder's output.
enum class Kind : std::uint8_t { encoder, decoder, cross };

const char* name_of(Kind kind) noexcept;  // "encoder", "decoder", "cross"
std::optional<Kind> kind_of(std::string_view name) noexcept;

// Layers and heads count from 0.
struct Head {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::int64_t head = 0;

  std::string text() const;  // "cross.1.0"
  friend auto operator<=>(const Head&, const Head&) = default;
};

// "1.0,cross.2.3": heads as LAYER.HEAD or KIND.LAYER.HEAD; those without a kind are of `kind`. Throws usage,
// naming the one that is wrong.
std::vector<Head> parse_heads(std::string_view text, Kind kind);

// A probe's point taken apart: "decoder.1.cross.weights" is layer 1 of Kind::cross, what "weights". Points of
// a head's attention itself ("decoder.1.cross") have an empty `what`.
struct AttentionPoint {
  Kind kind = Kind::encoder;
  std::int64_t layer = 0;
  std::string_view what;
};
std::optional<AttentionPoint> attention_point(std::string_view point) noexcept;

}  // namespace regard::inspect

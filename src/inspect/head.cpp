#include "inspect/head.h"

#include <fmt/format.h>

#include "base/names.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr const char* kKinds[] = {"encoder", "decoder", "cross"};

Head parse_head(std::string_view text, Kind kind) {
  std::string_view rest = text;
  const std::size_t first_end = text.find('.');
  if (const auto named = kind_of(text.substr(0, first_end)); named && first_end != std::string_view::npos) {
    kind = *named;
    take_part(rest, '.');
  }
  const std::int64_t layer = parse_number<std::int64_t>(take_part(rest, '.')).value_or(-1);
  const std::int64_t head = parse_number<std::int64_t>(rest).value_or(-1);
  if (layer < 0 || head < 0)
    throw usage_error("invalid name of an attention head")
        .found("'" + std::string(text) + "'")
        .expected("LAYER.HEAD or KIND.LAYER.HEAD, counted from 0, as in 1.0 or cross.1.0");
  return {kind, layer, head};
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)];
}

std::optional<Kind> kind_of(std::string_view name) noexcept {
  return enumerator_named<Kind>(kKinds, name);
}

std::string Head::text() const {
  return fmt::format("{}.{}.{}", name_of(kind), layer, head);
}

std::string text_of(const std::vector<Head>& heads) {
  std::string all;
  for (const Head& head : heads) all += (all.empty() ? "" : ",") + head.text();
  return all;
}

std::vector<Head> parse_heads(std::string_view text, Kind kind) {
  std::vector<Head> heads;
  if (text.empty()) return heads;
  const bool trailing = text.ends_with(',');
  while (!text.empty()) heads.push_back(parse_head(take_part(text, ','), kind));
  if (trailing) parse_head("", kind);  // throws the error for an empty head name
  return heads;
}

std::optional<AttentionPoint> attention_point(std::string_view point) noexcept {
  const std::string_view side = take_part(point, '.');
  const std::int64_t layer = parse_number<std::int64_t>(take_part(point, '.')).value_or(-1);
  const std::string_view sort = take_part(point, '.');
  if (layer < 0) return std::nullopt;
  if (side == "encoder" && sort == "self") return AttentionPoint{Kind::encoder, layer, point};
  if (side == "decoder" && sort == "self") return AttentionPoint{Kind::decoder, layer, point};
  if (side == "decoder" && sort == "cross") return AttentionPoint{Kind::cross, layer, point};
  return std::nullopt;
}

}  // namespace regard::inspect

#include "inspect/head.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr std::array kKinds{Kind::encoder, Kind::decoder, Kind::cross};

std::optional<std::int64_t> number(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

// Return the part of `rest` before the next `mark`, and remove the part and the mark from `rest`.
std::string_view next_part(std::string_view& rest, char mark) noexcept {
  const std::size_t at = rest.find(mark);
  const std::string_view part = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 1);
  return part;
}

Head parse_head(std::string_view text, Kind kind) {
  std::string_view rest = text;
  const std::size_t first_end = text.find('.');
  if (const auto named = kind_of(text.substr(0, first_end)); named && first_end != std::string_view::npos) {
    kind = *named;
    next_part(rest, '.');
  }
  const auto layer = number(next_part(rest, '.')), head = number(rest);
  if (!layer || !head)
    throw usage_error("invalid name of an attention head")
        .found("'" + std::string(text) + "'")
        .expected("LAYER.HEAD or KIND.LAYER.HEAD, counted from 0, as in 1.0 or cross.1.0");
  return {kind, *layer, *head};
}

}  // namespace

const char* name_of(Kind kind) noexcept {
  switch (kind) {
    case Kind::encoder:
      return "encoder";
    case Kind::decoder:
      return "decoder";
    case Kind::cross:
      break;
  }
  return "cross";
}

std::optional<Kind> kind_of(std::string_view name) noexcept {
  for (const Kind kind : kKinds)
    if (name == name_of(kind)) return kind;
  return std::nullopt;
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
  while (!text.empty()) heads.push_back(parse_head(next_part(text, ','), kind));
  if (trailing) parse_head("", kind);  // throws the error for an empty head name
  return heads;
}

std::optional<AttentionPoint> attention_point(std::string_view point) noexcept {
  const std::string_view side = next_part(point, '.');
  const auto layer = number(next_part(point, '.'));
  const std::string_view sort = next_part(point, '.');
  if (!layer) return std::nullopt;
  if (side == "encoder" && sort == "self") return AttentionPoint{Kind::encoder, *layer, point};
  if (side == "decoder" && sort == "self") return AttentionPoint{Kind::decoder, *layer, point};
  if (side == "decoder" && sort == "cross") return AttentionPoint{Kind::cross, *layer, point};
  return std::nullopt;
}

}  // namespace regard::inspect

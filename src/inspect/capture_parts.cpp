#include "inspect/capture_parts.h"

#include <fmt/format.h>

namespace regard::inspect {

std::string hexadecimal(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

FloatJson tokens_json(const std::vector<std::string>& text, const std::vector<TokenOrigin>& origin,
                      const std::vector<bool>& special, const std::vector<bool>& unseen) {
  FloatJson out = FloatJson::object();
  out["text"] = text;
  for (const TokenOrigin& one : origin) {
    out["ids"].push_back(one.id);
    if (one.bytes) out["bytes"].push_back(hexadecimal(*one.bytes));
  }
  if (!special.empty()) out["special"] = special;
  if (!unseen.empty()) out["unseen"] = unseen;
  return out;
}

FloatJson tokenizers_json(const std::vector<TokenizedText>& tokenizers) {
  FloatJson list = FloatJson::array();
  for (const TokenizedText& one : tokenizers) {
    FloatJson begin = FloatJson::array(), end = FloatJson::array();
    for (const text::Offsets& place : one.places) begin.push_back(place.begin), end.push_back(place.end);
    list.push_back({{"name", one.name},
                    {"type", one.type},
                    {"vocabulary", one.vocabulary},
                    {"tokens", tokens_json(one.text, one.origin, one.special)},
                    {"begin", std::move(begin)},
                    {"end", std::move(end)}});
  }
  return list;
}

std::size_t node_count(const BeamTree& tree) {
  std::size_t count = 0;
  for (const BeamTree::Step& step : tree.steps) count += step.kept.size() + step.finished.size();
  return count;
}

namespace {

FloatJson nodes_json(const std::vector<BeamTree::Node>& nodes) {
  FloatJson list = FloatJson::array();
  for (const BeamTree::Node& node : nodes) {
    FloatJson& one = list.emplace_back(FloatJson{{"parent", node.parent},
                                                 {"id", node.token},
                                                 {"text", node.text},
                                                 {"log_probability", node.log_probability},
                                                 {"score", node.score}});
    if (!node.bytes.empty()) one["bytes"] = hexadecimal(node.bytes);
  }
  return list;
}

}  // namespace

FloatJson beams_json(const BeamTree& tree) {
  FloatJson steps = FloatJson::array(), ranking = FloatJson::array();
  for (const BeamTree::Step& step : tree.steps) {
    FloatJson finished = nodes_json(step.finished);
    for (std::size_t i = 0; i < step.finished.size(); ++i) finished[i]["ended"] = step.finished[i].ended;
    steps.push_back({{"kept", nodes_json(step.kept)}, {"finished", std::move(finished)}});
  }
  for (const BeamTree::Place& place : tree.ranking)
    ranking.push_back({{"step", place.step}, {"finished", place.finished}});
  return {{"width", tree.width},
          {"length_penalty", static_cast<float>(tree.length_penalty)},
          {"steps", std::move(steps)},
          {"ranking", std::move(ranking)}};
}

FloatJson film_json(const Film& film, bool full) {
  FloatJson heads = FloatJson::array(), frames = FloatJson::array();
  for (const Head& head : film.heads) heads.push_back(head.text());
  for (const Film::Frame& frame : film.frames) {
    FloatJson& one = frames.emplace_back(FloatJson{{"step", frame.step}});
    if (!frame.translation.empty()) one["translation"] = frame.translation;
    if (frame.log_probability) one["log_probability"] = static_cast<float>(*frame.log_probability);
    FloatJson& weights = one["weights"] = FloatJson::array();
    for (const Map& map : frame.maps)
      weights.push_back(full ? rows_json(map.weights, map.columns) : packed_bytes(map.weights, map.columns));
  }
  return {{"heads", std::move(heads)}, {"frames", std::move(frames)}};
}

}  // namespace regard::inspect

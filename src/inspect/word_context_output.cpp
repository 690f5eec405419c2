// Convert a WordContext to JSON and to SVG.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/json.h"
#include "base/json_text.h"
#include "inspect/svg.h"
#include "inspect/word_context.h"

namespace regard::inspect {
namespace {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json rows_of(std::span<const double> values, std::size_t columns) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < values.size(); i += columns)
    rows.push_back(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(i),
                                       values.begin() + static_cast<std::ptrdiff_t>(i + columns)));
  return rows;
}

Json layer_json(const WordContext& context, const ContextLayer& layer, bool vectors) {
  Json json{{"layer", layer.name},
            {"cosine", rows_of(layer.cosine, context.places.size())},
            {"nearest", layer.nearest},
            {"mean_cosine", number(layer.mean_cosine)}};
  if (context.has_senses) {
    json["same_sense"] = number(layer.same_sense);
    json["other_sense"] = number(layer.other_sense);
    json["silhouette"] = number(layer.silhouette);
  }
  json["plane"] = layer.plane.points;
  json["explained"] = layer.plane.explained;
  if (!vectors) return json;
  json["vectors"] = Json::array();
  for (std::int64_t r = 0; r < layer.vectors.rows(); ++r)
    json["vectors"].push_back(
        std::vector<float>(layer.vectors.row(r), layer.vectors.row(r) + layer.vectors.columns()));
  return json;
}

constexpr double kPanel = 220, kPlotMargin = 18, kHead = 46, kAcross = 3;
constexpr const char* kColours[] = {"#1f5fbf", "#c2410c", "#15803d", "#a21caf", "#b45309", "#0e7490"};

std::vector<std::string> senses_of(const WordContext& context) {
  std::vector<std::string> senses;
  for (const ContextSentence& sentence : context.sentences)
    if (std::find(senses.begin(), senses.end(), sentence.sense) == senses.end())
      senses.push_back(sentence.sense);
  return senses;
}

std::string panel(const WordContext& context, const ContextLayer& layer, double x, double y,
                  std::span<const std::string> senses) {
  double most = 1e-12;
  for (const auto& point : layer.plane.points)
    most = std::max({most, std::abs(point[0]), std::abs(point[1])});
  std::string title = layer.name;
  if (std::isfinite(layer.silhouette)) title += fmt::format(", silhouette {:.2f}", layer.silhouette);
  std::string svg = fmt::format(
      "<text class=\"title\" x=\"{0:.1f}\" y=\"{1:.1f}\">{2}</text>\n"
      "<rect class=\"frame\" x=\"{0:.1f}\" y=\"{3:.1f}\" width=\"{4}\" height=\"{4}\"/>\n",
      x, y - 8, escaped(title), y, kPanel);
  const double middle = kPanel / 2, reach = middle - 20;
  for (std::size_t i = 0; i < layer.plane.points.size(); ++i) {
    const ContextSentence& sentence = context.sentences[i];
    const auto sense =
        static_cast<std::size_t>(std::find(senses.begin(), senses.end(), sentence.sense) - senses.begin());
    const double across = x + middle + reach * layer.plane.points[i][0] / most;
    const double down = y + middle - reach * layer.plane.points[i][1] / most;
    svg += fmt::format(
        "<g><title>{}</title><circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\" fill-opacity=\"0.8\"/>"
        "<text class=\"quiet\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
        escaped(sentence.sense.empty() ? sentence.text : sentence.sense + ": " + sentence.text), across, down,
        kColours[sense % std::size(kColours)], across + 7, down + 4, i + 1);
  }
  return svg;
}

}  // namespace

std::string context_json(const WordContext& context, bool vectors) {
  Json json{{"model", context.model}, {"word", context.word}, {"sentences", Json::array()}};
  for (std::size_t i = 0; i < context.places.size(); ++i) {
    Json sentence{{"text", context.sentences[i].text}, {"tokens", context.places[i].tokens}};
    if (context.has_senses) sentence["sense"] = context.sentences[i].sense;
    json["sentences"].push_back(sentence);
  }
  json["layers"] = Json::array();
  for (const ContextLayer& layer : context.layers)
    json["layers"].push_back(layer_json(context, layer, vectors));
  return json_text(json);
}

std::string context_svg(const WordContext& context) {
  const std::vector<std::string> senses = senses_of(context);
  const auto panels = static_cast<double>(context.layers.size());
  const double columns = std::min(kAcross, panels), rows = std::ceil(panels / kAcross);
  const double width = kPlotMargin + columns * (kPanel + kPlotMargin);
  double y = kPlotMargin + kHead;
  std::string body =
      fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{} in {}</text>\n", kPlotMargin, kPlotMargin + 10,
                  escaped(context.word), counted(context.places.size(), "sentence"));
  double x = kPlotMargin;
  for (std::size_t s = 0; context.has_senses && s < senses.size(); ++s) {
    body += fmt::format("<text x=\"{:.1f}\" y=\"{}\" style=\"fill:{}\">● {}</text>\n", x, kPlotMargin + 30,
                        kColours[s % std::size(kColours)], escaped(senses[s]));
    x += 30 + 9 * static_cast<double>(senses[s].size());
  }
  for (std::size_t i = 0; i < context.layers.size(); ++i) {
    const double column = std::fmod(static_cast<double>(i), kAcross);
    if (i > 0 && column == 0) y += kPanel + kHead;
    body += panel(context, context.layers[i], kPlotMargin + column * (kPanel + kPlotMargin), y + 20, senses);
  }
  const double height = kPlotMargin + kHead + rows * (kPanel + kHead) + kPlotMargin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" role=\"img\">\n<title>{2} in context</title>\n<style>text{{font-family:system-ui,'Noto "
      "Sans','Noto Sans Devanagari',sans-serif;font-size:13px;fill:#1b1f24}}.title{{font-weight:600}}"
      ".quiet{{font-size:11px;fill:#59636e}}.frame{{fill:none;stroke:#d1d9e0}}</style>\n"
      "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n{3}</svg>\n",
      width, height, escaped(context.word), body);
}

}  // namespace regard::inspect

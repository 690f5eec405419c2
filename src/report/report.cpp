#include "report/report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json_text.h"
#include "base/script_json.h"
#include "report/page_parts.h"

namespace regard::report {
namespace {

Json json_value(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_point(const Point& point) {
  return Json::array({point.step, json_value(point.value)});
}

// Divide the curve into kMaxPoints / 2 ranges of points. Return the points with the smallest and the largest
// value of each range, ordered by step.
Json reduced(const std::vector<Point>& curve) {
  Json out = Json::array();
  const std::size_t ranges = kMaxPoints / 2;
  for (std::size_t range = 0; range < ranges; ++range) {
    const auto begin = curve.begin() + static_cast<std::ptrdiff_t>(range * curve.size() / ranges);
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>((range + 1) * curve.size() / ranges);
    // Order NaN after every number. A range without numbers then has NaN as its smallest value.
    const auto less = [](const Point& a, const Point& b) {
      return !std::isnan(a.value) && (std::isnan(b.value) || a.value < b.value);
    };
    auto low = std::min_element(begin, end, less);
    auto high = low;
    for (auto point = begin; point != end; ++point)
      if (!std::isnan(point->value) && point->value > high->value) high = point;
    if (high < low) std::swap(low, high);
    out.push_back(json_point(*low));
    if (high != low) out.push_back(json_point(*high));
  }
  return out;
}

Json json_curve(const std::vector<Point>& curve) {
  if (curve.size() > kMaxPoints) return reduced(curve);
  Json out = Json::array();
  for (const Point& point : curve) out.push_back(json_point(point));
  return out;
}

Json json_progress(const std::vector<Progress>& progress) {
  Json out = Json::array();
  const std::size_t stride = progress.size() / kMaxPoints + 1;
  for (std::size_t i = 0; i < progress.size(); ++i) {
    if (i % stride != 0 && i + 1 != progress.size()) continue;
    const Progress& at = progress[i];
    out.push_back(Json::array({at.step, json_value(at.epochs), json_value(at.seconds)}));
  }
  return out;
}

std::string last_component(const std::filesystem::path& folder) {
  const auto name = folder.lexically_normal().filename();
  return (name.empty() ? folder.lexically_normal().parent_path().filename() : name).string();
}

}  // namespace

Json report_data(std::span<const RunHistory> runs) {
  std::map<std::string, int> uses;
  for (const RunHistory& run : runs) ++uses[last_component(run.folder)];
  Json data{{"runs", Json::array()}, {"reduced", false}};
  for (const RunHistory& run : runs) {
    const std::string name = last_component(run.folder);
    Json one{{"name", uses[name] > 1 || name.empty() ? run.folder.string() : name},
             {"folder", run.folder.string()},
             {"settings", Json::object()},
             {"curves", Json::object()},
             {"progress", json_progress(run.progress)},
             {"starts", run.starts},
             {"samples", run.samples},
             {"confusion", run.confusion},
             {"best_step", run.best_step},
             {"average", run.average}};
    for (const auto& [key, value] : run.settings) one["settings"][key] = value;
    for (const auto& [curve, points] : run.curves) {
      one["curves"][curve] = json_curve(points);
      if (points.size() > kMaxPoints) data["reduced"] = true;
    }
    data["runs"].push_back(std::move(one));
  }
  return data;
}

std::string report_page(const Json& data) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Training "
      "report</title>\n<style>\n";
  out += kStyle;
  out += "</style>\n</head>\n";
  out += kBody;
  out += "<script type=\"application/json\" id=\"data\">";
  out += script_json(json_text(data));
  out += "</script>\n<script>\n";
  out += kChartScript;
  out += kPageScript;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace regard::report

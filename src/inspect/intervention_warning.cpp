#include "inspect/intervention_warning.h"

#include <algorithm>

#include "base/json.h"

namespace regard::inspect {

const char* InterventionWarning::reason() const {
  if (progress == EditProgress::none) return "place";
  return progress == EditProgress::position ? "keys" : "positions";
}

std::string InterventionWarning::text() const {
  const std::string start = "'" + intervention + "' changed nothing: ";
  if (progress == EditProgress::none) return start + "no pass computes the values at this place";
  return start + "no input has tokens at the given " + reason();
}

EditProgress progress_of(const std::string& reason) {
  if (reason == "keys") return EditProgress::position;
  return reason == "positions" ? EditProgress::place : EditProgress::none;
}

Json to_json(const std::vector<InterventionWarning>& warnings) {
  Json list = Json::array();
  for (const InterventionWarning& one : warnings)
    list.push_back({{"intervention", one.intervention}, {"reason", one.reason()}, {"message", one.text()}});
  return list;
}

std::vector<InterventionWarning> warnings_in(const Json& json) {
  std::vector<InterventionWarning> warnings;
  if (!json.is_array()) return warnings;
  const auto text = [](const Json& object, const char* name) {
    const auto found = object.find(name);
    return found != object.end() && found->is_string() ? found->get<std::string>() : "";
  };
  for (const Json& one : json)
    if (one.is_object() && !text(one, "intervention").empty())
      warnings.push_back({text(one, "intervention"), progress_of(text(one, "reason"))});
  return warnings;
}

std::vector<InterventionWarning> common_warnings(const std::vector<InterventionWarning>& a,
                                                 const std::vector<InterventionWarning>& b) {
  std::vector<InterventionWarning> common;
  for (const InterventionWarning& one : a) {
    const auto other = std::ranges::find(b, one.intervention, &InterventionWarning::intervention);
    if (other != b.end()) common.push_back({one.intervention, std::max(one.progress, other->progress)});
  }
  return common;
}

}  // namespace regard::inspect

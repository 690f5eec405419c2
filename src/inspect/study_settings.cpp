#include "inspect/study_settings.h"

#include <algorithm>
#include <map>

namespace regard::inspect {

std::vector<std::string> views_with(const std::string& setting) {
  const std::vector<std::string> of_data{"heads", "sets", "kinds", "probe", "alignment"};
  const std::vector<std::string> of_answers{"flip", "direct", "patch", "path", "tokens"};
  const auto with = [](std::vector<std::string> views, std::initializer_list<const char*> more) {
    views.insert(views.end(), more.begin(), more.end());
    return views;
  };
  const std::map<std::string, std::vector<std::string>> views{
      {"data", of_data},
      {"examples", of_data},
      {"text", with(of_answers, {"heads", "sets", "kinds", "induction", "lens", "rollout", "flow"})},
      {"target", with(of_answers, {"heads", "sets", "kinds", "lens", "rollout", "flow"})},
      {"other", {"patch", "path"}},
      {"other_target", {"patch", "path"}},
      {"answer", with(of_answers, {"heads", "sets"})},
      {"instead", of_answers},
      {"position", with(of_answers, {"lens", "rollout", "flow"})},
      {"off", {"heads", "sets"}},
      {"most", {"sets", "flip"}},
      {"state", {"heads", "sets", "flip", "patch", "path"}},
      {"steps", {"tokens"}},
      {"length", {"induction"}},
      {"sequences", {"induction"}},
      {"alignments", {"alignment"}}};
  const auto found = views.find(setting);
  return found == views.end() ? std::vector<std::string>() : found->second;
}

std::optional<std::string> unread_setting(const std::string& view, const std::vector<std::string>& given) {
  for (const std::string& setting : given) {
    const std::vector<std::string> views = views_with(setting);
    if (!views.empty() && std::ranges::find(views, view) == views.end()) return setting;
  }
  return std::nullopt;
}

}  // namespace regard::inspect

// Which studies read which settings, so that a setting without an effect can be refused.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace regard::inspect {

// Return the views that read this setting, which is the name of a field of StudyRequest. Return an empty list
// for a setting that every view reads.
std::vector<std::string> views_with(const std::string& setting);

// Return the first of the settings `given` that the view does not read, or nullopt if it reads all of them.
std::optional<std::string> unread_setting(const std::string& view, const std::vector<std::string>& given);

}  // namespace regard::inspect

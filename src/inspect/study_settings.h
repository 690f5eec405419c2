// The settings that each study reads, used to reject a setting that has no effect.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace regard::inspect {

// Return the names of the studies that read `setting`, the name of a field of StudyRequest. An empty list
// means that every study reads it.
std::vector<std::string> views_with(const std::string& setting);

// Return the first of the settings `given` that the study `view` does not read, or nullopt if it reads all of
// them.
std::optional<std::string> unread_setting(const std::string& view, const std::vector<std::string>& given);

}  // namespace regard::inspect

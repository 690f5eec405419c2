// Warnings about interventions that changed nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace regard::inspect {

// Stages of applying an intervention, from the first to the last.
enum class EditProgress : std::uint8_t {
  none,      // no pass has computed the site
  place,     // a pass has computed the site, but none of the positions to change
  position,  // attention weights: a query matches positions=, but no key matches keys=
  changed,
};

// An intervention that changed nothing. `progress` is the furthest stage that any pass has reached.
struct InterventionWarning {
  std::string intervention;  // the intervention as it was given
  EditProgress progress = EditProgress::none;

  const char* reason() const;  // returns what was not found: "place", "positions" or "keys"
  std::string text() const;    // one sentence with the intervention and the reason
  bool operator==(const InterventionWarning&) const = default;
};

// Inverse of InterventionWarning::reason(); `none` for other strings.
EditProgress progress_of(const std::string& reason);

// Convert warnings to a JSON list of {"intervention": …, "reason": reason(), "message": text()}.
// warnings_in() converts such a list to warnings, and ignores elements of another form.
Json to_json(const std::vector<InterventionWarning>& warnings);
std::vector<InterventionWarning> warnings_in(const Json& json);

// Combine the warnings of two sets of passes. Return one warning for each intervention that is in both lists,
// with the larger of the two progress values. The order is the order of `a`.
std::vector<InterventionWarning> common_warnings(const std::vector<InterventionWarning>& a,
                                                 const std::vector<InterventionWarning>& b);

}  // namespace regard::inspect

// Warnings about interventions that changed nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace regard::inspect {

// How far the passes have applied the edits of an intervention.
enum class EditProgress : std::uint8_t {
  none,      // no pass has computed the place
  place,     // a pass has computed the place, but not at a position of the intervention
  position,  // attention weights: a query was at one of the positions, but no key was
  changed,
};

// An intervention that changed nothing, because its edits were applied only as far as `progress`.
struct InterventionWarning {
  std::string intervention;  // the intervention as it was given
  EditProgress progress = EditProgress::none;

  const char* reason() const;  // "place", "positions" or "keys": what no input or pass has
  std::string text() const;    // one sentence with the intervention and the reason
  bool operator==(const InterventionWarning&) const = default;
};

// Return the progress for a name that InterventionWarning::reason() returns; `none` for other names.
EditProgress progress_of(const std::string& reason);

// Convert warnings to a JSON list of {"intervention": …, "reason": reason(), "message": text()}.
// warnings_in() converts such a list to warnings, and ignores elements of another form.
Json to_json(const std::vector<InterventionWarning>& warnings);
std::vector<InterventionWarning> warnings_in(const Json& json);

// Combine the warnings of two sets of passes: return those of the interventions in both lists, in the order
// of `a`, each with the progress of the passes that came further.
std::vector<InterventionWarning> common_warnings(const std::vector<InterventionWarning>& a,
                                                 const std::vector<InterventionWarning>& b);

}  // namespace regard::inspect

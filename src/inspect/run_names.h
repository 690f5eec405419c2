// Names of the inputs and outputs of `regard run`; run_tensors.h lists them.
#pragma once

#include <set>
#include <string>

#include "inspect/padded_side.h"

namespace regard::inspect {

// Convert the inputs to the dtypes that run_tensors() accepts: i32 becomes i64; f16 and bf16 become f32.
// Throws invalid_input for a name that no model takes, with the nearest known name, and for an undefined
// tensor.
TensorMap usable_inputs(const TensorMap& inputs);

// Throw usage for a name that is neither an output of a model nor a group. The error shows the nearest known
// name.
void check_output_names(const std::set<std::string>& capture);

// Return true if `capture` selects an output: by "all", by its name, by the part of the name before its
// first or last '.', or by its group.
bool is_selected(const std::set<std::string>& capture, const std::string& name,
                 const std::string& group = "");

}  // namespace regard::inspect

// seqeval's strict mode: find the entities of one sequence by the rules of a labelling scheme.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metrics/entities.h"

namespace regard::metrics {

// Append the entities of a sequence. Throws bad_file for a label whose prefix the scheme does not have.
void add_strict_entities(std::span<const std::string> labels, std::size_t sequence, EntityScheme scheme,
                         std::vector<Entity>& entities);

}  // namespace regard::metrics

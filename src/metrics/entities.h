// Find the entities in label sequences, and compute precision, recall and F1 of predicted entities, as
// seqeval 1.2.2 does (Ramshaw and Marcus 1995; the CoNLL-2000 script conlleval).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/classification.h"

namespace regard::metrics {

// labels of each text, such as "B-PER" and "O"
using LabelSequences = std::span<const std::vector<std::string>>;

// Labelling schemes, with the meaning of their prefixes.
enum class EntityScheme {
  iob1,   // I is inside an entity; B begins an entity directly after one of the same type
  ioe1,   // I is inside an entity; E ends an entity directly before one of the same type
  iob2,   // B begins every entity, I continues it ("BIO")
  ioe2,   // E is the last label of every entity, I is each earlier label
  iobes,  // B begins, I continues, E ends an entity; S is an entity of one label ("BIOES")
  bilou,  // B begins, I continues, L ends an entity; U is an entity of one label
};
// Return the scheme with this name, such as "iob2". For other names, throws usage that lists the valid ones.
EntityScheme entity_scheme_named(const std::string& name);
// Return the first of iob2, ioe2, iobes, bilou that fits the labels' prefixes. Throws bad_file if none does.
EntityScheme detect_entity_scheme(LabelSequences sequences);

struct Entity {
  std::string type;
  std::size_t sequence = 0, first = 0, last = 0;  // index of the sequence; the entity's first and last label
  friend auto operator<=>(const Entity&, const Entity&) = default;
};

// Return the entities. Without `strict`, conlleval's rules apply: every label other than O belongs to an
// entity, so "I-PER" after "O" begins an entity. With `strict`, seqeval's strict mode applies: only label
// sequences that the scheme allows are entities.
// Throws bad_file if a label is empty or its prefix is not in the scheme.
std::vector<Entity> entities_of(LabelSequences sequences, std::optional<EntityScheme> strict = {});

struct EntityScores {
  PrecisionRecall micro, macro, weighted;
  std::map<std::string, PrecisionRecall> by_type;
  double accuracy = 0;  // fraction of correct labels
};
// Compute the scores. Throws usage if the numbers of sequences or their lengths differ.
EntityScores entity_scores(LabelSequences predicted, LabelSequences truth,
                           std::optional<EntityScheme> strict = {});

// Count predicted, true and correct entities by type, with the types in alphabetical order. If `types` is not
// null, append the types to it.
ClassCounts count_entities(std::span<const Entity> predicted, std::span<const Entity> truth,
                           std::vector<std::string>* types = nullptr);

}  // namespace regard::metrics

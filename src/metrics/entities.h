// Entities of labelled sequences and their precision, recall and F1, as seqeval 1.2.2 computes them
// (Ramshaw and Marcus 1995; the CoNLL-2000 script conlleval).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/classification.h"

namespace regard::metrics {

using LabelSequences = std::span<const std::vector<std::string>>;  // the labels of each text, "B-PER", "O"

// Labelling schemes: the prefixes and their meaning.
enum class EntityScheme {
  iob1,   // I inside; B only between two adjacent entities of one type
  ioe1,   // I inside; E only between two adjacent entities of one type
  iob2,   // B begins every entity, I continues it ("BIO")
  ioe2,   // E ends every entity
  iobes,  // B begin, I inside, E end, S single ("BIOES")
  bilou,  // B begin, I inside, L last, U unit
};
EntityScheme entity_scheme_named(const std::string& name);  // "iob2"; throws usage listing the names
// Return the scheme whose prefixes occur: iob2, ioe2, iobes or bilou. Throws bad_file if they fit none.
EntityScheme detect_entity_scheme(LabelSequences sequences);

struct Entity {
  std::string type;
  std::size_t sequence = 0, first = 0, last = 0;  // last: inclusive
  friend auto operator<=>(const Entity&, const Entity&) = default;
};

// Without a scheme: conlleval's rules, by which every label other than O belongs to an entity ("I-PER" after
// "O" begins one). With a scheme: seqeval's strict mode, in which only sequences that the scheme allows are
// entities; throws bad_file for a label whose prefix the scheme does not have. An empty label throws
// bad_file.
std::vector<Entity> entities_of(LabelSequences sequences, std::optional<EntityScheme> strict = {});

struct EntityScores {
  PrecisionRecall micro, macro, weighted;
  std::map<std::string, PrecisionRecall> by_type;
  double accuracy = 0;  // accuracy of the labels
};
// Throws usage if the numbers of sequences or their lengths differ.
EntityScores entity_scores(LabelSequences predicted, LabelSequences truth,
                           std::optional<EntityScheme> strict = {});

// Counts of one type of entity or, for one sequence, of all: predicted, true, both.
ClassCounts count_entities(std::span<const Entity> predicted, std::span<const Entity> truth,
                           std::vector<std::string>* types = nullptr);

}  // namespace regard::metrics

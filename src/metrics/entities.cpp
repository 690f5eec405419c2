#include "metrics/entities.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/utf8.h"
#include "metrics/entity_scheme.h"
#include "regard/error.h"

namespace regard::metrics {
namespace {

// A label, parsed by conlleval's rules into its first character and its type.
struct ChunkLabel {
  char32_t tag = 'O';
  std::string type;
};

ChunkLabel chunk_label(const std::string& label) {
  if (label.empty()) throw Error(ErrorKind::bad_file, "a label is empty");
  const utf8::Decoded first = utf8::decode(label, 0);
  std::string rest = label.substr(static_cast<std::size_t>(first.size));
  // Same as Python's `rest.split("-", maxsplit=1)[-1] or "_"`.
  if (const std::size_t dash = rest.find('-'); dash != std::string::npos) rest.erase(0, dash + 1);
  return {first.value, rest.empty() ? "_" : rest};
}

bool chunk_ends(const ChunkLabel& before, const ChunkLabel& label) {
  if (before.tag == 'E' || before.tag == 'S') return true;
  if ((before.tag == 'B' || before.tag == 'I') && (label.tag == 'B' || label.tag == 'S' || label.tag == 'O'))
    return true;
  return before.tag != 'O' && before.tag != '.' && before.type != label.type;
}

bool chunk_starts(const ChunkLabel& before, const ChunkLabel& label) {
  if (label.tag == 'B' || label.tag == 'S') return true;
  if ((before.tag == 'E' || before.tag == 'S' || before.tag == 'O') && (label.tag == 'E' || label.tag == 'I'))
    return true;
  return label.tag != 'O' && label.tag != '.' && before.type != label.type;
}

// Return conlleval's chunks. As in seqeval, the sequences are processed as one, with an "O" between them.
std::vector<Entity> chunks_of(LabelSequences sequences) {
  std::vector<Entity> chunks;
  ChunkLabel before;
  std::size_t offset = 0, begin_sequence = 0, begin_offset = 0, begin = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    for (std::size_t i = 0; i <= sequences[s].size(); ++i) {
      const ChunkLabel label = chunk_label(i < sequences[s].size() ? sequences[s][i] : "O");
      if (chunk_ends(before, label))
        chunks.push_back({before.type, begin_sequence, begin, offset + i - 1 - begin_offset});
      if (chunk_starts(before, label)) begin_sequence = s, begin_offset = offset, begin = i;
      before = label;
    }
    offset += sequences[s].size() + 1;
  }
  return chunks;
}

std::set<Entity> as_set(std::span<const Entity> entities) {
  return {entities.begin(), entities.end()};
}

}  // namespace

std::vector<Entity> entities_of(LabelSequences sequences, std::optional<EntityScheme> strict) {
  if (!strict) return chunks_of(sequences);
  std::vector<Entity> entities;
  for (std::size_t s = 0; s < sequences.size(); ++s) add_strict_entities(sequences[s], s, *strict, entities);
  return entities;
}

ClassCounts count_entities(std::span<const Entity> predicted, std::span<const Entity> truth,
                           std::vector<std::string>* types) {
  const std::set<Entity> guessed = as_set(predicted), right = as_set(truth);
  std::map<std::string, std::size_t> index;
  for (const auto* entities : {&guessed, &right})
    for (const Entity& entity : *entities) index.emplace(entity.type, 0);
  std::size_t next = 0;
  for (auto& [type, number] : index) {
    number = next++;
    if (types != nullptr) types->push_back(type);
  }
  ClassCounts counts;
  counts.predicted.resize(index.size());
  counts.truth = counts.both = counts.predicted;
  for (const Entity& entity : guessed) {
    ++counts.predicted[index.at(entity.type)];
    if (right.contains(entity)) ++counts.both[index.at(entity.type)];
  }
  for (const Entity& entity : right) ++counts.truth[index.at(entity.type)];
  return counts;
}

EntityScores entity_scores(LabelSequences predicted, LabelSequences truth,
                           std::optional<EntityScheme> strict) {
  if (predicted.size() != truth.size())
    throw usage_error("the numbers of predicted and of true sequences differ")
        .found(std::to_string(predicted.size()) + " predicted sequences")
        .expected(std::to_string(truth.size()) + " sequences, as in the true labels");
  std::size_t right = 0, all = 0;
  for (std::size_t s = 0; s < truth.size(); ++s) {
    if (predicted[s].size() != truth[s].size())
      throw usage_error("the predicted and the true sequence " + std::to_string(s) + " differ in length")
          .found(std::to_string(predicted[s].size()) + " predicted labels")
          .expected(std::to_string(truth[s].size()) + " labels, as in the true sequence");
    for (std::size_t i = 0; i < truth[s].size(); ++i) right += predicted[s][i] == truth[s][i] ? 1 : 0;
    all += truth[s].size();
  }
  std::vector<std::string> types;
  const ClassCounts counts =
      count_entities(entities_of(predicted, strict), entities_of(truth, strict), &types);
  EntityScores scores{average(counts, Average::micro),
                      average(counts, Average::macro),
                      average(counts, Average::weighted),
                      {},
                      0};
  const std::vector<PrecisionRecall> classes = by_class(counts);
  for (std::size_t t = 0; t < types.size(); ++t) scores.by_type[types[t]] = classes[t];
  scores.accuracy = all == 0 ? 0 : static_cast<double>(right) / static_cast<double>(all);
  return scores;
}

}  // namespace regard::metrics

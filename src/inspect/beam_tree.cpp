#include "inspect/beam_tree.h"

#include <algorithm>
#include <optional>

#include "inspect/shown_tokens.h"

namespace regard::inspect {
namespace {

std::vector<BeamTree::Node> shown_nodes(std::span<const infer::BeamNode> nodes,
                                        const text::Tokenizer* tokenizer) {
  std::vector<BeamTree::Node> shown;
  for (const infer::BeamNode& node : nodes)
    shown.push_back({node, shown_token(tokenizer, node.token), partial_bytes(tokenizer, node.token)});
  return shown;
}

// Return the index of the node that continues `parent` with `token`; nullopt if there is none.
std::optional<std::size_t> continuation(std::span<const infer::BeamNode> nodes, std::size_t parent,
                                        std::int32_t token) {
  const auto found = std::ranges::find_if(nodes, [&](const infer::BeamNode& node) {
    return static_cast<std::size_t>(node.parent) == parent && node.token == token;
  });
  if (found == nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - nodes.begin());
}

// Find the finished hypothesis with these tokens: return the step that finished it and its index in
// BeamStep::finished, or nullopt if the steps do not contain it.
std::optional<BeamTree::Place> finished_place(std::span<const infer::BeamStep> steps,
                                              std::span<const std::int32_t> tokens) {
  if (tokens.empty() || tokens.size() > steps.size()) return std::nullopt;
  const std::size_t last = tokens.size() - 1;
  std::size_t row = 0;
  for (std::size_t i = 0; i < last; ++i) {
    const auto next = continuation(steps[i].kept, row, tokens[i]);
    if (!next) return std::nullopt;
    row = *next;
  }
  const auto end = continuation(steps[last].finished, row, tokens[last]);
  if (!end) return std::nullopt;
  return BeamTree::Place{last, *end};
}

}  // namespace

BeamTree beam_tree(std::span<const infer::BeamStep> steps, std::span<const infer::Hypothesis> results,
                   const infer::SearchOptions& options, const text::Tokenizer* tokenizer) {
  BeamTree tree{.width = options.beam, .length_penalty = options.length_penalty};
  for (const infer::BeamStep& step : steps)
    tree.steps.push_back({shown_nodes(step.kept, tokenizer), shown_nodes(step.finished, tokenizer)});
  for (const infer::Hypothesis& result : results)
    if (const auto place = finished_place(steps, result.tokens)) tree.ranking.push_back(*place);
  return tree;
}

}  // namespace regard::inspect

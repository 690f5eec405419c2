#include "inspect/what_if.h"

#include <algorithm>
#include <cmath>

#include "inspect/ablation.h"
#include "inspect/head_pattern.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr std::size_t kMostListedTokens = 8;  // maximum number of candidate tokens of a generation step
constexpr std::size_t kMostChanges = 8;       // maximum number of changed heads listed for an ablated head
constexpr std::size_t kMostMaps = 3;          // maximum number of changed heads whose weights are stored
constexpr double kLeastChange = 1e-6;

// Return the mean decrease of the log-probability of the generated tokens. In a decoder-only model, the last
// token is not given: each pass predicts it. It is skipped if the two passes predict different tokens.
std::optional<double> lost_between(const View& before, const View& after) {
  const auto &a = before.tokens.written_origin, &b = after.tokens.written_origin;
  double sum = 0;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < before.steps.size() && i < after.steps.size(); ++i) {
    if (i >= a.size() || i >= b.size() || a[i].id != b[i].id) continue;
    const GenerationStep &one = before.steps[i], &two = after.steps[i];
    sum += (two.log_sum_exp - two.written_logit) - (one.log_sum_exp - one.written_logit);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

// Return the change of the attention weights from `before` to `after`: half the sum of the absolute
// differences in a row, averaged over the rows.
double change_between(const Map& before, const Map& after) {
  double sum = 0;
  for (std::size_t i = 0; i < before.weights.size(); ++i)
    sum += std::abs(static_cast<double>(before.weights[i]) - after.weights[i]);
  return sum / 2 / static_cast<double>(std::max<std::int64_t>(1, before.rows));
}

std::vector<WhatIf::Change> changes_between(const View& before, const View& after) {
  std::vector<WhatIf::Change> changes;
  for (std::size_t i = 0; i < before.maps.size(); ++i) {
    const double change = change_between(before.maps[i], after.maps[i]);
    if (change < kLeastChange) continue;
    changes.push_back({before.maps[i].head, change, after.maps[i].columns, after.maps[i].weights});
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.change > b.change; });
  if (changes.size() > kMostChanges) changes.resize(kMostChanges);
  for (std::size_t i = kMostMaps; i < changes.size(); ++i) changes[i].weights.clear();
  return changes;
}

bool fits(const AttendRequest& request, const View& view) {
  const std::size_t tokens = view.tokens.source.size() + view.tokens.target.size();
  return view.ablated.empty() && request.edits == nullptr && !request.average && std::ssize(view.maps) > 0 &&
         tokens <= static_cast<std::size_t>(kMostWhatIfTokens);
}

WhatIf without(const infer::LoadedModel& loaded, ThreadPool& pool, AttendRequest request,
               const WhatIfOptions& options, const View& view) {
  request.page = request.selection.values = request.selection.parameters = false,
  request.selection.activations.clear();
  View after = attend(loaded, pool, request);
  WhatIf found{.off = request.ablated[0], .lost = lost_between(view, after)};
  found.changes = changes_between(view, after);
  found.steps = std::move(after.steps);
  for (GenerationStep& step : found.steps)
    if (step.candidates.size() > kMostListedTokens) step.candidates.resize(kMostListedTokens);
  if (options.generate) {
    const auto probe = ablation(*loaded.model, pool, request.ablated);
    found.translation =
        loaded.target->decode(generated_ids(loaded, pool, request, options.max_new, probe.get()));
  }
  return found;
}

}  // namespace

void add_what_if(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                 const WhatIfOptions& options, View& view) {
  if (!fits(request, view)) return;
  const auto ranked = ranked_maps(view);
  const std::size_t count =
      std::min(ranked.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, options.heads)));
  for (std::size_t i = 0; i < count; ++i) {
    AttendRequest changed = request;
    changed.ablated = {view.maps[ranked[i]].head};
    view.what_if.push_back(without(loaded, pool, std::move(changed), options, view));
    const double share = static_cast<double>(i + 1) / static_cast<double>(count);
    if (options.progress && !options.progress(share)) throw cancelled_error("the computation was stopped");
  }
}

}  // namespace regard::inspect

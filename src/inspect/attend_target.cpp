// Targets of AttendRequest (attend.h): given texts, and texts that the model generates.
#include <algorithm>

#include "infer/new_tokens.h"
#include "inspect/ablation.h"
#include "inspect/attend.h"
#include "inspect/beam_tree.h"
#include "regard/error.h"

namespace regard::inspect {

void require_text(const infer::LoadedModel& loaded, std::string_view text) {
  if (loaded.source_tokenizer()
          ->encode_ids(loaded.as_trained(text), {.add_special = false, .match_special = false})
          .empty())
    throw input_error("the text has no tokens")
        .found("'" + std::string(text) + "'")
        .expected("a text of at least one token");
}

std::vector<std::int32_t> written_ids(const infer::LoadedModel& loaded, std::string_view target) {
  std::vector<std::int32_t> ids = loaded.target_tokenizer()->encode_ids(
      loaded.as_trained(target), {.add_special = false, .match_special = false});
  if (!loaded.options.end_tokens.empty()) ids.push_back(loaded.options.end_tokens[0]);
  return ids;
}

namespace {

// Return the search options of the request. For a beam search, n_best is the number of beams.
infer::SearchOptions search_of(const infer::LoadedModel& loaded, const AttendRequest& request,
                               std::int64_t max_new, Probe* probe) {
  infer::SearchOptions options = request.search != nullptr ? *request.search : loaded.options;
  const bool limited = request.search != nullptr && options.max_new > 0;
  if (max_new > 0) options.max_new = limited ? std::min(max_new, options.max_new) : max_new;
  if (request.beam > 0) options.beam = request.beam, options.sample = false;
  if (options.beam > 1) options.n_best = options.beam;
  options.probe = probe;
  return options;
}

// `ids`: the prompt without its start token, then the generated ids. `beams`: the beam search that generated
// them; empty for other searches.
struct Generated {
  std::vector<std::int32_t> ids;
  std::optional<BeamTree> beams;
};

Generated generated(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                    std::int64_t max_new, Probe* probe, const BetweenPasses& between) {
  if (!request.input) require_text(loaded, request.text);
  infer::SearchOptions options = search_of(loaded, request, max_new, probe);
  infer::Request job =
      infer::request_of(*loaded.model, request.input ? *request.input : loaded.read(request.text));
  Generated out;
  if (!request.prompt.empty()) {
    job.prompt = request.prompt;
    out.ids.assign(job.prompt.begin() + 1, job.prompt.end());
  }
  if (request.most_new > 0) infer::limit_new_tokens(*loaded.model, job, request.most_new, options);
  if (between) between();
  BeamRecorder recorder;
  infer::Scheduler scheduler(*loaded.model, pool, options, recorder);
  scheduler.submit(std::move(job));
  while (scheduler.step())
    if (between) between();
  const std::vector<infer::Hypothesis>& results = recorder.results[0];
  if (!results.empty()) out.ids.insert(out.ids.end(), results[0].tokens.begin(), results[0].tokens.end());
  if (options.beam > 1) out.beams = beam_tree(recorder.steps, results, options, loaded.target.get());
  return out;
}

}  // namespace

std::vector<std::int32_t> generated_ids(const infer::LoadedModel& loaded, ThreadPool& pool,
                                        const AttendRequest& request, std::int64_t max_new, Probe* probe,
                                        const BetweenPasses& between) {
  return generated(loaded, pool, request, max_new, probe, between).ids;
}

std::string changed_translation(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const AttendRequest& request, std::int64_t max_new,
                                const BetweenPasses& between) {
  const std::unique_ptr<Probe> ablated = ablation(*loaded.model, pool, request.ablated);
  EditedPass edits(ablated.get());
  if (request.edits != nullptr) edits.add(*request.edits);
  return loaded.target->decode(generated_ids(loaded, pool, request, max_new, &edits, between));
}

void generate_target(const infer::LoadedModel& loaded, ThreadPool& pool, AttendRequest& request,
                     std::int64_t max_new, const BetweenPasses& between) {
  const std::unique_ptr<Probe> ablated = ablation(*loaded.model, pool, request.ablated);
  EditedPass edits(ablated.get());
  if (request.edits != nullptr) edits.add(*request.edits);
  const bool changed = ablated != nullptr || !edits.empty();
  Generated found = generated(loaded, pool, request, max_new, changed ? &edits : nullptr, between);
  request.written = std::move(found.ids), request.beams = std::move(found.beams);
  if (changed)
    request.unablated =
        loaded.target->decode(generated_ids(loaded, pool, request, max_new, nullptr, between));
}

}  // namespace regard::inspect

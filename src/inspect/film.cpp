#include "inspect/film.h"

#include <algorithm>
#include <string>

#include "base/counted.h"
#include "formats/checkpoint.h"
#include "inspect/head_pattern.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr std::size_t kMostFilmHeads = 4;
constexpr std::size_t kMostFilmWeights = 300000;  // maximum number of attention weights in a film

// Return the heads with the highest scores: at most kMostFilmHeads heads, with at most kMostFilmWeights
// attention weights in all frames together.
std::vector<Head> film_heads(const View& view, std::size_t frames) {
  std::vector<Head> heads;
  std::size_t used = 0;
  for (const std::size_t index : ranked_maps(view)) {
    used += view.maps[index].weights.size() * frames;
    if (heads.size() == kMostFilmHeads || used > kMostFilmWeights) break;
    heads.push_back(view.maps[index].head);
  }
  return heads;
}

// Return the mean log-probability of the given target tokens, in nats. In a decoder-only model, the last
// token is not counted, because it is not given: each checkpoint predicts its own.
std::optional<double> mean_log_probability(const View& view) {
  const bool chosen = view.size->kind == ModelKind::decoder;
  if (view.steps.size() < (chosen ? 2u : 1u)) return std::nullopt;
  const std::size_t count = view.steps.size() - (chosen ? 1 : 0);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += static_cast<double>(view.steps[i].written_logit) - view.steps[i].log_sum_exp;
  return sum / static_cast<double>(count);
}

Film::Frame frame_of(const infer::LoadedModel& loaded, ThreadPool& pool, const AttendRequest& request,
                     const FilmOptions& options, const std::vector<Head>& heads) {
  View view = attend(loaded, pool, request);
  Film::Frame frame{.log_probability = mean_log_probability(view)};
  for (const Head& head : heads) {
    const auto map = std::ranges::find_if(view.maps, [&](const Map& one) { return one.head == head; });
    if (map == view.maps.end())
      throw usage_error("a checkpoint of the run has no head " + head.text())
          .remedy("Show one checkpoint instead of all");
    frame.maps.push_back(std::move(*map));
  }
  if (options.generate)
    frame.translation = loaded.target->decode(generated_ids(loaded, pool, request, options.max_new, nullptr));
  return frame;
}

void require_unmodified(const AttendRequest& request) {
  if (!request.ablated.empty() || request.edits != nullptr || request.average)
    throw usage_error(
        "the attention of all checkpoints cannot be combined with ablations, interventions or averages")
        .remedy("Show one checkpoint instead of all");
}

}  // namespace

void add_film(const std::filesystem::path& run, ThreadPool& pool, const AttendRequest& request,
              const FilmOptions& options, View& view) {
  require_unmodified(request);
  const formats::RunFolder folder = formats::RunFolder::open(run);
  const std::vector<std::int64_t> steps = folder.steps();
  if (steps.size() < 2)
    throw usage_error("the run has too few checkpoints")
        .found(counted(steps.size(), "checkpoint"))
        .expected("at least 2 checkpoints")
        .remedy("Train with output.keep above 1");
  const std::vector<Head> heads = film_heads(view, steps.size());
  if (heads.empty()) {
    view.left_out += view.left_out.empty() ? "" : " ";
    view.left_out += "The attention of the other checkpoints is left out, because the text is too long.";
    return;
  }
  AttendRequest pass = request;
  pass.page = false, pass.words = nullptr, pass.beams.reset(), pass.selection = {};
  for (const Head& head : heads) pass.selection.kinds.insert(head.kind);
  // With several kinds of attention, select all layers: the layers of a Selection apply to all of its kinds,
  // and the decoder may have fewer layers than the encoder.
  if (pass.selection.kinds.size() == 1)
    for (const Head& head : heads) pass.selection.layers.insert(head.layer);
  Film film{.heads = heads};
  for (const std::int64_t step : steps) {
    const infer::LoadedModel loaded =
        infer::LoadedModel::open(folder.checkpoint_folder(step), options.weight_mode);
    loaded.model->prepare_for_inference(pool);
    film.frames.push_back(frame_of(loaded, pool, pass, options, heads));
    film.frames.back().step = step;
    const double share = static_cast<double>(film.frames.size()) / static_cast<double>(steps.size());
    if (options.progress && !options.progress(share)) throw cancelled_error("the computation was stopped");
  }
  view.film = std::move(film);
}

}  // namespace regard::inspect

// regard attend with a sound model: attention over the time axis of the sound.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "api/file_reader.h"
#include "cli/attend.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/weight_mode.h"
#include "formats/model_folder.h"
#include "inspect/capture_json.h"
#include "inspect/head_pattern.h"
#include "inspect/page.h"
#include "inspect/resolve.h"
#include "inspect/sound_view.h"
#include "regard/error.h"
#include "tasks/shown_sound.h"

namespace regard::cli {
namespace {

constexpr std::size_t kMostTimes = 5;  // maximum number of time points printed for a query

void add_sentence(std::string& text, const std::string& sentence) {
  if (!sentence.empty()) text += (text.empty() ? "" : " ") + sentence;
}

// Return the labels of the keys with the largest attention weights, and these weights: "0.42 s 31 %, …".
std::string largest(std::span<const float> weights, std::span<const std::string> names) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t count = std::min(kMostTimes, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return weights[a] != weights[b] ? weights[a] > weights[b] : a < b;
                    });
  std::string text;
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("{}{} {:.0f} %", i == 0 ? "" : ", ", names[order[i]], 100 * weights[order[i]]);
  return text;
}

// Print the keys with the largest attention weights: for each token of the decoder, or for the mean over all
// positions of the encoder.
void print_map(const inspect::View& view, const inspect::Map& map) {
  print_result("\n{}; percent of each row\n{}\n", map.title(), map.summary->caption);
  const auto names = view.column_labels(map);
  const auto columns = static_cast<std::size_t>(map.columns);
  if (map.head.kind == inspect::Kind::encoder) {
    std::vector<float> mean(columns, 0.0f);
    for (std::size_t i = 0; i < map.weights.size(); ++i)
      mean[i % columns] += map.weights[i] / static_cast<float>(map.rows);
    return print_result("mean over the positions: {}\n", largest(mean, names));
  }
  for (std::int64_t row = 0; row < map.rows; ++row)
    print_result(
        "{}: {}\n", view.row_labels(map)[static_cast<std::size_t>(row)],
        largest(std::span(map.weights).subspan(static_cast<std::size_t>(row) * columns, columns), names));
}

// Print the attention maps that the options select. Default: the map of kind usual_kind(model) with the
// highest score (HeadSummary::telling).
void print_maps(const inspect::View& view, const AttendOptions& options, ModelKind model) {
  const inspect::Kind kind = options.kind.empty() ? usual_kind(model) : *inspect::kind_of(options.kind);
  const bool named = options.all || !options.layers.empty() || !options.heads.empty() || options.average;
  for (const std::size_t index : inspect::ranked_maps(view)) {
    if (!options.all && view.maps[index].head.kind != kind) continue;
    print_map(view, view.maps[index]);
    if (!named) return;
  }
}

void require_fitting(const AttendOptions& options, ModelKind kind) {
  require_no_text_options(options, "sound");
  require_generated(options, options.target.empty() && kind == ModelKind::encoder_decoder, kind);
  if (!options.svg.empty())
    throw usage_error("--svg is not available for a sound model").remedy("Use --html");
  if (kind == ModelKind::encoder_decoder) return;
  if (!options.target.empty())
    throw usage_error("--target needs an encoder-decoder model").remedy("Remove --target");
}

// Return the decoder ids of a transcript: its prompt without the first token, then the ids of --target.
std::vector<std::int32_t> target_ids(const infer::LoadedModel& opened, const tasks::ShownSound& sound,
                                     const std::string& target) {
  std::vector<std::int32_t> ids(sound.prompt.begin() + 1, sound.prompt.end());
  const std::vector<std::int32_t> text = inspect::written_ids(opened, target);
  ids.insert(ids.end(), text.begin(), text.end());
  return ids;
}

}  // namespace

void attend_sound(const AttendOptions& options, formats::ModelFolder model_folder, Globals& globals) {
  const infer::LoadedModel opened = infer::LoadedModel::open(
      std::move(model_folder),
      {.weight_mode = weight_mode(globals), .reads = InputKind::features, .adapter = options.adapter});
  print_warning(opened.warning);
  const ModelKind kind = opened.model->kind();
  require_fitting(options, kind);
  opened.model->prepare_for_inference(globals.pool());
  const auto edits = inspect::resolve(*opened.model, globals.pool(), &opened,
                                      inspect::parse_interventions(options.interventions), {},
                                      api::file_reader(opened, globals.pool()));
  const tasks::ShownSound sound = tasks::read_shown_sound(opened, globals.pool(), options.text);
  inspect::AttendRequest request = attend_request_of(options, kind);
  request.edits = edits.get(), request.interventions = options.interventions;
  request.input = sound.input, request.source_labels = sound.labels;
  request.prompt = sound.prompt, request.search = &sound.search;
  if (!options.target.empty())
    request.written = target_ids(opened, sound, options.target);
  else if (kind == ModelKind::encoder_decoder)
    inspect::generate_target(opened, globals.pool(), request, options.generate);
  std::string left_out;
  if (sound.cut)
    left_out = fmt::format("Only the first {:.1f} seconds of the sound are shown.", sound.seconds);
  add_sentence(left_out,
               inspect::limit_weights(*opened.model, globals.pool(), sound.input, std::ssize(request.written),
                                      inspect::kMostSoundWeights, request.selection));
  inspect::View view = inspect::attend(opened, globals.pool(), request);
  warn_of_unused(edits.get());
  add_sentence(left_out, view.left_out);
  view.left_out = left_out;
  view.sound = {sound.seconds, sound.first_time, sound.time_step,
                inspect::display_spectrogram(sound.spectrogram, sound.frame_seconds, sound.seconds)};
  if (!options.html.empty()) {
    add_page_parts(options, opened, request, globals, view);
    write_whole_result(options.html, inspect::to_html(view, options.precision()), globals.quiet);
  }
  if (globals.json) print_result("{}\n", inspect::to_json(view, options.precision()));
  if (globals.json || !options.html.empty()) return;
  print_result("{}\n", view.heading());
  if (!view.translation.empty()) print_result("{}\n", view.translation);
  if (!view.left_out.empty()) print_message("regard: {}\n", view.left_out);
  print_maps(view, options, kind);
}

}  // namespace regard::cli

// regard attend with an image model: show attention over the image.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/file_reader.h"
#include "base/progress.h"
#include "cli/attend.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/weight_mode.h"
#include "data/image_processor.h"
#include "formats/model_folder.h"
#include "inspect/capture_json.h"
#include "inspect/heat_map.h"
#include "inspect/page.h"
#include "inspect/picture_attention.h"
#include "inspect/resolve.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "tasks/image_reader.h"

namespace regard::cli {
namespace {

// Return the maps that the options select. Default: all heads of the last layer of usual_kind(model).
std::vector<inspect::Map> picture_maps(const inspect::View& view, const AttendOptions& options,
                                       ModelKind model) {
  if (options.all) return view.maps;
  const inspect::Kind kind = options.kind.empty() ? usual_kind(model) : *inspect::kind_of(options.kind);
  std::int64_t last = 0;
  for (const inspect::Map& map : view.maps)
    if (map.head.kind == kind) last = std::max(last, map.head.layer);
  std::vector<inspect::Map> shown;
  for (const inspect::Map& map : view.maps)
    if (map.head.kind == kind && (!options.layers.empty() || map.head.layer == last)) shown.push_back(map);
  return shown;
}

// Return the pictures to draw: first the rollout, if every head of the encoder was captured, then the
// selected maps.
std::vector<inspect::PatchWeights> drawn(const inspect::View& view, const AttendOptions& options,
                                         ModelKind kind, const InputSpec& spec) {
  std::vector<inspect::PatchWeights> all;
  const bool whole = options.layers.empty() && options.heads.empty() && !options.average &&
                     (options.kind.empty() || options.kind == "encoder");
  if (whole && (kind == ModelKind::encoder || options.all))
    all.push_back(inspect::rollout_weights(view, spec));
  for (const inspect::Map& map : picture_maps(view, options, kind))
    for (inspect::PatchWeights& one : inspect::patch_weights(view, map, spec)) all.push_back(std::move(one));
  return all;
}

// Print a grid of the image patches with the attention weight of each patch, in percent.
void print_grid(const inspect::PatchWeights& weights, const InputSpec& spec) {
  inspect::Map map;
  map.rows = spec.patch_rows, map.columns = spec.patch_columns, map.weights = weights.weights;
  std::vector<std::string> rows, columns;
  for (std::int64_t row = 0; row < map.rows; ++row) rows.push_back(std::to_string(row));
  for (std::int64_t column = 0; column < map.columns; ++column) columns.push_back(std::to_string(column));
  inspect::HeatMapStyle style;
  style.columns = terminal_size(1).columns, style.colour = colour_allowed(1);
  print_result("\n{}; percent of each patch\n{}", weights.title,
               inspect::heat_map(map, rows, columns, style));
}

}  // namespace

void attend_picture(const AttendOptions& options, formats::ModelFolder model_folder, Globals& globals) {
  require_no_text_options(options, "images");
  const infer::LoadedModel opened = infer::LoadedModel::open(
      std::move(model_folder),
      {.weight_mode = weight_mode(globals), .reads = std::nullopt, .adapter = options.adapter});
  print_warning(opened.warning);
  DualEncoder* const dual = dual_encoder_of(*opened.model);
  Network& network = dual == nullptr ? *opened.model : dual->vision();
  const InputSpec& spec = network.input_spec();
  const ModelKind kind = network.kind();
  if (!options.target.empty() && kind != ModelKind::encoder_decoder)
    throw usage_error("--target needs an encoder-decoder model").remedy("Remove --target");
  require_generated(options, options.target.empty() && kind == ModelKind::encoder_decoder, kind);
  const std::filesystem::path& folder = opened.folder.path;
  const data::Image image = data::read_one_image(options.text);
  opened.model->prepare_for_inference(globals.pool());
  const auto edits = inspect::resolve(*opened.model, globals.pool(), &opened,
                                      inspect::parse_interventions(options.interventions), {},
                                      api::file_reader(opened, globals.pool()));
  inspect::AttendRequest request = attend_request_of(options, kind);
  inspect::EditedPass of_encoder;
  if (dual != nullptr && edits != nullptr) of_encoder.add_tower(*edits, "vision");
  request.edits = dual != nullptr && edits != nullptr ? &of_encoder : edits.get();
  request.interventions = options.interventions, request.network = &network;
  request.input = tasks::ImageReader(folder, spec).read({&image, 1})[0];
  if (!options.target.empty())
    request.written = inspect::written_ids(opened, options.target);
  else if (kind == ModelKind::encoder_decoder)
    inspect::generate_target(opened, globals.pool(), request, options.generate);
  inspect::View view = inspect::attend(opened, globals.pool(), request);
  if (edits != nullptr) view.warnings = edits->warnings();
  warn_of_unused(edits.get());
  if (!options.html.empty()) {
    add_page_parts(options, opened, request, globals, view);
    view.picture = inspect::display_picture(
        data::ImageProcessor::open(folder, spec.shape[2], spec.shape[3]).shape(image));
    write_whole_result(options.html, inspect::to_html(view, options.precision()), globals.quiet);
  }
  if (globals.json) print_result("{}\n", inspect::to_json(view, options.precision()));
  const std::vector<inspect::PatchWeights> maps = drawn(view, options, kind, spec);
  if (!options.svg.empty()) {
    const data::Image seen = data::ImageProcessor::open(folder, spec.shape[2], spec.shape[3]).shape(image);
    write_whole_result(options.svg, inspect::picture_svg(seen, maps, spec, options.text), globals.quiet);
  }
  if (globals.json || !options.html.empty() || !options.svg.empty()) return;
  print_result("{}\n", view.heading());
  if (!view.translation.empty()) print_result("{}\n", view.translation);
  for (const inspect::PatchWeights& map : maps) print_grid(map, spec);
}

}  // namespace regard::cli

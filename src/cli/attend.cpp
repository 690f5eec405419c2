// regard attend: attention weights on the terminal, or as SVG, HTML or JSON.

#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "api/file_reader.h"
#include "base/progress.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/attend.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "data/image.h"
#include "formats/model_folder.h"
#include "infer/stoppable_search.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/head_pattern.h"
#include "inspect/heat_map.h"
#include "inspect/page.h"
#include "inspect/resolve.h"
#include "inspect/svg.h"
#include "models/dual_encoder.h"
#include "regard/error.h"

namespace regard::cli {

inspect::AttendRequest attend_request_of(const AttendOptions& options, ModelKind kind) {
  const inspect::Kind named = options.kind.empty() ? usual_kind(kind) : *inspect::kind_of(options.kind);
  inspect::AttendRequest request;
  request.model_name = options.model;
  request.text = options.text, request.pair = options.pair;
  request.beam = options.beam;
  options.add_to(request);
  request.ablated = inspect::parse_heads(options.ablate, named);
  request.page = !options.html.empty();
  if (request.page) request.selection.values = request.selection.parameters = true;
  return request;
}

namespace {

constexpr const char* kFooter =
    "Layers and heads are numbered from 0. The terminal and --svg show the head with the highest score,\n"
    "unless --layer, --head or --all is given. --json and --html contain every head that --kind, --layer\n"
    "and --head select; without these options, all heads. The options from --kind to --full select the\n"
    "content of the capture that --json prints and that the page of --html contains; the page always has\n"
    "the data of --values and --parameters. Weights are stored in 8 bits. For a long text, the capture\n"
    "contains the weights of only the heads with the highest scores, and a thumbnail of each other head.\n"
    "--full writes all weights in f32. For an image model, TEXT is an image file, and --svg shows which\n"
    "patches of the image each head attends to, and attention rollout; for a captioning model, --svg shows\n"
    "which patches each generated word attends to. For CLIP and SigLIP, TEXT is a text or an image file;\n"
    "the encoder that reads TEXT is shown. For a sound model, TEXT is a sound file of which the first 30\n"
    "seconds are read, and --html shows the attention over the spectrogram.";

// Return the maps to draw: every map with --all, otherwise maps of --kind (default: usual_kind(model)). With
// --layer and --head (or --average), return all captured maps of this kind. With only --layer or --head,
// return the map with the highest score (HeadSummary::telling) of each layer or head; with neither, return
// the map with the highest score.
std::vector<inspect::Map> shown_maps(const inspect::View& view, const AttendOptions& options,
                                     ModelKind model) {
  if (options.all) return view.maps;
  const inspect::Kind kind = options.kind.empty() ? usual_kind(model) : *inspect::kind_of(options.kind);
  const bool by_layer = !options.layers.empty(), by_head = !options.heads.empty();
  std::vector<bool> shown(view.maps.size(), false);
  std::set<std::int64_t> found;
  for (const std::size_t index : inspect::ranked_maps(view)) {
    const inspect::Head& head = view.maps[index].head;
    if (head.kind != kind) continue;
    shown[index] = (by_layer && (by_head || options.average)) ||
                   found.insert(by_layer  ? head.layer
                                : by_head ? head.head
                                          : 0)
                       .second;
  }
  std::vector<inspect::Map> maps;
  for (std::size_t i = 0; i < shown.size(); ++i)
    if (shown[i]) maps.push_back(view.maps[i]);
  return maps;
}

// Return a legend for the axes of the map.
std::string axes(const inspect::Map& map) {
  const char* rows = map.head.kind == inspect::Kind::cross ? "the generated token" : "the token that attends";
  return fmt::format("row: {}; column: the token that it attends to; ·: less than 0.5 %", rows);
}

void show_on_terminal(const inspect::View& view, const std::vector<inspect::Map>& maps) {
  inspect::HeatMapStyle style;
  style.columns = terminal_size(1).columns;
  style.colour = colour_allowed(1);
  print_result("{}\n", view.heading());
  if (!view.translation.empty()) print_result("{}\n", view.translation);
  if (!view.unablated.empty())
    print_result("without {}: {}\n", view.ablated.empty() ? "intervention" : "ablation", view.unablated);
  for (const inspect::Map& map : maps)
    print_result("\n{}; percent of each row\n{}\n{}\n{}", map.title(), map.summary->caption, axes(map),
                 inspect::heat_map(map, view.row_labels(map), view.column_labels(map), style));
}

void attend(const AttendOptions& options, Globals& globals) {
  require_capture(options, globals.json);
  for (const std::string& file : {options.html, options.svg})
    if (!file.empty()) require_writable(file);
  formats::ModelFolder folder = formats::ModelFolder::open(options.model);
  const std::unique_ptr<Network> network = make_model(folder.config, folder.config_file);
  const InputKind reads = network->input_spec().kind;
  const bool image = dual_encoder_of(*network) != nullptr && data::names_image(options.text, ".");
  if (reads == InputKind::pixels || image) return attend_picture(options, std::move(folder), globals);
  if (reads == InputKind::features) return attend_sound(options, std::move(folder), globals);
  const infer::LoadedModel opened = infer::LoadedModel::open(
      std::move(folder), {.weight_mode = weight_mode(globals), .adapter = options.adapter});
  print_warning(opened.warning);
  const ModelKind kind = opened.model->kind();
  if (!options.target.empty() && kind != ModelKind::encoder_decoder)
    throw usage_error("--target needs an encoder-decoder model").remedy("Remove --target");
  const bool generates =
      options.target.empty() && (kind == ModelKind::encoder_decoder || options.generate > 0);
  require_generated(options, generates, kind);
  if (!options.compare.empty() && options.html.empty())
    throw usage_error("--compare needs --html, because only the HTML page shows both texts")
        .remedy("Add --html FILE");
  if (!options.compare.empty() && !options.pair.empty())
    throw usage_error("--compare cannot be combined with --pair").remedy("Remove one of the two options");
  if (options.checkpoints && options.html.empty())
    throw usage_error("--checkpoints needs --html, because only the HTML page shows the checkpoints")
        .remedy("Add --html FILE");
  if (options.checkpoints && !options.adapter.empty())
    throw usage_error("--checkpoints cannot be combined with --adapter")
        .remedy("Remove one of the two options");
  opened.model->prepare_for_inference(globals.pool());
  const auto edits = inspect::resolve(*opened.model, globals.pool(), &opened,
                                      inspect::parse_interventions(options.interventions), {},
                                      api::file_reader(opened, globals.pool()));
  inspect::AttendRequest request = attend_request_of(options, kind);
  request.edits = edits.get(), request.interventions = options.interventions;
  const auto words = infer::TrainingWords::of_model(options.model);
  if (words) request.words = &*words;
  request.views = options.compare.empty() ? 1 : 2;
  if (!options.target.empty())
    request.written = inspect::written_ids(opened, options.target);
  else if (generates)
    inspect::generate_target(opened, globals.pool(), request, options.generate);
  inspect::View view = inspect::attend(opened, globals.pool(), request);
  warn_of_unused(edits.get());
  add_tokenizers(options, opened, view);
  if (!options.html.empty()) {
    add_page_parts(options, opened, request, globals, view);
    write_whole_result(options.html, inspect::to_html(view, options.precision()), globals.quiet);
  }
  if (globals.json) print_result("{}\n", inspect::to_json(view, options.precision()));
  if (!options.svg.empty()) {
    inspect::View chosen = view;
    chosen.maps = shown_maps(view, options, kind);
    write_whole_result(options.svg, inspect::to_svg(chosen), globals.quiet);
  }
  if (!globals.json && options.html.empty() && options.svg.empty())
    show_on_terminal(view, shown_maps(view, options, kind));
}

}  // namespace

void add_attend(CLI::App& app, Globals& globals) {
  const auto [verb, options] =
      add_command<AttendOptions>(app, "attend", "Show a model's attention weights", kFooter);
  add_model_argument(*verb, options->model);
  verb->add_option("TEXT", options->text, "Input text, or an image or sound file")
      ->required()
      ->check(valid_text());
  verb->add_option("--target", options->target,
                   "Target text of an encoder-decoder. Default: the model's own translation")
      ->check(valid_text());
  verb->add_option("--pair", options->pair, "Second text of a pair; encoders only")->check(valid_text());
  verb->add_option("--generate", options->generate,
                   "Maximum number of tokens to generate. Default: 0 for a decoder, so that only TEXT is "
                   "shown; for an encoder-decoder the limit in generation_config.json")
      ->check(not_negative());
  verb->add_option("--beam", options->beam,
                   "Beam width of the generated text; --html and --json then also show the search. Default: "
                   "the width set in the model's folder")
      ->check(CLI::Range(std::int64_t{1}, infer::kWidestBeam));
  add_view_options(*verb, *options);
  verb->add_flag(
      "--all", options->all,
      "Show every layer, every head and every kind of attention, on the terminal and in the image of --svg");
  verb->add_option(
      "--ablate", options->ablate,
      "Heads whose output is set to zero: LAYER.HEAD or KIND.LAYER.HEAD, separated by commas. Default "
      "of KIND: --kind, or cross for an encoder-decoder");
  add_adapter(*verb, options->adapter);
  add_intervene(*verb, options->interventions);
  verb->add_option("--svg", options->svg, "Write an SVG image to this file; - is standard output")
      ->check(not_empty());
  verb->add_option("--html", options->html, "Write a self-contained HTML page to this file")
      ->check(not_empty());
  verb->add_option("--compare", options->compare, "Second text, shown beside TEXT on the page of --html")
      ->check(valid_text());
  verb->add_option(
          "--tokenizer", options->tokenizers,
          "Tokenizer file or model folder; --html and --json then also contain the tokens of TEXT with "
          "this tokenizer and with the model's own; repeatable")
      ->allow_extra_args(false);
  verb->add_flag(
      "--checkpoints", options->checkpoints,
      "Add to the page of --html the attention of the heads with the highest scores, computed with "
      "every checkpoint of the run MODEL");
  verb->add_option("--what-if", options->what_if,
                   "Number of heads whose ablation the page of --html shows, one head at a time, highest "
                   "scores first. Always 0 for a text of more than 96 tokens. Default: 10")
      ->check(CLI::Range(0, 1000))
      ->needs("--html");
  add_quantize(*verb, globals);
  set_action(*verb, globals, options, attend);
}

}  // namespace regard::cli

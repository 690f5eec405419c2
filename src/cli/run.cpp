// regard run: run a model on a file of tensors, with Hugging Face's names for inputs and outputs.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "api/file_reader.h"
#include "base/counted.h"
#include "base/placed.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/decoding_options.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/view_options.h"
#include "cli/weight_mode.h"
#include "formats/safetensors.h"
#include "inspect/attend_tensors.h"
#include "inspect/generate_tensors.h"
#include "inspect/resolve.h"
#include "inspect/run_names.h"
#include "inspect/run_tensors.h"
#include "models/quantize.h"
#include "models/weights.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct RunOptions {
  std::string model, adapter, inputs, outputs, attend;
  std::vector<std::string> capture, interventions;
  std::string padding = "zeros";
  bool generate = false;
  SearchFlags search;
  ViewOptions view;
};

infer::SearchOptions search_of(formats::ModelFolder folder, const RunOptions& options, std::uint64_t seed) {
  if (!folder.generation_config) folder.generation_config = Json::object();
  const Json settings = options.search.settings_object();
  for (const auto& [key, value] : settings.items()) (*folder.generation_config)[key] = value;
  return options.search.over(inspect::tensor_search_options(folder), seed);
}

inspect::TensorMap read_inputs(const std::string& path) {
  inspect::TensorMap inputs;
  const auto file = formats::SafetensorsFile::open(path);
  for (const formats::TensorEntry& entry : file->entries()) inputs[entry.name] = file->tensor(entry.name);
  return placed({path}, [&] { return inspect::usable_inputs(inputs); });
}

inspect::TensorMap results_of(Network& model, const formats::ModelFolder& folder,
                              const inspect::TensorMap& inputs, inspect::EditedPass* edits,
                              const RunOptions& options, Globals& globals) {
  inspect::TensorRunOptions chosen;
  chosen.compute_padding = options.padding == "computed";
  chosen.edits = edits;
  if (!options.capture.empty()) chosen.capture = {options.capture.begin(), options.capture.end()};
  inspect::TensorMap results;
  if (options.generate) {
    infer::SearchOptions search = search_of(folder, options, globals.seed);
    search.probe = edits;
    results = inspect::generate_tensors(model, globals.pool(), inputs, search);
  }
  // With --generate, an encoder–decoder without decoder_input_ids only generates: no other outputs are
  // computed, unless --capture selects some.
  const bool whole = model.kind() != ModelKind::encoder_decoder || inputs.count("decoder_input_ids") != 0;
  if (!options.generate || whole || !options.capture.empty())
    results.merge(inspect::run_tensors(model, globals.pool(), inputs, chosen));
  return results;
}

// For each row of the inputs, write its attention capture (docs/capture-format.md) as one line of JSON.
void write_captures(infer::LoadedModel& loaded, const inspect::TensorMap& inputs,
                    const inspect::EditedPass* edits, const RunOptions& options, Globals& globals,
                    ResultOutput& output) {
  if (const std::string error = loaded.add_tokenizers(); !error.empty() && !globals.quiet)
    print_message("regard: {}; the capture shows tokens as ids\n", error);
  inspect::AttendRequest request;
  options.view.add_to(request);
  request.model_name = options.model;
  request.edits = edits, request.interventions = options.interventions;
  inspect::attend_tensors(loaded, globals.pool(), inputs, request, [&](const inspect::View& view) {
    output.write(inspect::to_json(view, options.view.precision()) + "\n");
  });
}

void check_outputs(const RunOptions& options) {
  inspect::check_output_names({options.capture.begin(), options.capture.end()});
  if (options.outputs.empty() && options.attend.empty())
    throw usage_error("--outputs is missing").remedy("Add --outputs FILE, or --attend FILE for a capture");
  if (options.outputs.empty() && (options.generate || !options.capture.empty()))
    throw usage_error("--generate and --capture need --outputs").remedy("Add --outputs FILE");
  if (!options.outputs.empty()) require_writable(options.outputs);
  if (!options.attend.empty() && options.attend != "-") require_writable(options.attend);
}

void run(const RunOptions& options, Globals& globals) {
  check_outputs(options);
  auto folder = formats::ModelFolder::open(options.model);
  if (!options.adapter.empty()) folder.adapter = options.adapter;
  print_warning(folder.warning);
  const inspect::TensorMap inputs = read_inputs(options.inputs);
  const bool int8 = globals.int8 || (!globals.bf16 && is_quantized(folder.config));
  const WeightMode inference = int8 ? WeightMode::int8 : weight_mode(globals);
  infer::LoadedModel loaded;
  loaded.folder = folder;
  loaded.model = load_model(folder, int8 || globals.bf16 ? inference : WeightMode::widened);
  Network& model = *loaded.model;
  const auto edits =
      inspect::resolve(model, globals.pool(), nullptr, inspect::parse_interventions(options.interventions),
                       {}, api::file_reader(loaded, globals.pool()));
  std::vector<formats::NamedTensor> tensors;
  if (!options.outputs.empty())
    for (const auto& [name, tensor] : placed({options.inputs}, [&] {
           return results_of(model, folder, inputs, edits.get(), options, globals);
         }))
      tensors.push_back({name, tensor});
  std::optional<ResultOutput> captures;
  if (!options.attend.empty()) {
    captures.emplace(options.attend);
    placed({options.inputs},
           [&] { write_captures(loaded, inputs, edits.get(), options, globals, *captures); });
  }
  warn_of_unused(edits.get());
  if (!options.outputs.empty()) {
    formats::write_safetensors(options.outputs, tensors, {{"format", "pt"}});
    if (!globals.quiet) print_message("wrote {} to {}\n", counted(tensors.size(), "tensor"), options.outputs);
  }
  if (captures) captures->finish();
  if (captures && !globals.quiet && options.attend != "-") print_message("wrote {}\n", options.attend);
}

}  // namespace

void add_run(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<RunOptions>(
      app, "run", "Run a model on tensors; inputs and outputs have transformers' names",
      "Inputs: input_ids, attention_mask, token_type_ids, position_ids, decoder_input_ids,\n"
      "decoder_attention_mask, labels, start_positions, end_positions (int64), pixel_values,\n"
      "input_features, input_values, loss_weight.OUTPUT (float32).\n"
      "Outputs: last_hidden_state, encoder_last_hidden_state, pooler_output, logits, start_logits,\n"
      "end_logits, hidden_states, attentions, loss, gradients (as grad.NAME), or all.\n"
      "--generate adds the output sequences and, with beam search, sequences_scores. It uses the settings "
      "of\n"
      "generation_config.json. --attend writes captures (docs/capture-format.md), as attend --json prints\n"
      "them: one line for each row of the inputs, without padding tokens; an encoder-decoder needs\n"
      "decoder_input_ids. The options from --layer to --full select their content.");
  add_model_argument(*verb, options->model);
  verb->add_option("--inputs,-i", options->inputs, "Safetensors file with the inputs")->required();
  verb->add_option("--outputs,-o", options->outputs,
                   "Write the outputs to this safetensors file. Default: none; then --attend is required")
      ->check(not_empty());
  verb->add_option(
          "--attend", options->attend,
          "Write the attention of each row of the inputs to this file, one JSON object per line; - is "
          "standard output")
      ->check(not_empty());
  verb->add_option("--capture", options->capture,
                   "Outputs to write to --outputs, separated by commas. Default: all")
      ->delimiter(',');
  add_checked_option(*verb, "--padding", options->padding,
                     "Values at padded positions: zeros, or computed as in PyTorch",
                     CLI::IsMember({"zeros", "computed"}));
  verb->add_flag("--generate", options->generate,
                 "Generate sequences of token ids from input_ids and attention_mask, or from the images or "
                 "sounds that the model reads");
  for (CLI::Option* option : add_search_flags(*verb, options->search)) option->needs("--generate");
  // The outputs are tensors, and the default limit of new tokens is that of transformers.
  verb->get_option("--n-best")
      ->description(
          "Number of sequences per row of the inputs; with --sample, they are independent samples. Default: "
          "as set in the model's folder, or 1");
  verb->get_option("--max-new")
      ->description(
          "Maximum number of generated tokens per row of the inputs. Default: as set in the model's folder, "
          "or 20");
  for (CLI::Option* option : add_view_options(*verb, options->view)) option->needs("--attend");
  add_intervene(*verb, options->interventions);
  add_adapter(*verb, options->adapter);
  add_quantize(*verb, globals);
  set_action(*verb, globals, options, run, {.seed = true, .json = false});
}

}  // namespace regard::cli

// regard convert: write a model as a Hugging Face folder, in its stored or another precision.

#include <optional>
#include <string>

#include "cli/adapter.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "infer/transformers_folder.h"
#include "models/weights.h"

namespace regard::cli {
namespace {

std::optional<DType> dtype_named(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    if (name == name_of(dtype)) return dtype;
  return std::nullopt;
}

}  // namespace

void add_convert(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("convert", "Write a model as a Hugging Face folder");
  verb->footer(
      "A run folder is converted to a folder that the Python library transformers can load: the weights for\n"
      "the class that computes the same model, its configuration, and a tokenizer for AutoTokenizer. If no\n"
      "class computes the run's model, the error names the key of the run file; docs/convert.md lists the\n"
      "classes.\n"
      "A Hugging Face folder is written as one model.safetensors with the names and layouts of the "
      "checkpoint,\n"
      "and copies of its configuration and tokenizer. Shards are joined; pytorch_model.bin is converted.\n"
      "A LoRA adapter, from --adapter or trained in the run, is merged into the weights.");
  struct Options {
    std::string from, to, dtype, adapter;
  };
  auto options = std::make_shared<Options>();
  add_model_argument(*verb, options->from);
  verb->add_option("FOLDER", options->to, "Folder to create")->required()->check(not_empty());
  verb->add_option("--dtype", options->dtype,
                   "Data type of the weights: f32, f16 or bf16. Default: as stored")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  add_adapter(*verb, options->adapter);
  add_globals(*verb, globals, {.threads = false, .json = false});
  verb->callback([options, &globals] {
    auto folder = formats::ModelFolder::open(options->from);
    print_warning(folder.warning);
    if (!options->adapter.empty()) folder.adapter = options->adapter;
    const auto dtype = dtype_named(options->dtype);
    if (infer::is_own_model(folder)) {
      catch_signals();
      infer::save_for_transformers(folder, options->to, dtype);
    } else {
      const auto model = load_merged_model(folder, dtype ? WeightMode::widened : WeightMode::stored);
      catch_signals();
      save_model(*model, folder, options->to, dtype);
    }
    if (!globals.quiet) print_message("wrote {}\n", options->to);
  });
}

}  // namespace regard::cli

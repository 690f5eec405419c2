// regard convert: write a model as a Hugging Face folder, in its stored or another precision.

#include <optional>
#include <string>

#include "cli/output.h"
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
  CLI::App* verb = app.add_subcommand("convert", "Writes a model as a Hugging Face folder");
  verb->footer(
      "A run folder becomes a folder that Hugging Face's transformers opens: the model as the class that\n"
      "computes the same, its configuration, and its tokenizer for AutoTokenizer. A run that no class\n"
      "computes is refused, naming the key of the run file; docs/convert.md lists what becomes what.\n"
      "Of a Hugging Face folder, one model.safetensors with the names and layouts of the checkpoint is\n"
      "written, and copies of its configuration and tokenizer. Shards are joined; pytorch_model.bin becomes\n"
      "safetensors.");
  struct Options {
    std::string from, to, dtype;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("MODEL", options->from, "A run folder or a Hugging Face folder")->required();
  verb->add_option("FOLDER", options->to, "The folder to make")->required();
  verb->add_option("--dtype", options->dtype, "f32, f16 or bf16 (default: as stored)")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}));
  add_globals(*verb, globals);
  verb->callback([options, &globals] {
    const auto folder = formats::ModelFolder::open(options->from);
    const auto dtype = dtype_named(options->dtype);
    if (infer::is_own_model(folder)) {
      catch_signals();
      infer::save_for_transformers(folder, options->to, dtype);
    } else {
      const auto model = load_model(folder, dtype ? WeightMode::widened : WeightMode::stored);
      catch_signals();
      save_model(*model, folder, options->to, dtype);
    }
    if (!globals.quiet) print_message("wrote {}\n", options->to);
  });
}

}  // namespace regard::cli

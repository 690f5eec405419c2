// regard quantize: write a copy of a model folder with int8 weights.

#include <string>

#include "cli/output.h"
#include "cli/verb.h"
#include "models/weights.h"
#include "regard/error.h"

namespace regard::cli {

void add_quantize_verb(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("quantize", "Writes a model with int8 weights, a quarter as large");
  verb->footer(
      "Matrices and token tables become int8, a scale for each output: NAME (I8) times NAME_scale (F32) is\n"
      "the weight. Every verb opens the folder, and quantises activations token by token as it computes.\n"
      "`regard convert --dtype f32` writes such a folder as floating point again.");
  struct Options {
    std::string from, to;
  };
  auto options = std::make_shared<Options>();
  verb->add_option("MODEL", options->from, "A run folder or a Hugging Face folder")->required();
  verb->add_option("-o,--output", options->to, "The folder to make")->required();
  add_globals(*verb, globals);
  verb->callback([options, &globals] {
    const auto folder = formats::ModelFolder::open(options->from);
    const auto model = load_model(folder, WeightMode::int8);
    catch_signals();
    save_model(*model, folder, options->to);
    if (!globals.quiet) print_message("wrote {}\n", options->to);
  });
}

}  // namespace regard::cli

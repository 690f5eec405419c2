// regard quantize: write a copy of a model folder with int8 weights.

#include <string>

#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "models/weights.h"
#include "regard/error.h"

namespace regard::cli {

void add_quantize_verb(CLI::App& app, Globals& globals) {
  CLI::App* verb =
      app.add_subcommand("quantize", "Write a model with int8 weights (a quarter of the size of f32)");
  verb->footer(
      "Matrices and token tables are stored as int8 with one scale per output: the weight is NAME (I8) "
      "times\n"
      "NAME_scale (F32). Every command opens the folder; activations are quantised per token at run time.\n"
      "`regard convert --dtype f32` converts such a folder back to floating point.");
  struct Options {
    std::string from, to;
  };
  auto options = std::make_shared<Options>();
  add_model_argument(*verb, options->from);
  verb->add_option("-o,--output", options->to, "Folder to create")->required()->check(not_empty());
  add_globals(*verb, globals, {.threads = false, .json = false});
  verb->callback([options, &globals] {
    const auto folder = formats::ModelFolder::open(options->from);
    print_warning(folder.warning);
    const auto model = load_merged_model(folder, WeightMode::int8);
    catch_signals();
    save_model(*model, folder, options->to);
    if (!globals.quiet) print_message("wrote {}\n", options->to);
  });
}

}  // namespace regard::cli

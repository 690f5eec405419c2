// regard translate: lines of one language in, lines of another out, same order.
#include "cli/decode_lines.h"
#include "cli/verb.h"

namespace regard::cli {

void add_translate(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("translate", "Translates lines of text");
  verb->footer(
      "Lines come from standard input or --input; a line typed is answered at once, lines that are already\n"
      "there are decoded together, which changes no result. An empty line gives an empty line.");
  auto options = std::make_shared<DecodingOptions>();
  add_decoding_options(*verb, *options);
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([options, &globals] {
    const infer::LoadedModel model =
        open_for(ModelKind::encoder_decoder, "translate", options->model, globals);
    decode_lines(model, options->over(model.options, globals.seed), options->input, globals);
  });
}

}  // namespace regard::cli

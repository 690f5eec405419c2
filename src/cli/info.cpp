// regard info: describe a file or folder. Without an argument, print the instruction set and the number of
// threads.

#include <memory>
#include <string>
#include <string_view>

#include "base/json_text.h"
#include "cli/describe.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "kernels/isa.h"

namespace regard::cli {
namespace {

void show_machine(Globals& globals) {
  const bool computes = !kernels::available().empty();
  const std::string_view isa = computes ? kernels::name_of(kernels::active()) : "none";
  if (globals.json) {
    Json line{{"isa", isa}, {"threads", globals.pool().size()}};
    if (!computes) line["lacking"] = kernels::lacking();
    print_result("{}\n", line.dump());
    return;
  }
  print_result("instruction set  {}{}\nthreads          {}\n", isa,
               computes ? "" : ": the processor does not have " + kernels::lacking(), globals.pool().size());
}

}  // namespace

void add_info(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("info", "Describe a file or folder without reading its weights");
  add_globals(*verb, globals);
  auto path = std::make_shared<std::string>();
  verb->add_option(
          "PATH", *path,
          "safetensors file, model folder, run folder or tokenizer.json. Default: describe this machine")
      ->check(not_empty());
  verb->callback([path, &globals] {
    if (path->empty()) return show_machine(globals);
    const Json description = describe_path(*path);
    print_result("{}", globals.json ? json_text(description) + "\n" : description_text(description));
  });
}

}  // namespace regard::cli

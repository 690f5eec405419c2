// regard info: what a file or folder holds; without one, what this build runs on.

#include <memory>
#include <string>

#include "cli/describe.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "kernels/isa.h"

namespace regard::cli {
namespace {

void show_machine(Globals& globals) {
  if (globals.json) {
    const Json line{{"isa", kernels::name_of(kernels::active())}, {"threads", globals.pool().size()}};
    print_result("{}\n", line.dump());
    return;
  }
  print_result("instruction set  {}\nthreads          {}\n", kernels::name_of(kernels::active()),
               globals.pool().size());
}

}  // namespace

void add_info(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("info", "What a file or folder holds, without loading it");
  add_globals(*verb, globals);
  auto path = std::make_shared<std::string>();
  verb->add_option("PATH", *path,
                   "safetensors file, model or run folder, tokenizer.json; none: what this build runs on");
  verb->callback([path, &globals] {
    if (path->empty()) return show_machine(globals);
    const Json description = describe_path(*path);
    print_result("{}", globals.json ? description.dump() + "\n" : description_text(description));
  });
}

}  // namespace regard::cli

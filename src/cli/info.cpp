// regard info: what this build runs on.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/verb.h"
#include "kernels/isa.h"

namespace regard::cli {
namespace {

void show_machine(Globals& globals) {
  if (globals.json) {
    const nlohmann::ordered_json line{{"isa", kernels::name_of(kernels::active())},
                                      {"threads", globals.pool().size()}};
    fmt::print("{}\n", line.dump());
    return;
  }
  fmt::print("instruction set  {}\nthreads          {}\n", kernels::name_of(kernels::active()),
             globals.pool().size());
}

}  // namespace

void add_info(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("info", "What this build runs on");
  add_globals(*verb, globals);
  verb->callback([&globals] { show_machine(globals); });
}

}  // namespace regard::cli

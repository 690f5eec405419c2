// The program: a thin shell over the library. Each verb lives in a file of its own.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/nearest.h"
#include "cli/verb.h"
#include "cli/verbs.h"
#include "regard/error.h"

namespace {

int exit_code(regard::ErrorKind kind) {
  switch (kind) {
    case regard::ErrorKind::usage:
      return 2;
    case regard::ErrorKind::bad_file:
      return 3;
    case regard::ErrorKind::io:
      return 4;
    case regard::ErrorKind::numeric:
      return 5;
    case regard::ErrorKind::internal:
      break;
  }
  return 1;
}

void show_help(CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    fmt::print("{}", app.help());
    return;
  }
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() != topic) continue;
    fmt::print("{}", verb->help());
    return;
  }
  throw regard::usage_error("no verb is called '" + topic + "'").remedy("See 'regard --help'");
}

// CLI11 speaks of subcommands and does not say which word was wrong.
void check_verb(CLI::App& app, int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (argc < 2) throw regard::usage_error("no verb was given").remedy("See 'regard --help'");
  const std::string first = argv[1];
  if (first.empty() || first.front() == '-' || std::find(verbs.begin(), verbs.end(), first) != verbs.end())
    return;
  regard::Error error = regard::usage_error("no verb is called '" + first + "'");
  const std::string_view close = regard::nearest(first, verbs);
  throw close.empty() ? error.remedy("See 'regard --help'")
                      : error.remedy("Did you mean '" + std::string(close) + "'? See 'regard --help'");
}

int run(int argc, char** argv) {
  CLI::App app{"regard: Transformers in C++. Train them, run them, look inside them."};
  app.set_version_flag("--version", "regard " REGARD_VERSION);
  app.set_help_all_flag("--help-all", "Help for every verb");
  app.require_subcommand(1);
  regard::cli::Globals globals;
  regard::cli::add_verbs(app, globals);
  std::string topic;
  CLI::App* help = app.add_subcommand("help", "What a verb does and takes");
  help->add_option("VERB", topic, "the verb");
  check_verb(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    const auto chosen = app.get_subcommands();
    const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
    fmt::print(stderr, "regard{}: {}\nSee 'regard help{}'.\n", verb, error.what(), verb);
    return 2;
  }
  if (help->parsed()) show_help(app, topic);
  return regard::cli::stop_signal() == 0 ? 0 : 128 + regard::cli::stop_signal();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) != 0)
      throw regard::Error(regard::ErrorKind::io, "standard output cannot be written");
    return code;
  } catch (const regard::Error& error) {
    fmt::print(stderr, "regard: {}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "regard: out of memory\n");
    return 1;
  } catch (const std::system_error& error) {
    // What the standard library and fmt::print() throw where the system refuses: here, to write a result.
    fmt::print(stderr, "regard: {}\n", error.what());
    return exit_code(regard::ErrorKind::io);
  } catch (const std::exception& error) {
    fmt::print(stderr, "regard: internal error: {}\n", error.what());
    return 1;
  }
}

// Main program: argument parsing, error messages and exit codes. Each command has its own file.

#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/nearest.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/unreadable_mapping.h"
#include "cli/verb.h"
#include "cli/verbs.h"
#include "infer/loaded_model.h"
#include "regard/error.h"

namespace {

using regard::cli::exit_code;

void show_help(CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    regard::cli::write_result(app.help());
    return;
  }
  for (const CLI::App* verb : app.get_subcommands({})) {
    if (verb->get_name() != topic) continue;
    regard::cli::write_result(verb->help());
    return;
  }
  throw regard::usage_error("unknown command '" + topic + "'").remedy("See 'regard --help'");
}

// Report an unknown command here, because CLI11's message does not name it.
void check_verb(CLI::App& app, int argc, char** argv) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands({})) verbs.push_back(verb->get_name());
  if (argc < 2) throw regard::usage_error("expected a command, found none").remedy("See 'regard --help'");
  const std::string first = argv[1];
  if (first.empty() || first.front() == '-' || std::find(verbs.begin(), verbs.end(), first) != verbs.end())
    return;
  regard::Error error = regard::usage_error("unknown command '" + first + "'");
  const std::string_view close = regard::base::nearest(first, verbs);
  throw close.empty() ? error.remedy("See 'regard --help'")
                      : error.remedy("Did you mean '" + std::string(close) + "'? See 'regard --help'");
}

// Return the arguments that the command does not accept, in command-line order, if they are the reason of
// `error`. An unknown option always is: its value may have been read as another argument, which then fails.
std::vector<std::string> unexpected_arguments(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> extra = app.remaining(true);
  const bool option = std::any_of(extra.begin(), extra.end(), [](const std::string& argument) {
    return argument.size() > 1 && argument.front() == '-';
  });
  if (!option && dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) extra.clear();
  return extra;
}

// Return the message of `error`. Unexpected arguments are listed in command-line order, because CLI11's own
// message reverses them. `verb` is the command whose options are suggested.
std::string message_of(const CLI::App& app, const CLI::App& verb, const CLI::ParseError& error) {
  const std::vector<std::string> extra = unexpected_arguments(app, error);
  if (extra.empty()) return error.what();
  std::vector<std::string> known;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string_view close =
      extra.front().starts_with("--") ? regard::base::nearest(extra.front(), known) : std::string_view();
  return fmt::format("The following argument{} not expected: {}{}", extra.size() == 1 ? " was" : "s were",
                     fmt::join(extra, " "), close.empty() ? "" : fmt::format(". Did you mean {}?", close));
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::string verb;
  std::size_t depth = 0;
  const CLI::App* last = &app;
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = last->get_subcommands(), ++depth) {
    last = chosen.front();
    verb += " " + last->get_name();
  }
  const std::string help = depth > 1 ? verb.substr(1) + " --help" : "help" + verb;
  regard::cli::print_message("regard{}: {}\nSee 'regard {}'.\n", verb, message_of(app, *last, error), help);
  return 2;
}

// Parse the arguments and run the command. If a text is too long and the command has --truncate, add this
// option to the error's remedy, because the library's messages do not contain options.
void run_verb(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (regard::Error& error) {
    const std::vector<CLI::App*> verbs = app.get_subcommands();
    if (error.message() == regard::infer::kTextTooLong && !verbs.empty() &&
        verbs.front()->get_option_no_throw("--truncate") != nullptr)
      error.remedy(error.remedy() + ", or use --truncate");
    throw;
  }
}

int run(int argc, char** argv) {
  CLI::App app{"regard: train, run and inspect Transformer models"};
  app.set_version_flag("--version", "regard " REGARD_VERSION);
  app.set_help_all_flag("--help-all", "Print the help of every command");
  app.require_subcommand(1);
  regard::cli::Globals globals;
  regard::cli::add_verbs(app, globals, argc > 1 ? argv[1] : "");
  std::string topic;
  CLI::App* help = app.add_subcommand("help", "Print the help of a command");
  help->add_option("COMMAND", topic, "Name of the command. Default: print the list of commands")
      ->check(regard::cli::not_empty());
  check_verb(app, argc, argv);
  try {
    run_verb(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return report_usage(app, error);
  }
  if (help->parsed()) show_help(app, topic);
  return regard::cli::stop_signal() == 0 ? 0 : 128 + regard::cli::stop_signal();
}

int ended(int argc, char** argv) {
  using regard::cli::print_message;
  try {
    const int code = run(argc, argv);
    regard::cli::finish_results();
    return code;
  } catch (const regard::base::ClosedPipe&) {
    regard::cli::end_by_closed_pipe();
  } catch (const regard::cli::Stopped&) {
    return 128 + regard::cli::stop_signal();
  } catch (const regard::base::WriteStopped&) {
    return 128 + regard::cli::stop_signal();
  } catch (const regard::Error& error) {
    print_message("regard: {}\n", error.what());
    return exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    regard::cli::write_message("regard: out of memory\n");
    return exit_code(regard::ErrorKind::resource_exhausted);
  } catch (...) {
    const regard::Error error = regard::caught_error();
    const bool internal = error.kind() == regard::ErrorKind::internal;
    print_message("regard: {}{}\n", internal ? "internal error: " : "", error.what());
    return exit_code(error.kind());
  }
}

}  // namespace

int main(int argc, char** argv) {
  regard::cli::prepare_standard_streams();
  regard::cli::report_unreadable_mappings();
  return ended(argc, argv);
}

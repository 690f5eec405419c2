// Commands of the program (`regard COMMAND`), one file each. add_COMMAND() adds the command, with its options
// and callback, to `app`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/thread_pool.h"

namespace regard::cli {

// Values of the options that several commands have.
struct Globals {
  int threads = 0;  // number of threads; 0 means one per physical core
  std::uint64_t seed = 1;
  bool json = false;   // print one JSON object per line
  bool quiet = false;  // print no progress on stderr
  bool int8 = false;   // quantise models while loading them
  bool bf16 = false;   // compute in bf16

  // Return the thread pool of the program, created at the first call.
  ThreadPool& pool();

 private:
  std::shared_ptr<ThreadPool> pool_;
};

// The common options of a command besides -q/--quiet. A command has only the options that change its work.
struct CommonOptions {
  bool threads = true;  // -t/--threads
  bool seed = false;    // -s/--seed
  bool json = true;     // --json
};

// Add the common options to a command.
void add_globals(CLI::App& verb, Globals& globals, CommonOptions common = {});

// Add --quantize and --precision to a command that opens a model.
void add_quantize(CLI::App& verb, Globals& globals);

// Add the required argument MODEL, the path of a model.
void add_model_argument(CLI::App& verb, std::string& model,
                        const char* help = "Run folder or Hugging Face folder");

// Add a command and return it with a new request, which holds the values of its options.
template <class Request>
std::pair<CLI::App*, std::shared_ptr<Request>> add_command(CLI::App& app, const std::string& name,
                                                           const std::string& description,
                                                           const std::string& footer = "") {
  CLI::App* verb = app.add_subcommand(name, description);
  if (!footer.empty()) verb->footer(footer);
  return {verb, std::make_shared<Request>()};
}

// Add the common options to a command, and make the command call run(*request, globals).
template <class Request>
void set_action(CLI::App& verb, Globals& globals, std::shared_ptr<Request> request,
                void (*run)(const std::type_identity_t<Request>&, Globals&), CommonOptions common = {}) {
  add_globals(verb, globals, common);
  verb.callback([request, &globals, run] { run(*request, globals); });
}

// Add an option whose value must pass `check`. The help shows the current value of `value` as the default.
template <class Value>
void add_checked_option(CLI::App& verb, const std::string& name, Value& value, const std::string& help,
                        CLI::Validator check) {
  verb.add_option(name, value, help)->check(std::move(check))->capture_default_str();
}

// Effect of a stop signal (SIGINT, SIGTERM, SIGHUP) on output files. stop_writing: abort the write and leave
// existing files unmodified. go_on_writing: continue to write; a second signal that arrives more than a
// second later ends the process immediately.
enum class AtSignal { stop_writing, go_on_writing };
// From this call on, stop signals do not end the process; the command must poll stop_signal().
void catch_signals(AtSignal writing = AtSignal::stop_writing);
// Return the last received stop signal, or 0. After a signal, main() exits with code 128 + signal.
int stop_signal();

// Thrown if a stop signal ends a command early; main() then exits with code 128 + signal.
struct Stopped {};
void throw_if_stopped();

}  // namespace regard::cli

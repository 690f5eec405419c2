// A verb of the program: one file each. add_VERB() declares its options under `app` and what runs when it is
// chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "base/thread_pool.h"

namespace regard::cli {

// Options that every verb understands.
struct Globals {
  int threads = 0;  // 0: one for each physical core
  std::uint64_t seed = 1;
  bool json = false;   // one JSON object a line on stdout
  bool quiet = false;  // no progress on stderr
  bool int8 = false;   // models are quantised as they are loaded

  // The program's pool, made at its first use.
  ThreadPool& pool();

 private:
  std::shared_ptr<ThreadPool> pool_;
};

// Adds -t/--threads, -s/--seed, --json, --quiet to a verb.
void add_globals(CLI::App& verb, Globals& globals);

// Adds --quantize to a verb that loads a model.
void add_quantize(CLI::App& verb, Globals& globals);

// The process's signal that asks for a clean stop (SIGINT, SIGTERM, SIGHUP), or 0. A verb that can stop
// between two steps calls catch_signals() once and then looks here; main turns it into exit code 128 +
// signal. From then on a signal also ends the writing of output files, which leaves the old ones, unless the
// verb still has something to write when it stops.
enum class AtSignal { stop_writing, go_on_writing };
void catch_signals(AtSignal writing = AtSignal::stop_writing);
int stop_signal();

// Thrown where such a signal ends a verb before it is done; main turns it into the same exit code.
struct Stopped {};
void throw_if_stopped();

}  // namespace regard::cli

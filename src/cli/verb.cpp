#include "cli/verb.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <ctime>

#include "base/file.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"

namespace regard::cli {
namespace {

volatile std::sig_atomic_t received = 0;
volatile std::sig_atomic_t received_at = 0;  // time of the first signal, in seconds of the monotonic clock
volatile std::sig_atomic_t second_ends = 0;  // true if a second signal ends the process immediately

std::sig_atomic_t monotonic_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::sig_atomic_t>(now.tv_sec);
}

extern "C" void remember(int signal) {
  // `timeout` and terminals may send two signals for one stop. A second signal therefore counts only if it
  // arrives more than a second after the first.
  constexpr std::sig_atomic_t kLater = 1;
  const std::sig_atomic_t now = monotonic_seconds();
  if (received != 0 && second_ends != 0 && now - received_at > kLater) {
    std::signal(signal, SIG_DFL);
    raise(signal);  // the signal takes effect as soon as this handler returns
  }
  if (received == 0) received_at = now;
  received = signal;
}

}  // namespace

ThreadPool& Globals::pool() {
  if (!pool_) {
    pool_ = std::make_shared<ThreadPool>(threads);
    print_warning(pool_->warning());
  }
  return *pool_;
}

void add_globals(CLI::App& verb, Globals& globals, CommonOptions common) {
  if (common.threads)
    verb.add_option("-t,--threads", globals.threads, "Number of threads. Default: one per physical core")
        ->check(CLI::Range(1, 1024));
  if (common.seed) add_checked_option(verb, "-s,--seed", globals.seed, "Random seed", not_negative());
  if (common.json) verb.add_flag("--json", globals.json, "Print JSON, one object per line");
  verb.add_flag("-q,--quiet", globals.quiet, "Do not print progress to standard error");
}

void add_quantize(CLI::App& verb, Globals& globals) {
  CLI::Option* quantize = verb.add_option_function<std::string>(
      "--quantize", [&globals](const std::string&) { globals.int8 = true; },
      "Quantise weights and activations to int8. Default: compute with the weights as stored");
  quantize->check(CLI::IsMember({"int8"}));
  CLI::Option* precision = verb.add_option_function<std::string>(
      "--precision", [&globals](const std::string& name) { globals.bf16 = name == "bf16"; },
      "f32, or bf16: round weights, activations and the key/value cache to bf16;\n"
      "needs AMX-BF16, or AVX512_BF16 of an AMD processor. Default: f32");
  precision->check(CLI::IsMember({"f32", "bf16"}))->excludes(quantize);
}

void add_model_argument(CLI::App& verb, std::string& model, const char* help) {
  verb.add_option("MODEL", model, help)->required()->check(not_empty());
}

void catch_signals(AtSignal writing) {
  set_write_stop(writing == AtSignal::stop_writing ? [] { return stop_signal() != 0; } : WriteStop());
  second_ends = writing == AtSignal::go_on_writing;
  struct sigaction action {};
  action.sa_handler = remember;
  sigemptyset(&action.sa_mask);
  // Without SA_RESTART, a signal interrupts blocking reads, so that the command can stop.
  action.sa_flags = 0;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);  // keep ignoring SIGHUP under nohup
}

int stop_signal() {
  return received;
}

void throw_if_stopped() {
  if (stop_signal() != 0) throw Stopped();
}

}  // namespace regard::cli

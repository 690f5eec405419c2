// regard bench start: time from process start to the first result.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/clock.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "infer/loaded_model.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

constexpr int kStarts = 10;

struct StartBenchRequest {
  std::string model, text = "Hello.";
};

struct Start {
  double seconds = 0, peak_rss_mb = 0;
};

Error system_error(const char* what, int code) {
  return Error(ErrorKind::io, std::string(what) + ": " + std::strerror(code));
}

struct Pipe {
  std::array<int, 2> end{-1, -1};  // file descriptors of the read end and the write end
  Pipe() {
    if (::pipe2(end.data(), O_CLOEXEC) != 0) throw system_error("cannot create a pipe", errno);
  }
  ~Pipe() { close(0), close(1); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close(std::size_t which) {
    if (end[which] >= 0) ::close(std::exchange(end[which], -1));
  }
};

// Run this program with `arguments` and `line` on standard input. Return the seconds until its first byte of
// output, and its peak resident set size.
Start start_once(std::vector<std::string> arguments, const std::string& line) {
  Pipe input, output;
  if (::write(input.end[1], line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw system_error("cannot write the text to the pipe", errno);
  input.close(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.end[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output.end[1], STDOUT_FILENO);
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const Stopwatch watch;
  const int failed = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) throw system_error("cannot start the regard process", failed);
  output.close(1);
  std::array<char, 4096> bytes{};
  const ssize_t got = ::read(output.end[0], bytes.data(), bytes.size());
  Start start{watch.seconds(), 0};
  while (::read(output.end[0], bytes.data(), bytes.size()) > 0) {
  }
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (got <= 0 || status != 0)
    throw Error(ErrorKind::internal, "the regard process failed or printed no result");
  start.peak_rss_mb = static_cast<double>(usage.ru_maxrss) / 1024.0;
  return start;
}

void run(const StartBenchRequest& request, Globals& globals) {
  // Open the model in this process first, to report errors here and to warm the file cache.
  const ModelKind kind = infer::LoadedModel::open(request.model).model->kind();
  std::vector<std::string> arguments{"regard", "embed", request.model,
                                     "--threads=" + std::to_string(globals.pool().size())};
  if (kind != ModelKind::encoder) {
    arguments[1] = kind == ModelKind::encoder_decoder ? "translate" : "generate";
    arguments.insert(arguments.end(), {"--max-new", "32"});
  }
  const std::string line = request.text + "\n";
  start_once(arguments, line);
  std::vector<double> seconds;
  double peak = 0;
  for (int repetition = 0; repetition < kStarts; ++repetition) {
    const Start start = start_once(arguments, line);
    seconds.push_back(start.seconds);
    peak = std::max(peak, start.peak_rss_mb);
  }
  const Timing timing = summarise(seconds);
  Json result = bench_line("start", globals);
  result["start_ms"] = timing.median_ms, result["best_ms"] = timing.best_ms;
  result["peak_rss_mb"] = peak;
  print_line(result);
}

}  // namespace

void add_bench_start(CLI::App& bench, Globals& globals) {
  const auto [start, request] = add_command<StartBenchRequest>(
      bench, "start", "Measure the time from the start of a process to its first result",
      "Runs `regard translate MODEL` (`generate` for a decoder, `embed` for an encoder) on one line several\n"
      "times.");
  add_model_argument(*start, request->model, "Model folder");
  start->add_option("--text", request->text, "Input line")->capture_default_str();
  set_action(*start, globals, request, run);
}

}  // namespace regard::cli

// Benchmark of `regard serve` on a Llama-shaped decoder with random weights. The server runs in a separate
// process; this process runs the clients. Prints one line of JSON for each measurement:
//   first_token  time to the first token of a short prompt, alone and during the prefill of a long prompt:
//                the medians over the rounds of one run, and their ratio
//   throughput   tokens per second of processor time, measured alternately for the server with CLIENTS
//                clients and for the library with a batch of CLIENTS rows; also the latency of /health
//                during the measurement of the server
//
// usage: serve_benchmark [--layers 12] [--hidden 768] [--clients 32] [--seconds 10] [--rounds 15]
//                        [--threads 2] [--long 4000]
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "formats/safetensors.h"
#include "infer/loaded_model.h"
#include "models/transformer.h"
#include "models/weights.h"
#include "ops/parameter.h"
#include "serve/service.h"
#include "text/train_bpe.h"

namespace regard::serve {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::int64_t layers = 12, hidden = 768, clients = 32, seconds = 10, rounds = 15, threads = 2,
               long_prompt = 4000;
};
constexpr std::int64_t kShortPrompt = 64, kPrompt = 32, kNewTokens = 64, kVocabulary = 32000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1,
                         static_cast<std::size_t>(share * static_cast<double>(values.size())))];
}

void write_model(const std::filesystem::path& folder, const Settings& settings) {
  TransformerConfig config;
  config.kind = "decoder", config.vocabulary = kVocabulary, config.layers = settings.layers;
  config.hidden_size = settings.hidden, config.heads = settings.hidden / 64;
  config.feed_forward_size = settings.hidden * 8 / 3 / 32 * 32;
  config.norm_kind = "rms", config.positions = "rotary", config.gated = true, config.activation = "silu";
  config.bias = false, config.max_positions = 8192;
  const std::unique_ptr<Network> model = make_transformer(config);
  initialise(*model, 1);
  std::filesystem::create_directories(folder);
  formats::write_safetensors(folder / "model.safetensors", weights_of(*model));
  std::ofstream(folder / "config.json") << model->config().dump(2);
  std::ofstream(folder / "generation_config.json") << R"({"bos_token_id": 2})";
  const auto tokenizer = text::train_characters(
      [done = false](std::string& line) mutable {
        line = "the quick brown fox jumps over the lazy dog";
        return !std::exchange(done, true);
      },
      {});
  tokenizer->save(folder / "tokenizer.json");
}

Json prompt_of(std::int64_t tokens, unsigned seed) {
  std::mt19937 random(seed);
  Json ids = Json::array();
  for (std::int64_t i = 0; i < tokens; ++i) ids.push_back(4 + random() % (kVocabulary - 4));
  return ids;
}

// A connection that sends one request after the other.
class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET, to.sin_port = htons(port), to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error("cannot connect");
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& method, const std::string& path, const std::string& body = "") {
    std::string text = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n";
    if (!body.empty())
      text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    text += "\r\n" + body;
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t count = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) throw std::runtime_error("the server closed the connection");
      sent += static_cast<std::size_t>(count);
    }
  }
  // Read until `text` is received, and discard the received bytes up to the end of `text`.
  void read_until(const std::string& text) {
    std::size_t at = 0;
    while ((at = received_.find(text)) == received_.npos) read_more();
    received_.erase(0, at + text.size());
  }
  void read_response() {
    std::size_t at = 0;
    while ((at = received_.find("\r\n\r\n")) == received_.npos) read_more();
    if (!received_.starts_with("HTTP/1.1 200")) throw std::runtime_error(received_);
    const std::size_t field = received_.find("Content-Length: ");
    const std::size_t end = at + 4 + std::stoul(received_.substr(field + 16));
    while (received_.size() < end) read_more();
    received_.erase(0, end);
  }

 private:
  void read_more() {
    char buffer[65536];
    const ssize_t count = ::recv(socket_, buffer, sizeof buffer, 0);
    if (count <= 0) throw std::runtime_error("the server closed the connection");
    received_.append(buffer, static_cast<std::size_t>(count));
  }
  int socket_;
  std::string received_;
};

std::string completion(const Json& prompt, std::int64_t tokens, bool stream) {
  return Json{{"prompt", prompt}, {"max_tokens", tokens}, {"temperature", 0}, {"stream", stream}}.dump();
}

double first_token(std::uint16_t port, unsigned seed) {
  Client client(port);
  const std::string body = completion(prompt_of(kShortPrompt, seed), 2, true);
  const auto begin = Clock::now();
  client.send("POST", "/v1/completions", body);
  client.read_until("data: ");
  const double seconds = seconds_since(begin);
  client.read_until("[DONE]");
  return seconds;
}

void measure_first_token(std::uint16_t port, const Settings& settings) {
  std::vector<double> alone, beside;
  first_token(port, 1);
  for (unsigned round = 0; round < static_cast<unsigned>(settings.rounds); ++round) {
    alone.push_back(first_token(port, 1000 + round));
    Client other(port);
    other.send("POST", "/v1/completions", completion(prompt_of(settings.long_prompt, 5000 + round), 1, true));
    // Send the short requests at different times during the prefill of the long prompt.
    std::this_thread::sleep_for(std::chrono::duration<double>(alone.back() * (1.0 + 7.3 * (round % 5))));
    beside.push_back(first_token(port, 9000 + round));
  }
  std::printf("%s\n", Json{{"first_token",
                            {{"alone_ms", 1e3 * quantile(alone, 0.5)},
                             {"beside_long_ms", 1e3 * quantile(beside, 0.5)},
                             {"worst_ms", 1e3 * quantile(beside, 1.0)},
                             {"ratio", quantile(beside, 0.5) / quantile(alone, 0.5)}}}}
                          .dump()
                          .c_str());
  std::fflush(stdout);
}

// Return the processor seconds that a process has used.
double processor_seconds(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string skipped;
  double user = 0, system = 0;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  rest >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_processor_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

struct Load {
  double tokens_per_second = 0, tokens_per_processor_second = 0;
  std::vector<double> health;
};

Load load_server(std::uint16_t port, pid_t server, const Settings& settings) {
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> requests{0};
  std::vector<std::thread> clients;
  for (std::int64_t c = 0; c < settings.clients; ++c)
    clients.emplace_back([&, c] {
      Client client(port);
      for (unsigned i = 0; !over; ++i) {
        client.send("POST", "/v1/completions",
                    completion(prompt_of(kPrompt, static_cast<unsigned>(c) * 7919 + i), kNewTokens, false));
        client.read_response();
        ++requests;
      }
    });
  Load load;
  while (requests < settings.clients) std::this_thread::sleep_for(std::chrono::milliseconds(5));  // warm up
  const auto begin = Clock::now();
  const double used = processor_seconds(server);
  const std::int64_t before = requests;
  Client health(port);
  while (seconds_since(begin) < static_cast<double>(settings.seconds)) {
    const auto asked = Clock::now();
    health.send("GET", "/health");
    health.read_response();
    load.health.push_back(seconds_since(asked));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto tokens = static_cast<double>((requests - before) * kNewTokens);
  load.tokens_per_second = tokens / seconds_since(begin);
  load.tokens_per_processor_second = tokens / (processor_seconds(server) - used);
  over = true;
  for (std::thread& client : clients) client.join();
  return load;
}

double library_tokens_per_processor_second(const infer::LoadedModel& loaded, ThreadPool& pool,
                                           const Settings& settings) {
  std::vector<ModelInput> prompts;
  for (std::int64_t i = 0; i < settings.clients; ++i)
    prompts.emplace_back(prompt_of(kPrompt, static_cast<unsigned>(i)).get<std::vector<std::int32_t>>());
  infer::SearchOptions options = loaded.options;
  options.max_new = kNewTokens, options.end_tokens.clear();
  const double used = own_processor_seconds();
  const auto begin = Clock::now();
  double tokens = 0;
  do {
    for (const auto& list : infer::decode(*loaded.model, pool, prompts, options))
      tokens += static_cast<double>(list[0].tokens.size());
  } while (seconds_since(begin) < static_cast<double>(settings.seconds) / 2);
  return tokens / (own_processor_seconds() - used);
}

void measure_throughput(std::uint16_t port, pid_t server, const std::filesystem::path& folder,
                        const Settings& settings) {
  ThreadPool pool(static_cast<int>(settings.threads));
  const infer::LoadedModel loaded = infer::LoadedModel::open(folder);
  loaded.model->prepare_for_inference(pool);
  std::vector<double> ratios, served, library, health;
  for (int round = 0; round < 3; ++round) {
    const Load load = load_server(port, server, settings);
    served.push_back(load.tokens_per_processor_second);
    library.push_back(library_tokens_per_processor_second(loaded, pool, settings));
    ratios.push_back(served.back() / library.back());
    health.insert(health.end(), load.health.begin(), load.health.end());
  }
  std::printf("%s\n", Json{{"throughput",
                            {{"clients", settings.clients},
                             {"served_per_processor_second", quantile(served, 0.5)},
                             {"library_per_processor_second", quantile(library, 0.5)},
                             {"ratio", quantile(ratios, 0.5)},
                             {"health_p50_ms", 1e3 * quantile(health, 0.5)},
                             {"health_p99_ms", 1e3 * quantile(health, 0.99)}}}}
                          .dump()
                          .c_str());
}

// Run the server in the child process: write its port to `report`, and exit when `hold` is closed.
[[noreturn]] void run_server(const std::filesystem::path& folder, const Settings& settings, int report,
                             int hold) {
  {
    serve::ServeOptions options;
    options.folders = {{"model", folder}};
    options.port = 0, options.access_log = "";
    ThreadPool pool(static_cast<int>(settings.threads));
    serve::Service service(options, pool);
    while (!service.ready()) {
      service.check_loading();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::uint16_t port = service.port();
    char byte = 0;
    if (::write(report, &port, sizeof port) == sizeof port) (void)!::read(hold, &byte, 1);
  }
  std::_Exit(0);
}

int run(const Settings& settings) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("serve_benchmark_" + std::to_string(::getpid()));
  write_model(folder, settings);
  int report[2], hold[2];
  if (::pipe(report) != 0 || ::pipe(hold) != 0) return 1;
  const pid_t server = ::fork();  // call fork() before any thread is started
  if (server == 0) {
    ::close(hold[1]);
    run_server(folder, settings, report[1], hold[0]);
  }
  ::close(report[1]), ::close(hold[0]);
  std::uint16_t port = 0;
  if (::read(report[0], &port, sizeof port) == sizeof port) {
    if (settings.rounds > 0) measure_first_token(port, settings);
    if (settings.seconds > 0) measure_throughput(port, server, folder, settings);
  }
  ::close(hold[1]);
  ::waitpid(server, nullptr, 0);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace regard::serve

int main(int count, char** words) {
  regard::serve::Settings settings;
  const std::pair<const char*, std::int64_t*> options[] = {
      {"--layers", &settings.layers},   {"--hidden", &settings.hidden}, {"--clients", &settings.clients},
      {"--seconds", &settings.seconds}, {"--rounds", &settings.rounds}, {"--threads", &settings.threads},
      {"--long", &settings.long_prompt}};
  for (int i = 1; i + 1 < count; i += 2)
    for (const auto& [name, value] : options)
      if (std::string_view(words[i]) == name) *value = std::stoll(words[i + 1]);
  try {
    return regard::serve::run(settings);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "serve_benchmark: %s\n", error.what());
    return 1;
  }
}

// regard serve: process requests over HTTP until a stop signal arrives.
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <algorithm>
#include <csignal>
#include <ctime>
#include <utility>

#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "regard/error.h"
#include "serve/access.h"
#include "serve/service.h"

namespace regard::cli {
namespace {

struct ServeRequest {
  serve::ServeOptions options;
  std::vector<std::string> folders, names, languages;
  std::int64_t concurrent = 64, queue = 256, timeout = 600, drain = 30, connections = 1024,
               cache_tokens = 16384, port = 8080;
  std::string api_keys, detect;
};

// Split "NAME=VALUE". Throws usage if `text` has another form.
std::pair<std::string, std::string> named_value(const std::string& text, const char* option,
                                                const char* expected) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || equals + 1 == text.size())
    throw usage_error(std::string(option) + " is malformed").found("\"" + text + "\"").expected(expected);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Return the last component of the path, such as "demo" for "runs/demo/".
std::string name_of_folder(const std::string& folder) {
  std::filesystem::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".."
             ? std::filesystem::absolute(path).lexically_normal().filename().string()
             : name;
}

// Read --languages. Throws usage if an option is malformed or names no model of the server.
void read_languages(const std::vector<std::string>& given, serve::ServeOptions& options) {
  std::string names;
  for (const serve::ServedFolder& folder : options.folders)
    names += (names.empty() ? "" : ", ") + folder.name;
  for (const std::string& one : given) {
    const auto [name, pair] = named_value(one, "--languages", "NAME=SOURCES:TARGETS");
    const std::size_t colon = std::min(pair.find(':'), pair.size());
    const std::string after = colon < pair.size() ? pair.substr(colon + 1) : std::string();
    serve::Languages languages{split(pair.substr(0, colon), ','), split(after, ',')};
    if (languages.sources.empty() || languages.targets.empty())
      throw usage_error("--languages is malformed")
          .found("\"" + one + "\"")
          .expected("NAME=SOURCES:TARGETS, as in NAME=en:hi");
    if (std::ranges::find(options.folders, name, &serve::ServedFolder::name) == options.folders.end())
      throw usage_error("--languages names no model of the server")
          .found("\"" + name + "\"")
          .expected("one of " + names);
    options.languages[name] = std::move(languages);
  }
}

// Throw usage for a value that no request can match.
void check_names(const serve::ServeOptions& options) {
  for (const std::string& host : options.allowed_hosts)
    if (const auto name = serve::host_name(host); !name || name->size() != host.size())
      throw usage_error("--allow-host is malformed")
          .found("\"" + host + "\"")
          .expected("a name without a port, such as example.org");
  for (const std::string& origin : options.origins) {
    if (origin == "*" || origin == "null") continue;
    const std::size_t scheme = origin.find("://");
    if (scheme == origin.npos || scheme + 3 == origin.size() || origin.find('/', scheme + 3) != origin.npos)
      throw usage_error("--cors is malformed")
          .found("\"" + origin + "\"")
          .expected("* or an origin without a path, such as https://example.org");
  }
}

serve::ServeOptions options_of(const ServeRequest& request, const Globals& globals) {
  serve::ServeOptions options = request.options;
  for (const std::string& folder : request.folders)
    options.folders.push_back({name_of_folder(folder), folder});
  for (const std::string& one : request.names) {
    auto [name, folder] = named_value(one, "--name", "NAME=FOLDER");
    options.folders.push_back({std::move(name), std::move(folder)});
  }
  read_languages(request.languages, options);
  check_names(options);
  options.port = static_cast<std::uint16_t>(request.port);
  options.weights = weight_mode(globals);
  options.api_keys = request.api_keys, options.detect = request.detect;
  options.in_progress = static_cast<std::size_t>(request.concurrent);
  options.sessions.rows = request.concurrent, options.sessions.cache_tokens = request.cache_tokens;
  options.queue = static_cast<std::size_t>(request.queue);
  options.timeout = std::chrono::seconds(request.timeout);
  options.drain = std::chrono::seconds(request.drain);
  options.http.connections = static_cast<std::size_t>(request.connections);
  return options;
}

// Block, in all threads, the signals that the server waits for. Return these signals.
sigset_t blocked_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

void announce(const serve::Service& service, const serve::ServeOptions& options) {
  std::string names;
  for (const serve::ServedFolder& folder : options.folders)
    names += (names.empty() ? "" : ", ") + folder.name;
  const bool colon = options.host.find(':') != options.host.npos;
  print_message("ready: {} on http://{}:{}\n", names, colon ? "[" + options.host + "]" : options.host,
                service.port());
}

// Configure glibc's malloc for a server.
void configure_malloc() {
#if defined(M_ARENA_MAX)
  // By default, glibc uses up to 8 arenas per core. The memory that the handler threads free is then spread
  // over all arenas, and the resident memory grows for a long time.
  constexpr int kArenas = 2;
  ::mallopt(M_ARENA_MAX, kArenas);
  // By default, glibc raises M_MMAP_THRESHOLD to the size of the largest freed block, up to 32 MiB, and
  // M_TRIM_THRESHOLD to twice that size. Later blocks below M_MMAP_THRESHOLD are placed in an arena, which
  // keeps their memory after they are freed.
  constexpr int kThreshold = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kThreshold);
  ::mallopt(M_TRIM_THRESHOLD, kThreshold);
#endif
}

// Return freed memory to the system. glibc keeps the pages of freed blocks that lie between blocks in use,
// for example the pages of a large response.
void return_freed_memory() {
#if defined(M_ARENA_MAX)
  ::malloc_trim(0);
#endif
}

void serve_folders(const ServeRequest& request, Globals& globals) {
  configure_malloc();
  const sigset_t signals = blocked_signals();  // must be called before the first thread starts
  const serve::ServeOptions options = options_of(request, globals);
  serve::Service service(options, globals.pool());
  bool announced = false, reload = false;
  while (true) {
    const bool idle = announced && !reload;  // wait only for signals
    const timespec wait{idle ? 60 : 0, idle ? 0 : 20'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &wait);
    service.check_loading();
    if (!announced && service.ready()) {
      announced = true;
      for (const auto& host : service.models().all()) print_warning(host->loaded().warning);
      if (!globals.quiet) announce(service, options);
    }
    if (signal == SIGINT || signal == SIGTERM) break;
    if (signal < 0 && idle) return_freed_memory();
    if (signal == SIGHUP) reload = true;
    // While the models are loaded, reload() would block, and a stop signal would have no effect.
    if (!announced || service.loading() || !std::exchange(reload, false)) continue;
    service.reload([quiet = globals.quiet](const std::string& error) {
      if (!error.empty())
        print_message("regard: the models could not be reloaded: {}\n", error);
      else if (!quiet)
        print_message("reloaded\n");
    });
  }
  // From here on, a second signal ends the program immediately.
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  if (!globals.quiet) print_message("stopping\n");
  if (!service.stop() && !globals.quiet)
    print_message("regard: some requests were not completed within the --drain time\n");
}

void add_limits(CLI::App& verb, ServeRequest& request) {
  add_checked_option(
      verb, "--max-concurrent", request.concurrent,
      "Maximum number of requests in progress per client. It is also the maximum number of a client's\n"
      "sequences in one decoding batch. The limits for all clients together are one third higher",
      CLI::Range(1, 4096));
  add_checked_option(verb, "--queue", request.queue,
                     "Maximum number of waiting requests; further ones get HTTP status 429",
                     CLI::Range(0, 65536));
  add_checked_option(verb, "--connections", request.connections, "Maximum number of open connections",
                     CLI::Range(1, 65536));
  add_checked_option(verb, "--max-tokens", request.options.most_new_tokens,
                     "Maximum number of generated tokens of each result of a request", positive());
  add_checked_option(verb, "--cache-tokens", request.cache_tokens,
                     "Size of each model's key/value cache in tokens", positive());
  add_checked_option(verb, "--timeout", request.timeout,
                     "Maximum time of a request, including waiting, in seconds", CLI::Range(1, 86400));
  add_checked_option(verb, "--drain", request.drain,
                     "Maximum time to complete the requests in progress when the server stops, in seconds",
                     CLI::Range(0, 86400));
}

}  // namespace

void add_serve(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<ServeRequest>(
      app, "serve",
      "Serve models over HTTP, with the protocols of OpenAI, LibreTranslate, "
      "text-embeddings-inference and regard",
      "Protocols: OpenAI (/v1/…), LibreTranslate (/translate …), text-embeddings-inference (/embed …) and\n"
      "regard's own (/generate, /classify, /answer, /fill, /tag, /attend, /study …). /openapi.json "
      "describes\n"
      "all of them. A request names its model; it may omit the name if only one model can process it.\n"
      "On SIGTERM or SIGINT the server completes the requests in progress, for at most --drain seconds, and\n"
      "stops; a second signal stops it at once. SIGHUP reloads the model folders.");
  serve::ServeOptions& options = request->options;
  verb->add_option("MODEL", request->folders,
                   "Run folders or Hugging Face folders; the name of a model is that of its folder")
      ->check(not_empty());
  verb->add_option("--name", request->names, "Serve a folder under another name: NAME=FOLDER; repeatable");
  verb->add_option("--host", options.host,
                   "IP address to listen on, such as 0.0.0.0 for all addresses of the machine")
      ->capture_default_str();
  add_checked_option(*verb, "--port", request->port, "Port to listen on; 0 selects any free port",
                     CLI::Range(0, 65535));
  add_limits(*verb, *request);
  verb->add_option("--api-key-file", request->api_keys,
                   "File of API keys, one per line; required unless --host is a loopback address")
      ->check(not_empty());
  verb->add_option(
      "--allow-host", options.allowed_hosts,
      "Host name that requests may have in the Host field, in addition to IP addresses and localhost;\n"
      "repeatable");
  verb->add_option(
      "--cors", options.origins,
      "Origin whose web pages may use the server, such as https://example.org, or * for all; repeatable.\n"
      "Default: none");
  verb->add_option(
          "--access-log", options.access_log,
          "Write one JSON object per request, without its texts, to this file; - is standard error, ''\n"
          "disables the log")
      ->capture_default_str();
  verb->add_option(
      "--detect", request->detect,
      "Folder of a classifier whose labels are languages, for /detect and the source language \"auto\"");
  verb->add_option(
      "--languages", request->languages,
      "Languages of a translation model: NAME=SOURCES:TARGETS, codes separated by commas, such as\n"
      "demo=en:hi; repeatable. Default: determined from the model's folder");
  verb->add_option("--chat-template", options.chat_template,
                   "Chat template: a name in the folder, or chatml, gemma, llama2, llama3, mistral, phi or\n"
                   "zephyr. Default: the template in the folder")
      ->check(not_empty());
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, serve_folders, {.json = false});
}

}  // namespace regard::cli

#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace regard::serve {
namespace {

constexpr std::array kBounds = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                0.5,   1.0,   2.0,   5.0,  10.0, 30.0, 60.0};

// Return a label value, escaped as the text format of Prometheus requires.
std::string label(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
      continue;
    }
    if (letter == '\\' || letter == '"') text += '\\';
    text += letter;
  }
  return text;
}

std::string heading(const char* name, const char* type, const char* help) {
  return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

}  // namespace

DurationHistogram::DurationHistogram() : counts_(kBounds.size() + 1) {}

void DurationHistogram::add(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
  const std::lock_guard lock(guard_);
  ++counts_[static_cast<std::size_t>(bound)];
  sum_ += seconds;
}

std::string DurationHistogram::lines(const std::string& name, const std::string& labels) const {
  const std::lock_guard lock(guard_);
  std::string text;
  std::uint64_t total = 0;
  const std::string comma = labels.empty() ? "" : ",";
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    const std::string bound = i < kBounds.size() ? fmt::format("{}", kBounds[i]) : "+Inf";
    text += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  const std::string braces = labels.empty() ? "" : "{" + labels + "}";
  text += fmt::format("{}_sum{} {}\n{}_count{} {}\n", name, braces, sum_, name, braces, total);
  return text;
}

void Metrics::count_request(const std::string& route, int status, double seconds) {
  DurationHistogram* duration = nullptr;
  {
    const std::lock_guard lock(guard_);
    ++requests_[{route, status}];
    duration = &durations_[route];
  }
  duration->add(seconds);
}

ModelMetrics& Metrics::model(const std::string& name) {
  const std::lock_guard lock(guard_);
  return models_[name];
}

std::string Metrics::text(std::size_t connections, const std::map<std::string, std::int64_t>& waiting,
                          const std::map<std::string, std::int64_t>& running) const {
  const std::lock_guard lock(guard_);
  std::string text = heading("regard_requests_total", "counter", "Requests by route and status.");
  for (const auto& [key, count] : requests_)
    text += fmt::format("regard_requests_total{{route=\"{}\",status=\"{}\"}} {}\n", label(key.first),
                        key.second, count);
  text += heading("regard_request_seconds", "histogram", "Time from the request to the end of its response.");
  for (const auto& [route, duration] : durations_)
    text += duration.lines("regard_request_seconds", "route=\"" + label(route) + "\"");
  text += heading("regard_connections", "gauge", "Open connections.");
  text += fmt::format("regard_connections {}\n", connections);
  text += heading("regard_requests_in_progress", "gauge", "Requests in progress or waiting.");
  text += fmt::format("regard_requests_in_progress {}\n", in_progress.load());
  text += heading("regard_requests_refused_total", "counter", "Requests refused because the queue was full.");
  text += fmt::format("regard_requests_refused_total {}\n", refused.load());
  const auto by_model = [&](const char* name, const char* type, const char* help, const auto& value) {
    text += heading(name, type, help);
    for (const auto& [model, metrics] : models_)
      text += fmt::format("{}{{model=\"{}\"}} {}\n", name, label(model), value(model, metrics));
  };
  const auto found = [](const auto& map, const std::string& key) {
    const auto at = map.find(key);
    return at == map.end() ? std::int64_t{0} : at->second;
  };
  by_model("regard_queue_length", "gauge", "Requests waiting for the model.",
           [&](const auto& name, const auto&) { return found(waiting, name); });
  by_model("regard_sequences_running", "gauge", "Sequences that the last step decoded.",
           [&](const auto& name, const auto&) { return found(running, name); });
  by_model("regard_prompt_tokens_total", "counter", "Tokens of prompts, sources and texts.",
           [](const auto&, const ModelMetrics& of) { return of.prompt_tokens.load(); });
  by_model("regard_completion_tokens_total", "counter", "Generated tokens.",
           [](const auto&, const ModelMetrics& of) { return of.completion_tokens.load(); });
  by_model("regard_steps_total", "counter", "Passes over a batch.",
           [](const auto&, const ModelMetrics& of) { return of.batches.load(); });
  by_model("regard_step_sequences_total", "counter",
           "Sequences in the batches that regard_steps_total counts.",
           [](const auto&, const ModelMetrics& of) { return of.batched.load(); });
  text +=
      heading("regard_time_to_first_token_seconds", "histogram", "Time from the request to its first token.");
  for (const auto& [name, of] : models_)
    text += of.first_token.lines("regard_time_to_first_token_seconds", "model=\"" + label(name) + "\"");
  text += heading("regard_time_per_token_seconds", "histogram", "Mean time per further token of a request.");
  for (const auto& [name, of] : models_)
    text += of.each_token.lines("regard_time_per_token_seconds", "model=\"" + label(name) + "\"");
  return text;
}

}  // namespace regard::serve

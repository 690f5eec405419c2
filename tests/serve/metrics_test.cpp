// The text of the metrics in the format of Prometheus.
#include "serve/metrics.h"

#include <gtest/gtest.h>

#include <sstream>

namespace regard::serve {
namespace {

// Return the lines of `text` that are not comments and begin with `start`.
std::string lines_with(const std::string& text, const std::string& start) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(start)) found += line + "\n";
  return found;
}

TEST(Metrics, HistogramsAreCumulative) {
  DurationHistogram histogram;
  for (const double seconds : {0.0005, 0.001, 0.0011, 1.5, 60.0, 61.0, 1000.0}) histogram.add(seconds);
  EXPECT_EQ(histogram.lines("t", ""),
            "t_bucket{le=\"0.001\"} 2\n"
            "t_bucket{le=\"0.002\"} 3\n"
            "t_bucket{le=\"0.005\"} 3\n"
            "t_bucket{le=\"0.01\"} 3\n"
            "t_bucket{le=\"0.02\"} 3\n"
            "t_bucket{le=\"0.05\"} 3\n"
            "t_bucket{le=\"0.1\"} 3\n"
            "t_bucket{le=\"0.2\"} 3\n"
            "t_bucket{le=\"0.5\"} 3\n"
            "t_bucket{le=\"1\"} 3\n"
            "t_bucket{le=\"2\"} 4\n"
            "t_bucket{le=\"5\"} 4\n"
            "t_bucket{le=\"10\"} 4\n"
            "t_bucket{le=\"30\"} 4\n"
            "t_bucket{le=\"60\"} 5\n"
            "t_bucket{le=\"+Inf\"} 7\n"
            "t_sum 1122.5026\n"
            "t_count 7\n");
  const std::string named = DurationHistogram().lines("t", "model=\"m\"");
  EXPECT_TRUE(named.starts_with("t_bucket{model=\"m\",le=\"0.001\"} 0\n")) << named;
  EXPECT_TRUE(named.ends_with("t_sum{model=\"m\"} 0\nt_count{model=\"m\"} 0\n")) << named;
}

TEST(Metrics, TextHasEveryValue) {
  Metrics metrics;
  metrics.count_request("/a", 200, 0.5), metrics.count_request("/a", 200, 2.0);
  metrics.count_request("/a", 404, 0.25), metrics.count_request("", 499, 0.0);
  metrics.in_progress = 3, metrics.refused = 4;
  ModelMetrics& one = metrics.model("one");
  one.prompt_tokens = 10, one.completion_tokens = 11, one.batches = 12, one.batched = 13;
  one.first_token.add(0.25), one.each_token.add(0.5), one.each_token.add(0.25);
  metrics.model("o\\d\"d\nname");
  const std::string text = metrics.text(7, {{"one", 5}}, {{"one", 6}, {"o\\d\"d\nname", 1}});
  const std::string odd = "{model=\"o\\\\d\\\"d\\nname\"} ", plain = "{model=\"one\"} ";
  EXPECT_EQ(lines_with(text, "regard_requests_total"),
            "regard_requests_total{route=\"\",status=\"499\"} 1\n"
            "regard_requests_total{route=\"/a\",status=\"200\"} 2\n"
            "regard_requests_total{route=\"/a\",status=\"404\"} 1\n");
  EXPECT_EQ(lines_with(text, "regard_request_seconds_sum"),
            "regard_request_seconds_sum{route=\"\"} 0\nregard_request_seconds_sum{route=\"/a\"} 2.75\n");
  EXPECT_EQ(lines_with(text, "regard_connections"), "regard_connections 7\n");
  EXPECT_EQ(lines_with(text, "regard_requests_in_progress"), "regard_requests_in_progress 3\n");
  EXPECT_EQ(lines_with(text, "regard_requests_refused_total"), "regard_requests_refused_total 4\n");
  const auto expect = [&](const std::string& name, int of_odd, int of_one) {
    EXPECT_EQ(lines_with(text, name),
              name + odd + std::to_string(of_odd) + "\n" + name + plain + std::to_string(of_one) + "\n");
  };
  expect("regard_queue_length", 0, 5), expect("regard_sequences_running", 1, 6);
  expect("regard_prompt_tokens_total", 0, 10), expect("regard_completion_tokens_total", 0, 11);
  expect("regard_steps_total", 0, 12), expect("regard_step_sequences_total", 0, 13);
  EXPECT_EQ(lines_with(text, "regard_time_to_first_token_seconds_sum{model=\"one\"}"),
            "regard_time_to_first_token_seconds_sum{model=\"one\"} 0.25\n");
  EXPECT_EQ(lines_with(text, "regard_time_per_token_seconds_sum{model=\"one\"}"),
            "regard_time_per_token_seconds_sum{model=\"one\"} 0.75\n");
  EXPECT_EQ(lines_with(text, "regard_time_per_token_seconds_count{model=\"one\"}"),
            "regard_time_per_token_seconds_count{model=\"one\"} 2\n");
  // Each metric has its help and its type once, before its values.
  for (const auto& [name, type] : {std::pair{"regard_requests_total", "counter"},
                                   {"regard_request_seconds", "histogram"},
                                   {"regard_connections", "gauge"},
                                   {"regard_time_per_token_seconds", "histogram"}}) {
    EXPECT_EQ(lines_with(text, std::string("# TYPE ") + name + " "),
              std::string("# TYPE ") + name + " " + type + "\n");
    EXPECT_LT(text.find(std::string("# HELP ") + name + " "), text.find(std::string("\n") + name));
  }
}

}  // namespace
}  // namespace regard::serve

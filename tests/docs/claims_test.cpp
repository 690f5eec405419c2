// docs/why-attention.md shows the numbers of recipes/claims/results.json, which `make claims` writes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.h"
#include "docs/document_case.h"
#include "support/shared_data.h"

namespace regard::testing {
namespace {

// "55 (50 to 61)": mean, least and largest percent of the seeds.
std::string percent(const Json& accuracies) {
  const auto values = accuracies.get<std::vector<double>>();
  double sum = 0;
  for (const double value : values) sum += value;
  const auto whole = [](double share) { return std::lround(100 * share); };
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  return fmt::format("{} ({} to {})", whole(sum / static_cast<double>(values.size())), whole(*least),
                     whole(*largest));
}

TEST(Claims, ThePageShowsTheResults) {
  const Json results = read_json((source_folder() / "recipes/claims/results.json").string());
  const std::string page = read_page("docs/why-attention.md");
  const auto shows = [&](const std::string& text) {
    EXPECT_NE(page.find(text), std::string::npos) << "the page lacks: " << text;
  };
  shows(results["machine"].get<std::string>());
  std::map<std::string, std::string> rows;
  for (const Json& entry : results["first_word"]) {
    ASSERT_EQ(entry["accuracy"].size(), entry["seeds"].size());
    std::string& row = rows[entry["family"].get<std::string>()];
    row += (row.empty() ? "" : " | ") + percent(entry["accuracy"]);
  }
  ASSERT_EQ(rows.size(), 6u);
  for (const auto& [family, row] : rows) shows(fmt::format("| `{}` | {} |", family, row));
  ASSERT_GE(results["bank"].size(), 4u);
  for (const Json& layer : results["bank"])
    shows(
        fmt::format("| {} | {:.2f} |", layer["layer"].get<std::string>(), layer["silhouette"].get<double>()));
}

}  // namespace
}  // namespace regard::testing

// docs/why-attention.md shows the numbers of recipes/claims/results.json, which `make claims` writes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <utility>

#include "base/json.h"
#include "docs/document_case.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

// Return the mean, minimum and maximum accuracy over the seeds in per cent, such as "55 (50 to 61)".
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

Json claims() {
  return read_json((source_folder() / "recipes/claims/results.json").string());
}

void expect_shown(const std::string& text) {
  static const std::string kPage = read_page("docs/why-attention.md");
  EXPECT_NE(kPage.find(text), std::string::npos) << "the page lacks: " << text;
}

// Return the median of an odd number of values.
double median(std::vector<double> values) {
  EXPECT_EQ(values.size() % 2, 1U);
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

TEST(Claims, ThePageShowsOrderAndIdioms) {
  const Json results = claims();
  std::map<std::string, Json> order;
  for (const Json& row : results["order"]) order[row["positions"].get<std::string>()].push_back(row["right"]);
  expect_shown(fmt::format("| with sinusoidal positions | {} |", percent(order.at("sinusoidal"))));
  expect_shown(fmt::format("| without positions | {} |", percent(order.at("none"))));
  std::map<std::string, std::map<int, Json>> idioms;
  for (const Json& row : results["idioms"])
    idioms[row["projections"].get<std::string>()][row["words_between"].get<int>()].push_back(row["accuracy"]);
  ASSERT_EQ(idioms.size(), 3U);
  for (const auto& [projections, by_distance] : idioms) {
    std::string row = "| " + projections + " |";
    for (const auto& [distance, accuracies] : by_distance) row += " " + percent(accuracies) + " |";
    expect_shown(row);
  }
}

TEST(Claims, ThePageShowsCopyingAndClipping) {
  const Json results = claims();
  std::map<std::string, std::string> copies;
  for (const Json& row : results.at("copy"))
    copies[row["network"].get<std::string>()] += " " + percent(row["right"]) + " |";
  ASSERT_EQ(copies.size(), 4U);
  expect_shown("| Transformer |" + copies.at("transformer"));
  expect_shown("| recurrent, with attention |" + copies.at("attention"));
  expect_shown("| recurrent (GRU), without attention |" + copies.at("gru"));
  expect_shown("| recurrent (LSTM), without attention |" + copies.at("lstm"));
  ASSERT_EQ(results.at("clipping").size(), 2U);
  expect_shown(fmt::format("| without clipping | {} |", percent(results["clipping"][0]["accuracy"])));
  expect_shown(fmt::format("| clipped at norm 1 | {} |", percent(results["clipping"][1]["accuracy"])));
}

TEST(Claims, ThePageShowsGradients) {
  std::map<std::pair<std::string, double>, std::map<int, std::vector<double>>> norms;
  const Json results = claims();
  for (const Json& row : results["gradients"])
    for (const auto& [distance, norm] : row["norms"].items())
      norms[{row["network"].get<std::string>(), row["setting"].get<double>()}][std::stoi(distance)].push_back(
          norm.get<double>());
  ASSERT_EQ(norms.size(), 6U);
  for (const auto& [network, by_distance] : norms) {
    std::string row;
    for (const auto& [distance, values] : by_distance) row += fmt::format(" {:.2g} |", median(values));
    expect_shown(row);
  }
}

TEST(Claims, ThePageShowsCosts) {
  const Json results = claims();
  for (const char* list : {"inference_cost", "training_cost", "parameters", "fully_connected_error"})
    ASSERT_FALSE(results.at(list).empty()) << list;
  for (const Json& row : results["inference_cost"])
    expect_shown(fmt::format("| {} | {} | {} | {:.2g} | {:.2g} |", row["words"].get<int>(),
                             row["attention_multiplications"].get<std::int64_t>(),
                             row["recurrent_multiplications"].get<std::int64_t>(),
                             row["attention_ms"].get<double>(), row["recurrent_ms"].get<double>()));
  std::map<std::string, std::string> seconds;
  for (const Json& row : results["training_cost"])
    seconds[row["family"].get<std::string>()] += fmt::format(" {:.2f} |", row["seconds"].get<double>());
  for (const Json& row : results["parameters"]) {
    const auto family = row["family"].get<std::string>();
    EXPECT_EQ(row["20"], row["240"]) << family << ": the number of weights depends on the length";
    expect_shown(fmt::format("| `{}` | {} |{}", family, row["20"].get<int>(), seconds.at(family)));
  }
  for (const Json& error : results["fully_connected_error"]) expect_shown(error.get<std::string>());
}

TEST(Claims, ThePageShowsTranslationsByLength) {
  const Json results = read_json((source_folder() / "recipes/claims/results-long.json").string());
  expect_shown(results.at("machine").get<std::string>());
  std::map<std::string, std::string> scores;
  std::string words = "|";
  for (const Json& row : results.at("translation_by_length")) {
    const auto network = row["network"].get<std::string>();
    scores[network] += fmt::format(" {:.1f} |", row["bleu"].get<double>());
    if (network == "none") words += fmt::format(" {:.0f} words |", row["words"].get<double>());
  }
  expect_shown(words);
  ASSERT_EQ(scores.size(), 3U);
  for (const Json& row : results.at("training")) {
    const std::string& row_scores = scores.at(row["network"].get<std::string>());
    expect_shown(fmt::format("| {} | {:.0f} s |{}", row["weights"].get<int>(), row["seconds"].get<double>(),
                             row_scores));
  }
}

// Return `rows` texts of three random words from a vocabulary of eight. The label of a text is its first
// word.
std::string first_words(int rows, unsigned seed) {
  std::mt19937 random(seed);
  const auto word = [&] { return fmt::format("w{}", random() % 8); };
  std::string table;
  for (int row = 0; row < rows; ++row) {
    const std::string first = word();
    table += fmt::format("{} {} {}\t{}\n", first, word(), word(), first);
  }
  return table;
}

// Train first-word.toml and return the last accuracy in the log.
double first_word_accuracy(const std::filesystem::path& folder, const std::string& family) {
  const std::string set = "--set";
  const auto file = [&](const char* name) { return fmt::format("[\"{}\"]", (folder / name).string()); };
  const ProgramResult result =
      run_program({"train", (source_folder() / "recipes/claims/first-word.toml").string(), "-q", "-t", "1",
                   set, "seed=1", set, "model.family=" + family, set, "data.train=" + file("train.tsv"), set,
                   "data.valid=" + file("valid.tsv"), set, "output.folder=" + (folder / family).string()},
                  folder);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  double accuracy = -1;
  for (const std::string& line : lines_of(file_content(folder / family / "log.jsonl"))) {
    const Json entry = Json::parse(line);
    if (entry.contains("validation")) accuracy = entry["validation"]["accuracy"].get<double>();
  }
  return accuracy;
}

// Train two of the six networks of the page's first table again. Their accuracies agree with its first
// column.
TEST(Claims, AMeanOfWordsLosesTheirOrder) {
  const TemporaryFolder folder;
  write_file(folder.path(), "train.tsv", first_words(4000, 1));
  write_file(folder.path(), "valid.tsv", first_words(400, 2));
  EXPECT_GT(first_word_accuracy(folder.path(), "cnn"), 0.98);
  const double mean = first_word_accuracy(folder.path(), "mlp");
  EXPECT_GT(mean, 0.3);
  EXPECT_LT(mean, 0.6);
}

}  // namespace
}  // namespace regard::testing

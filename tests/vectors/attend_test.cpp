// Attention over word vectors compared with softmax(X Xᵀ) X in double.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "vectors/attend.h"

namespace regard::vectors {
namespace {

// The features of these vectors are finance, water and growth.
const WordVectors& small() {
  static const WordVectors vectors(
      std::vector<std::string>{"money", "bank", "river", "grows", "loan", "shore"}, 3,
      std::vector<float>{2, 0, 0, 1, 1, 0, 0, 3, 0, 0.2f, 0.1f, 1, 1, 0.1f, 0, 0.1f, 1, 0.1f});
  return vectors;
}

std::vector<std::vector<double>> rows_of(const std::vector<std::string>& words, bool unit) {
  std::vector<std::vector<double>> rows;
  for (const std::string& word : words) {
    const auto values = small().require(word);
    double sum = 0;
    for (const float value : values) sum += static_cast<double>(value) * value;
    std::vector<double> row;
    for (const float value : values)
      row.push_back(unit ? value / std::sqrt(sum) : static_cast<double>(value));
    rows.push_back(row);
  }
  return rows;
}

TEST(VectorsAttend, IsTheDefinition) {
  ThreadPool pool(1);
  for (const bool unit : {true, false}) {
    AttendOptions options;
    options.unit = unit;
    options.scale = 1.5f;
    const Attended attended = attend(small(), "Money Bank grows", options, pool);
    const auto x = rows_of({"money", "bank", "grows"}, unit);
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<double> weights(3), out(3, 0.0);
      double total = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        double score = 0;
        for (std::size_t f = 0; f < 3; ++f) score += x[i][f] * x[j][f];
        total += weights[j] = std::exp(1.5 * score);
      }
      double same = 0, length = 0, before = 0;
      for (std::size_t f = 0; f < 3; ++f) {
        for (std::size_t j = 0; j < 3; ++j) out[f] += weights[j] / total * x[j][f];
        same += out[f] * x[i][f];
        length += out[f] * out[f];
        before += x[i][f] * x[i][f];
        EXPECT_NEAR(attended.vectors.row(static_cast<std::int64_t>(i))[f], out[f], 1e-6);
        EXPECT_NEAR(attended.weights.row(static_cast<std::int64_t>(i))[f], weights[f] / total, 1e-6);
      }
      EXPECT_NEAR(attended.words[i].stayed, same / std::sqrt(length * before), 1e-6);
    }
    EXPECT_EQ(attended.words[1].found, "bank");
  }
}

TEST(VectorsAttend, CompanyMovesAWordAndItsNeighbours) {
  ThreadPool pool(2);
  AttendOptions options;
  options.neighbours = 1;
  const auto money = attend(small(), "money bank", options, pool).words[1];
  const auto river = attend(small(), "river bank", options, pool).words[1];
  EXPECT_GT(money.after[0], money.before[0]);
  EXPECT_GT(river.after[0], river.before[0]);
  EXPECT_EQ(small().word(money.neighbours_after[0].index), "loan");
  EXPECT_EQ(small().word(river.neighbours_after[0].index), "shore");
  const auto alone = attend(small(), "bank", options, pool).words[0];
  EXPECT_NEAR(alone.stayed, 1.0, 1e-6);
  EXPECT_EQ(alone.neighbours_before[0].index, alone.neighbours_after[0].index);
}

TEST(VectorsAttend, UnknownWordsAndNoWords) {
  ThreadPool pool(1);
  EXPECT_REGARD_ERROR(attend(small(), "money lender", {}, pool), ErrorKind::usage, "'lender'");
  EXPECT_REGARD_ERROR(attend(small(), " \t", {}, pool), ErrorKind::invalid_input, "no words");
}

TEST(VectorsAttend, ScoresBeyondFloatAreRefused) {
  const WordVectors large(std::vector<std::string>{"a", "b"}, 2, std::vector<float>{1e20f, 1e20f, 3e20f, 0});
  ThreadPool pool(1);
  AttendOptions options;
  EXPECT_NEAR(attend(large, "a b", options, pool).words[0].before[1], std::sqrt(0.5), 1e-6);
  options.unit = false;
  EXPECT_REGARD_ERROR(attend(large, "a b", options, pool), ErrorKind::numeric, "not finite");
}

TEST(VectorsAttend, TheProgramGivesNumbersAndAPicture) {
  testing::TemporaryFolder folder;
  testing::write_file(folder.path(), "v.txt", "3 2\nmoney 1 0\nbank 1 1\nriver 0 1\n");
  const auto json = testing::run_program(
      {"vectors", "attend", "v.txt", "Money Bank", "--json", "--svg", "a.svg"}, folder.path());
  ASSERT_EQ(json.exit_code, 0) << json.err;
  const Json words = Json::parse(json.out).at("words");
  ASSERT_EQ(words.size(), 2u);
  const double up = std::exp(1.0), side = std::exp(std::sqrt(0.5));
  EXPECT_NEAR(words[0].at("weights")[0].get<double>(), up / (up + side), 1e-6);
  EXPECT_EQ(words[0].at("neighbours_before")[0].at("word"), "bank");
  const std::string svg = testing::file_content(folder / "a.svg");
  EXPECT_NE(svg.find("<svg"), std::string::npos);
  EXPECT_NE(svg.find("Attention without parameters"), std::string::npos);
  const auto text =
      testing::run_program({"vectors", "attend", "v.txt", "Money Bank", "--word", "Bank"}, folder.path());
  EXPECT_NE(text.out.find("Bank: cosine of the vectors before and after"), std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("Money: cosine"), std::string::npos);
}

}  // namespace
}  // namespace regard::vectors

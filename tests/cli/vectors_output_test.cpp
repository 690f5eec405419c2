// The whole output of `regard vectors`, as text and as JSON.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"

namespace regard::testing {
namespace {

class VectorsOutput : public ::testing::Test {
 protected:
  // The last word is not UTF-8; the second vector of "bank" is not used.
  VectorsOutput() {
    write_file(folder_.path(), "v.txt",
               "money 1 0\nbank 0.6 0.8\nriver 0 2\nbank 5 5\nloan 0.8 -0.6\nb\303 1 1\n");
  }
  std::string text(std::vector<std::string> arguments, int exit_code = 0) const {
    arguments.insert(arguments.begin(), "vectors");
    const ProgramResult result = run_program(arguments, folder_.path());
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return exit_code == 0 ? result.out : result.err;
  }
  std::vector<Json> json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    std::vector<Json> objects;
    for (const std::string& line : lines_of(text(arguments))) objects.push_back(parse_json(line, "stdout"));
    return objects;
  }
  // Compare the words, and the values of `key` to 6 digits.
  static void expect_list(const Json& list, const char* key,
                          const std::vector<std::pair<std::string, double>>& expected) {
    ASSERT_EQ(list.size(), expected.size()) << list;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(list[i].size(), 2u) << list;
      EXPECT_EQ(list[i]["word"], expected[i].first) << list;
      EXPECT_NEAR(list[i][key].get<double>(), expected[i].second, 1e-6) << list;
    }
  }
  static void expect_numbers(const Json& list, const std::vector<double>& expected) {
    ASSERT_EQ(list.size(), expected.size()) << list;
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(list[i].get<double>(), expected[i], 1e-6) << list;
  }
  TemporaryFolder folder_;
};

TEST_F(VectorsOutput, OfInfo) {
  EXPECT_EQ(text({"info", "v.txt"}),
            "v.txt: glove\n"
            "words           5\n"
            "size            2\n"
            "repeated words  1 (the first occurrence is used)\n"
            "not UTF-8       1\n"
            "norms           1.0000 to 2.0000, mean 1.2828\n"
            "first words     money bank river loan b\uFFFD\n");
  EXPECT_EQ(lines_of(text({"info", "v.txt", "-n", "2"})).back(), "first words     money bank");
  Json one = json({"info", "v.txt", "-n", "3"}).at(0);
  EXPECT_NEAR(one["mean_norm"].get<double>(), (5 + std::sqrt(2.0)) / 5, 1e-6);
  EXPECT_NEAR(one["smallest_norm"].get<double>(), 1, 1e-6);
  EXPECT_EQ(one["largest_norm"], 2.0);
  for (const char* key : {"mean_norm", "smallest_norm", "largest_norm"}) one.erase(key);
  EXPECT_EQ(one, Json({{"file", "v.txt"},
                       {"format", "glove"},
                       {"words", 5},
                       {"size", 2},
                       {"repeated_words", 1},
                       {"words_not_utf8", 1},
                       {"subwords", false},
                       {"first_words", {"money", "bank", "river"}}}));
  write_file(folder_.path(), "plain.txt", "2 1\na 2\nb 1\n");
  EXPECT_EQ(text({"info", "plain.txt"}),
            "plain.txt: word2vec\n"
            "words           2\n"
            "size            1\n"
            "norms           1.0000 to 2.0000, mean 1.5000\n"
            "first words     a b\n");
}

TEST_F(VectorsOutput, OfSimilarAndAnalogy) {
  const double half = std::sqrt(0.5);
  EXPECT_EQ(text({"similar", "v.txt", "money", "river", "-n", "2"}),
            "money\n  loan  0.8000\n  b\uFFFD    0.7071\nriver\n  bank  0.8000\n  b\uFFFD    0.7071\n");
  EXPECT_EQ(text({"similar", "v.txt", "money", "--restrict", "3"}),
            "money\n  bank   0.6000\n  river  0.0000\n");
  const std::vector<Json> near = json({"similar", "v.txt", "money", "river", "-n", "2"});
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(near[0]["word"], "money");
  expect_list(near[0]["neighbours"], "score", {{"loan", 0.8}, {"b\uFFFD", half}});
  EXPECT_EQ(near[1]["word"], "river");
  expect_list(near[1]["neighbours"], "score", {{"bank", 0.8}, {"b\uFFFD", half}});

  EXPECT_EQ(text({"analogy", "v.txt", "money", "bank", "river", "-n", "1"}),
            "money is to bank as river is to\n  b\uFFFD  0.5369\n");
  EXPECT_EQ(text({"analogy", "v.txt", "money", "bank", "river", "--method", "3cosmul"}),
            "money is to bank as river is to\n  b\uFFFD    0.9950\n  loan  0.1111\n");
  const std::vector<Json> answers =
      json({"analogy", "v.txt", "money", "bank", "river", "-n", "1", "--method", "3cosmul"});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0]["a"], "money");
  EXPECT_EQ(answers[0]["b"], "bank");
  EXPECT_EQ(answers[0]["c"], "river");
  EXPECT_EQ(answers[0]["method"], "3cosmul");
  // The cosines are mapped to [0, 1]: (1 + cos) / 2.
  const double to_bank = (1 + 1.4 * half) / 2, to_river = (1 + half) / 2, to_money = (1 + half) / 2;
  ASSERT_EQ(answers[0]["answers"].size(), 1u);
  EXPECT_NEAR(answers[0]["answers"][0]["score"].get<double>(), to_bank * to_river / to_money, 1e-5);
}

TEST_F(VectorsOutput, OfEvaluate) {
  write_file(folder_.path(), "pairs", "money bank 9\nmoney river 1\nbank river 6\nmoney xx 3\n");
  EXPECT_EQ(text({"evaluate", "v.txt", "pairs"}),
            "Spearman 0.5000, Pearson 0.8122 over 3 pairs; 1 pair with out-of-vocabulary words skipped "
            "(25.0 %)\n");
  Json one = json({"evaluate", "v.txt", "pairs"}).at(0);
  EXPECT_NEAR(one["spearman"].get<double>(), 0.5, 1e-9);
  EXPECT_NEAR(one["pearson"].get<double>(), 0.81224, 1e-5);
  one.erase("spearman"), one.erase("pearson");
  EXPECT_EQ(one, Json({{"data", "pairs"}, {"pairs", 3}, {"unknown", 1}}));
  // The correlation of one pair is not a number.
  write_file(folder_.path(), "one", "money bank 9\n");
  EXPECT_EQ(
      json({"evaluate", "v.txt", "one"}).at(0),
      Json({{"data", "one"}, {"spearman", nullptr}, {"pearson", nullptr}, {"pairs", 1}, {"unknown", 0}}));

  write_file(folder_.path(), "analogies",
             ": first\nmoney bank loan river\nmoney bank bank river\n"
             ": second\nmoney xx bank river\nriver bank bank money\n: none\n");
  EXPECT_EQ(text({"evaluate", "v.txt", "analogies"}),
            "first                          50.00 %      1 of     2; 0 skipped\n"
            "second                          0.00 %      0 of     1; 1 skipped\n"
            "none                            0.00 %      0 of     0; 0 skipped\n"
            "total                          33.33 %      1 of     3; 1 skipped\n");
  const auto section = [](const char* name, int correct, int asked, int unknown) {
    return Json{{"section", name}, {"correct", correct}, {"asked", asked}, {"unknown", unknown}};
  };
  EXPECT_EQ(json({"evaluate", "v.txt", "analogies", "--method", "3cosmul"}).at(0),
            Json({{"data", "analogies"},
                  {"method", "3cosmul"},
                  {"total", section("total", 2, 3, 1)},
                  {"sections",
                   {section("first", 1, 2, 0), section("second", 1, 1, 1), section("none", 0, 0, 0)}}}));
}

TEST_F(VectorsOutput, OfAttend) {
  EXPECT_EQ(text({"attend", "v.txt", "money River", "-n", "2"}),
            "Attention without parameters; percent of each row\n"
            "      money River\n"
            "money    73    27\n"
            "River    27    73\n"
            "\n"
            "money: cosine of the vectors before and after 0.939\n"
            "  with River: 0.000 before, 0.345 after\n"
            "  nearest before: loan 0.800, b\uFFFD 0.707\n"
            "  nearest after:  b\uFFFD 0.908, bank 0.839\n"
            "\n"
            "River: cosine of the vectors before and after 0.939\n"
            "  with money: 0.000 before, 0.345 after\n"
            "  nearest before: bank 0.800, b\uFFFD 0.707\n"
            "  nearest after:  bank 0.958, b\uFFFD 0.908\n");
  EXPECT_EQ(text({"attend", "v.txt", "money River", "-n", "0", "--as-they-are", "--word", "River"}),
            "Attention without parameters; percent of each row\n"
            "      money River\n"
            "money    73    27\n"
            "River     2    98\n"
            "\n"
            "River: cosine of the vectors before and after 1.000\n"
            "  with money: 0.000 before, 0.009 after\n");
  const Json one =
      json({"attend", "v.txt", "money River", "-n", "1", "--restrict", "2", "--scale", "2"}).at(0);
  EXPECT_EQ(one["vectors"], "v.txt");
  EXPECT_EQ(one["text"], "money River");
  EXPECT_EQ(one["unit"], true);
  EXPECT_EQ(one["scale"], 2.0);
  ASSERT_EQ(one["words"].size(), 2u);
  const Json& river = one["words"][1];
  const double own = 1 / (1 + std::exp(-2.0)), other = 1 - own, length = std::hypot(own, other);
  EXPECT_EQ(river["word"], "River");
  EXPECT_EQ(river["found"], "river");
  expect_numbers(river["weights"], {other, own});
  expect_numbers(river["vector"], {other, own});
  EXPECT_NEAR(river["cosine_before_after"].get<double>(), own / length, 1e-6);
  expect_numbers(river["cosines_before"], {0, 1});
  expect_numbers(river["cosines_after"], {other / length, own / length});
  expect_list(river["neighbours_before"], "cosine", {{"bank", 0.8}});
  expect_list(river["neighbours_after"], "cosine", {{"bank", (0.6 * other + 0.8 * own) / length}});
  EXPECT_EQ(one["words"][0]["word"], "money");
  expect_numbers(one["words"][0]["weights"], {own, other});
}

TEST_F(VectorsOutput, AnImageOfAttendReplacesTheText) {
  EXPECT_EQ(text({"attend", "v.txt", "money River", "--svg", "a.svg"}), "");
  const std::string svg = file_content(folder_ / "a.svg");
  for (const char* part :
       {">Attention without parameters<", ">Attention: money River<", ">money → money: 0.73",
        ">money → River: 0.26", ">River → money: 0.26", ">River → River: 0.73"})
    EXPECT_NE(svg.find(part), std::string::npos) << part << "\n" << svg;
}

TEST_F(VectorsOutput, TrainingChecksItsOptionsFirst) {
  write_file(folder_.path(), "text", "a b a b\n");
  EXPECT_NE(text({"train", "text", "-o", "none/v"}, 4).find("none: there is no such folder. Create it"),
            std::string::npos);
  EXPECT_NE(text({"train", "text", "-o", "v", "--subwords", "--min-n", "4", "--max-n", "3"}, 2)
                .find("--max-n is less than --min-n (expected at least 4, found 3)"),
            std::string::npos);
  text({"train", "text",        "-o", "v",         "--subwords", "--min-n",  "3", "--max-n", "3", "--size",
        "2",     "--min-count", "1",  "--buckets", "9",          "--epochs", "1", "-t",      "1", "-q"});
  const Json trained = json({"train", "text", "-o", "w", "--size", "3", "--min-count", "1", "-t", "1"}).at(0);
  EXPECT_EQ(trained["file"], "w");
  EXPECT_EQ(trained["words"], 2);
  EXPECT_EQ(trained["size"], 3);
  EXPECT_EQ(trained["tokens"], 4);
  EXPECT_GE(trained["seconds"].get<double>(), trained["read_seconds"].get<double>());
  for (const char* key : {"read_seconds", "words_per_second", "words_per_cpu_second"})
    EXPECT_GT(trained[key].get<double>(), 0) << key;
}

}  // namespace
}  // namespace regard::testing

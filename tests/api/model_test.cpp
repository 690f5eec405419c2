// The public model: what it gives is what the program gives, and what goes wrong arrives as an error.
#include "regard/model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "regard/regard.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard {
namespace {

class PublicModel : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_text_model(folder_ / "translator", "translator");
    testing::write_text_model(folder_ / "gpt", "gpt");
  }
  std::string run(const std::vector<std::string>& arguments, const std::string& input = "") {
    const auto result = testing::run_program(arguments, folder_.path(), input);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(PublicModel, TranslatesAsTheProgramDoes) {
  const Model model = load(folder_ / "translator");
  EXPECT_TRUE(model.translates());
  EXPECT_FALSE(model.generates());
  EXPECT_GT(model.parameter_count(), 0);
  const std::vector<std::string> texts{"the quick fox", "", "over the lazy dog"};
  const std::vector<std::string> together = model.translate(texts, {.beam = 3, .max_new = 12});
  EXPECT_EQ(run({"translate", "translator", "--beam", "3", "--max-new", "12"},
                "the quick fox\n\nover the lazy dog\n"),
            together[0] + "\n\n" + together[2] + "\n");
  EXPECT_EQ(model.translate(texts[2], {.beam = 3, .max_new = 12}), together[2]);
  EXPECT_FALSE(together[0].empty());
}

TEST_F(PublicModel, GeneratesAsTheProgramDoes) {
  const Model model = load(folder_ / "gpt");
  const DecodingOptions options{.max_new = 15, .sample = true, .temperature = 1.5, .top_k = 5, .seed = 7};
  EXPECT_EQ(run({"generate", "gpt", "--max-new", "15", "--sample", "--temperature", "1.5", "--top-k", "5",
                 "--seed", "7"},
                "the quick\n"),
            model.generate("the quick", options) + "\n");
}

TEST_F(PublicModel, AttentionHoldsTheNumbersOfTheProgram) {
  const Model model = load(folder_ / "translator");
  const Attention attention = model.attend("the fox", {.target = "a dog"});
  const auto json = nlohmann::json::parse(attention.json());
  const auto printed =
      nlohmann::json::parse(run({"attend", "translator", "the fox", "--target", "a dog", "--json"}));
  EXPECT_EQ(json["attention"], printed["attention"]);
  ASSERT_GT(attention.layers(Kind::cross), 0);
  for (const auto& map : json["attention"]) {
    if (map["kind"] != "cross") continue;
    const Tensor weights = attention.weights(Kind::cross, map["layer"], map["head"]);
    ASSERT_EQ(weights.rows(), static_cast<std::int64_t>(attention.written_tokens().size()));
    ASSERT_EQ(weights.columns(), static_cast<std::int64_t>(attention.source_tokens().size()));
    for (std::int64_t r = 0; r < weights.rows(); ++r)
      for (std::int64_t c = 0; c < weights.columns(); ++c)
        ASSERT_EQ(weights.row(r)[c],
                  map["weights"][static_cast<std::size_t>(r)][static_cast<std::size_t>(c)].get<float>());
  }
  EXPECT_NE(attention.svg(Kind::cross, 0, 0).find("</svg>"), std::string::npos);
  EXPECT_NE(attention.html().find("</html>"), std::string::npos);
  EXPECT_REGARD_ERROR(attention.weights(Kind::cross, 99, 0), ErrorKind::usage, "cross.99.0");
}

TEST_F(PublicModel, AblationChangesWhatComesAfter) {
  const Model model = load(folder_ / "gpt");
  const Tensor whole = model.attend("the quick fox").weights(Kind::decoder, 1, 0);
  const Attention ablated = model.attend("the quick fox", {.ablated = {{Kind::decoder, 0, 0}}});
  EXPECT_FALSE(equal_bits(whole, ablated.weights(Kind::decoder, 1, 0)));
  EXPECT_TRUE(equal_bits(model.attend("the quick fox").weights(Kind::decoder, 1, 0), whole));
}

TEST_F(PublicModel, ErrorsArriveAsErrors) {
  EXPECT_REGARD_ERROR(load(folder_ / "nothing"), ErrorKind::io, "nothing");
  const Model gpt = load(folder_ / "gpt");
  EXPECT_REGARD_ERROR(gpt.translate("the fox"), ErrorKind::usage, "does not translate");
  EXPECT_REGARD_ERROR(gpt.generate("\xff"), ErrorKind::bad_file, "UTF-8");
  EXPECT_REGARD_ERROR(gpt.generate("the", {.sample = true, .temperature = -1}), ErrorKind::usage,
                      "temperature");
  EXPECT_REGARD_ERROR(gpt.attend("the", {.target = "fox"}), ErrorKind::usage, "target");
}

TEST_F(PublicModel, ErrorsCanBeValues) {
  const auto missing = attempt([&] { return load(folder_ / "nothing"); });
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind(), ErrorKind::io);
  auto model = attempt([&] { return load(folder_ / "translator"); });
  ASSERT_TRUE(model);
  EXPECT_EQ(model->parameter_count(), load(folder_ / "translator").parameter_count());
  EXPECT_TRUE(attempt([] {}));
  EXPECT_EQ(attempt([]() -> int { throw std::runtime_error("x"); }).error().kind(), ErrorKind::internal);
}

}  // namespace
}  // namespace regard

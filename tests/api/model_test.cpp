// The public Model class: its results equal the output of the program, and failures throw Error.
#include "regard/model.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

class PublicModel : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testing::program_path())) GTEST_SKIP() << "the program is not built";
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

// If the model's folder selects sampling, the seed applies without DecodingOptions::sample.
TEST_F(PublicModel, SeedsTheSamplingThatTheFolderSelects) {
  const auto file = folder_ / "gpt" / "generation_config.json";
  auto settings = nlohmann::json::parse(read_file(file));
  settings["do_sample"] = true, settings["temperature"] = 1.5;
  testing::write_file(folder_ / "gpt", "generation_config.json", settings.dump());
  const Model model = load(folder_ / "gpt");
  const std::string seventh = model.generate("the quick", {.max_new = 15, .seed = 7});
  EXPECT_EQ(run({"generate", "gpt", "--max-new", "15", "--seed", "7"}, "the quick\n"), seventh + "\n");
  EXPECT_NE(model.generate("the quick", {.max_new = 15, .seed = 8}), seventh);
}

TEST_F(PublicModel, AttentionHoldsTheNumbersOfTheProgram) {
  const Model model = load(folder_ / "translator");
  const Attention attention = model.attend("the fox", {.target = "a dog"});
  const auto json = nlohmann::json::parse(attention.json());
  const auto printed = nlohmann::json::parse(
      run({"attend", "translator", "the fox", "--target", "a dog", "--json", "--full"}));
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

TEST_F(PublicModel, WritesWithTheProgramsOptionsAndAsItComes) {
  const Model model = load(folder_ / "gpt");
  std::string shown;
  const WriteCallbacks show{.text = [&](std::string_view piece) { shown += piece; }};
  const std::vector<Written> one = model.write("the quick", {.max_new = 30}, show);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(shown, one[0].text);
  EXPECT_EQ(model.generate("the quick", {.max_new = 30}), one[0].text);
  EXPECT_EQ(one[0].tokens.size(), one[0].log_probabilities.size());
  double sum = 0.0;
  for (const double each : one[0].log_probabilities) sum += each;
  EXPECT_NEAR(sum, one[0].log_probability, 1e-4);
  const DecodingOptions beams{.beam = 4,
                              .max_new = 12,
                              .n_best = 3,
                              .repetition_penalty = 1.4,
                              .no_repeat_ngram = 2,
                              .bad_words = {"e"}};
  const std::vector<Written> best = model.write("the quick", beams);
  ASSERT_EQ(best.size(), 3u);
  const auto printed = nlohmann::json::parse(
      run({"generate", "gpt", "-b", "4", "--n-best", "3", "--max-new", "12", "--repetition-penalty", "1.4",
           "--no-repeat-ngram", "2", "--bad-word", "e", "--json", "--prompt", "the quick"}));
  for (std::size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].text, printed["hypotheses"][i]["text"].get<std::string>());
    EXPECT_NEAR(best[i].score, printed["hypotheses"][i]["score"].get<double>(), 1e-6);
    EXPECT_EQ(best[i].text.find('e'), std::string::npos) << best[i].text;
  }
  // `cancelled` is called once per step, and decoding stops when it returns true.
  int steps = 0;
  const WriteCallbacks third{.cancelled = [&] { return ++steps > 3; }};
  EXPECT_EQ(model.write("the quick", {.max_new = 30}, third).at(0).tokens.size(), 3u);
  EXPECT_EQ(steps, 4);
}

TEST_F(PublicModel, StopsBeforeATextWhereverTokensPart) {
  const Model model = load(folder_ / "gpt");
  const std::string whole = model.generate("the quick", {.max_new = 40});
  ASSERT_GT(whole.size(), 20u);
  // The model's tokens are letters, so each of these stop strings spans several tokens.
  for (const std::size_t at : {3U, 7U, 12U}) {
    const std::string stop = whole.substr(at, 4);
    const std::string expected = whole.substr(0, whole.find(stop));
    std::string shown;
    const WriteCallbacks show{.text = [&](std::string_view piece) { shown += piece; }};
    const std::vector<Written> written =
        model.write("the quick", {.max_new = 40, .stop = {"never said", stop}}, show);
    EXPECT_EQ(written[0].text, expected);
    EXPECT_EQ(shown, expected) << "nothing of the stop string is shown";
    EXPECT_TRUE(written[0].complete);
    EXPECT_EQ(run({"generate", "gpt", "--max-new", "40", "--stop", stop, "--prompt", "the quick"}),
              "the quick" + expected + "\n");
    EXPECT_EQ(
        run({"generate", "gpt", "--max-new", "40", "--stop", stop, "-b", "2"}, "the quick\n").find(stop),
        std::string::npos);
  }
  // Text that begins like a stop string but continues differently is part of the result.
  const std::string almost = whole.substr(5, 3) + "\x01";
  EXPECT_EQ(model.generate("the quick", {.max_new = 40, .stop = {almost}}), whole);
  EXPECT_REGARD_ERROR(model.generate("the", {.stop = {""}}), ErrorKind::usage, "stop string is empty");
}

TEST_F(PublicModel, AnswersInAConversation) {
  const Model model = load(folder_ / "gpt");
  const std::vector<Message> conversation{{"user", "the fox"}};
  EXPECT_REGARD_ERROR(model.chat(conversation), ErrorKind::usage, "no chat template");
  const std::string chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}dog";
  testing::write_file(folder_ / "gpt", "tokenizer_config.json",
                      nlohmann::json{{"chat_template", chat_template}}.dump());
  const std::vector<Written> answer = model.chat(conversation, {.max_new = 9});
  EXPECT_EQ(answer.at(0).text, model.generate("the fox dog", {.max_new = 9}));
  EXPECT_EQ(run({"generate", "gpt", "--max-new", "9", "--chat", "the fox"}), answer[0].text + "\n");
  EXPECT_EQ(
      run({"generate", "gpt", "--max-new", "9", "--chat", R"([{"role": "user", "content": "the fox"}])"}),
      answer[0].text + "\n");
  EXPECT_FALSE(model.chat(conversation, {.max_new = 9}, {}, "chatml").empty());
  testing::write_file(folder_ / "gpt", "chat_template.jinja", "\n{% if %}");
  EXPECT_REGARD_ERROR(model.chat(conversation), ErrorKind::bad_file, "chat_template.jinja:2: ");
}

TEST_F(PublicModel, LoadingAndTranslatingTellAndGiveUp) {
  std::vector<double> shares;
  const Progress tell = [&](double share) { return shares.push_back(share), true; };
  const Model model = load(folder_ / "translator", tell);
  ASSERT_GE(shares.size(), 12u) << "once for each matrix";
  EXPECT_EQ(shares.front(), 0.0);
  EXPECT_EQ(shares.back(), 1.0);
  for (std::size_t i = 1; i < shares.size(); ++i) {
    EXPECT_GT(shares[i], shares[i - 1]);
    EXPECT_LT(shares[i], shares[i - 1] + 0.5) << "no matrix is half of the model";
  }
  std::size_t calls = 0;
  EXPECT_REGARD_ERROR(load(folder_ / "translator", [&](double) { return ++calls < 5; }), ErrorKind::cancelled,
                      "cancelled");
  EXPECT_EQ(calls, 5u) << "the matrices behind it are not made ready";
  EXPECT_REGARD_ERROR(load(folder_ / "translator", [](double) { return false; }), ErrorKind::cancelled,
                      "cancelled");
  const std::vector<std::string> texts{"the fox", "", "a lazy dog"};
  shares.clear();
  const std::vector<std::string> all = model.translate(texts, {.max_new = 8}, tell);
  EXPECT_EQ(all, model.translate(texts, {.max_new = 8}));
  EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
  EXPECT_EQ(shares.back(), 1.0);
  EXPECT_EQ(model.translate(texts, {.max_new = 8}, [](double) { return false; }),
            (std::vector<std::string>{"", "", ""}));
}

TEST_F(PublicModel, ErrorsArriveAsErrors) {
  EXPECT_REGARD_ERROR(load(folder_ / "nothing"), ErrorKind::io, "nothing");
  const Model gpt = load(folder_ / "gpt");
  EXPECT_REGARD_ERROR(gpt.translate("the fox"), ErrorKind::usage, "cannot translate");
  EXPECT_REGARD_ERROR(gpt.generate("\xff"), ErrorKind::invalid_input, "UTF-8");
  EXPECT_REGARD_ERROR(gpt.generate("the", {.sample = true, .temperature = -1}), ErrorKind::usage,
                      "temperature");
  EXPECT_REGARD_ERROR(gpt.attend("the", {.target = "fox"}), ErrorKind::usage, "target");
}

// A FIFO in place of a model's file gives an error that names the file. Opening it for reading would block
// forever.
TEST_F(PublicModel, PipesAreNoModelFiles) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    const std::filesystem::path file = folder_ / "gpt" / name, kept = folder_ / "kept";
    std::filesystem::rename(file, kept);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    EXPECT_REGARD_ERROR(load(folder_ / "gpt"), ErrorKind::io, std::string(name) + ": not a regular file");
    EXPECT_REGARD_ERROR(load(folder_ / "gpt"), ErrorKind::io, "a pipe (FIFO)");
    std::filesystem::rename(kept, file);
  }
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
}  // namespace regard::testing

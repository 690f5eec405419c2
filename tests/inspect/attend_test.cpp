// regard attend, called as by a user, on small models that this test creates.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "formats/safetensors.h"
#include "inspect/attend.h"
#include "models/transformer.h"
#include "models/weights.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "text/train_bpe.h"

namespace regard::inspect {
namespace {

using testing::run_program;

class AttendProgram : public ::testing::Test {
 protected:
  static constexpr std::int64_t kLayers = 2, kHeads = 4;

  void make_model(const std::string& name, const char* kind) {
    const std::vector<std::string> lines{"the exam was easy .", "परीक्षा आसान थी ।", "the boy reads a book"};
    text::BpeTrainingOptions options;
    options.vocabulary_size = 340;
    options.alphabet = text::Alphabet::characters;
    options.min_frequency = 1;
    options.end_token = std::string_view(kind) == "encoder-decoder";
    const auto tokenizer = text::train_bpe(text::lines_of(lines), options);
    TransformerConfig config;
    config.kind = kind;
    config.vocabulary = tokenizer->vocabulary_size();
    config.encoder_layers = config.decoder_layers = config.layers = kLayers;
    config.hidden_size = 32, config.heads = kHeads, config.feed_forward_size = 48;
    config.pad_token_id = 0, config.bos_token_id = 2, config.eos_token_id = 3,
    config.decoder_start_token_id = 2;
    const auto model = make_transformer(config);
    initialise(*model, 5);
    testing::write_file(folder_.path() / name, "config.json", model->config().dump());
    tokenizer->save(folder_.path() / name / "tokenizer.json");
    formats::write_safetensors(folder_.path() / name / "model.safetensors", weights_of(*model));
  }

  testing::ProgramResult attend(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"attend"});
    return run_program(arguments, folder_.path());
  }

  testing::TemporaryFolder folder_;
};

TEST_F(AttendProgram, GivesEveryHeadAsNumbersAndTheSameOnThePage) {
  make_model("m", "encoder-decoder");
  const auto result =
      attend({"m", "the exam", "--target", "परीक्षा", "--json", "--full", "--html", "page.html"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["attention"].size(), static_cast<std::size_t>(3 * kLayers * kHeads));
  EXPECT_EQ(json["translation"], "परीक्षा");
  EXPECT_EQ(json["tokens"]["source"]["text"].back(), "</s>");
  EXPECT_EQ(json["tokens"]["target"]["text"].front(), "<s>");
  EXPECT_EQ(json["tokens"]["written"]["text"].back(), "</s>");
  for (const auto& map : json["attention"]) {
    for (const auto& row : map["weights"]) {
      double sum = 0;
      for (const auto& weight : row) sum += weight.get<double>();
      EXPECT_NEAR(sum, 1.0, 1e-5);
    }
  }
  const std::string page = testing::file_content(folder_.path() / "page.html");
  const std::size_t begin = page.find("id=\"data\">") + 10;
  EXPECT_EQ(nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin)), json);
}

TEST_F(AttendProgram, ShowsOneHeadOnTheTerminalAndOthersWhenNamed) {
  make_model("m", "encoder-decoder");
  const auto one = attend({"m", "the exam", "--target", "परीक्षा"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  const std::size_t title = one.out.find("cross-attention, layer");
  EXPECT_NE(title, std::string::npos) << one.out;
  EXPECT_EQ(one.out.find("attention, layer", title + 20), std::string::npos) << "one head";
  EXPECT_NE(one.out.find("row: the generated token; column:"), std::string::npos) << one.out;
  EXPECT_EQ(one.out.find('\x1b'), std::string::npos);
  const auto two = attend({"m", "the exam", "--kind", "encoder", "--layer", "0", "--head", "2,3"});
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_NE(two.out.find("encoder self-attention, layer 0, head 2"), std::string::npos) << two.out;
  EXPECT_NE(two.out.find("encoder self-attention, layer 0, head 3"), std::string::npos);
  const auto average = attend({"m", "the exam", "--average"});
  EXPECT_NE(average.out.find("average of 4 heads"), std::string::npos) << average.out;
}

TEST_F(AttendProgram, SwitchesHeadsOff) {
  make_model("m", "encoder-decoder");
  const auto before =
      attend({"m", "the exam", "--target", "a book", "--kind", "cross", "--layer", "1", "--json"});
  const auto after = attend({"m", "the exam", "--target", "a book", "--kind", "cross", "--layer", "1",
                             "--json", "--ablate", "0.1,encoder.1.2"});
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_NE(nlohmann::json::parse(before.out)["attention"], nlohmann::json::parse(after.out)["attention"]);
  EXPECT_EQ(nlohmann::json::parse(after.out)["ablated"][0], "cross.0.1");
}

TEST_F(AttendProgram, ATextNeedsATokenizer) {
  make_model("m", "encoder-decoder");
  infer::LoadedModel loaded = infer::LoadedModel::open(folder_ / "m");
  ThreadPool pool(1);
  AttendRequest request;
  request.text = "the exam";
  loaded.target = nullptr;
  EXPECT_REGARD_ERROR(written_ids(loaded, "a book"), ErrorKind::usage, "no tokenizer for its output");
  loaded.source = nullptr;
  EXPECT_REGARD_ERROR(inspect::attend(loaded, pool, request), ErrorKind::usage, "no tokenizer for its input");
  EXPECT_REGARD_ERROR(generate_target(loaded, pool, request), ErrorKind::usage, "no tokenizer for its input");
}

// Without --target, `attend` shows the translation of the ablated model and the translation of the unmodified
// model.
TEST_F(AttendProgram, ShowsTheTranslationUnderAblationAndTheOneWithout) {
  make_model("m", "encoder-decoder");
  std::string heads;
  for (std::int64_t layer = 0; layer < kLayers; ++layer)
    for (std::int64_t head = 0; head < kHeads; ++head)
      heads += (heads.empty() ? "" : ",") + std::to_string(layer) + "." + std::to_string(head);
  const auto translated = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"translate", "m", "--json"});
    const auto result = run_program(more, folder_.path(), "the exam\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["output"].get<std::string>();
  };
  const std::string plain = translated({}), ablated = translated({"--ablate", heads});
  ASSERT_NE(plain, ablated);
  const auto json = nlohmann::json::parse(attend({"m", "the exam", "--json", "--ablate", heads}).out);
  EXPECT_EQ(json["translation"], ablated);
  EXPECT_EQ(json["translation_without_ablation"], plain);
  const auto shown = attend({"m", "the exam", "--ablate", heads});
  EXPECT_NE(shown.out.find(ablated + "\nwithout ablation: " + plain + "\n"), std::string::npos) << shown.out;
  EXPECT_EQ(attend({"m", "the exam", "--json"}).out.find("without_ablation"), std::string::npos);
}

TEST_F(AttendProgram, ShowsADecoderToItself) {
  make_model("lm", "decoder");
  const auto result = attend({"lm", "the boy reads", "--json", "--full"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["attention"].size(), static_cast<std::size_t>(kLayers * kHeads));
  EXPECT_EQ(json["attention"][0]["kind"], "decoder");
  EXPECT_EQ(json["attention"][0]["weights"][0][1], 0.0);
}

TEST_F(AttendProgram, RefusesWhatIsNotThere) {
  make_model("m", "encoder-decoder");
  make_model("lm", "decoder");
  const std::vector<std::pair<std::vector<std::string>, int>> wrong{
      {{"m", "the exam", "--layer", "2"}, 2},
      {{"m", "the exam", "--head", "4"}, 2},
      {{"m", "the exam", "--kind", "sideways"}, 2},
      {{"m", "the exam", "--ablate", "0.9"}, 2},
      {{"m", "the exam", "--ablate", "x"}, 2},
      {{"lm", "the exam", "--kind", "cross"}, 2},
      {{"lm", "the exam", "--target", "a"}, 2},
      {{"nowhere", "the exam"}, 4},
      {{"lm", ""}, 3},
      {{"m", "the exam", "--svg", "no/such/folder.svg"}, 4},
  };
  for (const auto& [arguments, code] : wrong) {
    const auto result = attend(arguments);
    EXPECT_EQ(result.exit_code, code) << arguments.back() << ": " << result.err;
    EXPECT_FALSE(result.err.empty());
  }
  // options without an effect
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--values"},
                                                  {"--activations", "residual"},
                                                  {"--full"},
                                                  {"--what-if", "3"}}) {
    std::vector<std::string> arguments{"m", "the exam"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const auto result = attend(arguments);
    EXPECT_EQ(result.exit_code, 2) << options[0];
    EXPECT_NE(result.err.find("--html"), std::string::npos) << result.err;
  }
  const auto given = attend({"m", "the exam", "--target", "a book", "--generate", "3"});
  EXPECT_NE(given.err.find("--generate cannot be combined with --target"), std::string::npos) << given.err;
  const auto image = attend({testing::golden("hf-tiny/vit").string(),
                             testing::golden("pictures/deep.png").string(), "--generate", "3"});
  EXPECT_NE(image.err.find("--generate needs a model with a decoder"), std::string::npos) << image.err;
  const auto layer = attend({"m", "the exam", "--layer", "2"});
  EXPECT_NE(layer.err.find("layers 0 to 1, heads 0 to 3"), std::string::npos) << layer.err;
}

}  // namespace
}  // namespace regard::inspect

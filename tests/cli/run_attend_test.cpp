// regard run --attend: captures of tensors, called as by a user.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "formats/safetensors.h"
#include "support/hf_folder.h"
#include "support/json_schema.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class RunAttend : public ::testing::Test {
 protected:
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.push_back("-q");
    return run_program(arguments, place_.path());
  }
  ProgramResult run_with(const std::vector<std::string>& first, const std::vector<std::string>& more) const {
    std::vector<std::string> all = first;
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  }

  // Write each named tensor of ids to in.safetensors, one row per list. The lists of a tensor have the same
  // length.
  void write_ids(const std::map<std::string, std::vector<std::vector<std::int32_t>>>& rows) const {
    std::vector<formats::NamedTensor> tensors;
    for (const auto& [name, lists] : rows) {
      Tensor ids = Tensor::empty({std::ssize(lists), std::ssize(lists[0])}, DType::i64);
      std::int64_t* to = ids.i64();
      for (const auto& list : lists) to = std::copy(list.begin(), list.end(), to);
      tensors.push_back({name, ids});
    }
    formats::write_safetensors(place_ / "in.safetensors", tensors);
  }

  void write_inputs_of(const std::string& family) const {
    std::vector<formats::NamedTensor> tensors;
    for (const auto& [name, tensor] : HfFolder(family).inputs) tensors.push_back({name, tensor});
    formats::write_safetensors(place_ / "in.safetensors", tensors);
  }

  // Return the captures in `file`, which has one per line, after checking each against the schema.
  std::vector<json> captures(const std::string& file) const {
    static const json kSchema =
        json::parse(read_file((source_folder() / "docs/capture.schema.json").string()));
    std::vector<json> all;
    for (const std::string& line : lines_of(file_content(place_ / file))) {
      all.push_back(json::parse(line));
      const std::vector<std::string> found = schema_violations(all.back(), kSchema);
      EXPECT_TRUE(found.empty()) << found.front();
    }
    return all;
  }

  TemporaryFolder place_;
};

// For a decoder, the capture of the ids equals the output of `attend --json` for the text, byte by byte, in
// both precisions.
TEST_F(RunAttend, WritesWhatAttendPrints) {
  write_text_model(place_ / "gpt", "gpt");
  for (const std::vector<std::string>& options : {std::vector<std::string>{},
                                                  {"--full"},
                                                  {"--layer", "1", "--values"},
                                                  {"--average"},
                                                  {"--head", "0", "--activations", "residual", "--full"}}) {
    const ProgramResult shown = run_with({"attend", "gpt", "the quick fox", "--json"}, options);
    ASSERT_EQ(shown.exit_code, 0) << shown.err;
    const json expected = json::parse(shown.out);
    write_ids({{"input_ids", {expected["tokens"]["target"]["ids"].get<std::vector<std::int32_t>>()}}});
    const ProgramResult result =
        run_with({"run", "gpt", "-i", "in.safetensors", "--attend", "capture.json"}, options);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(file_content(place_ / "capture.json"), shown.out);
  }
}

TEST_F(RunAttend, HasTheWeightsOfATranslation) {
  write_text_model(place_ / "translator", "translator");
  const ProgramResult shown = run({"attend", "translator", "the fox", "--target", "a dog", "--json"});
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  const json expected = json::parse(shown.out);
  const auto ids = [&](const char* side) {
    return expected["tokens"][side]["ids"].get<std::vector<std::int32_t>>();
  };
  write_ids({{"input_ids", {ids("source")}}, {"decoder_input_ids", {ids("target")}}});
  ASSERT_EQ(run({"run", "translator", "-i", "in.safetensors", "--attend", "a.json", "-o", "o.safetensors",
                 "--capture", "logits"})
                .exit_code,
            0);
  EXPECT_TRUE(fs::exists(place_ / "o.safetensors"));
  const std::vector<json> found = captures("a.json");
  ASSERT_EQ(found.size(), 1u);
  for (const char* side : {"source", "target"})
    EXPECT_EQ(found[0]["tokens"][side], expected["tokens"][side]) << side;
  EXPECT_EQ(found[0]["text"], "the fox");
  ASSERT_EQ(found[0]["attention"].size(), expected["attention"].size());
  for (std::size_t i = 0; i < found[0]["attention"].size(); ++i)
    EXPECT_EQ(found[0]["attention"][i]["weights"], expected["attention"][i]["weights"]) << i;
}

TEST_F(RunAttend, WritesOneLineForEachRowWithoutItsPadding) {
  write_text_model(place_ / "gpt", "gpt");
  write_ids({{"input_ids", {{5, 6, 7}, {8, 9, 0}}}, {"attention_mask", {{1, 1, 1}, {1, 1, 0}}}});
  const std::vector<std::string> both{"run", "gpt", "-i", "in.safetensors", "--attend", "both.json"};
  ASSERT_EQ(run(both).exit_code, 0);
  const std::vector<json> found = captures("both.json");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]["tokens"]["target"]["ids"], (std::vector<int>{5, 6, 7}));
  EXPECT_EQ(found[1]["tokens"]["target"]["ids"], (std::vector<int>{8, 9}));
  write_ids({{"input_ids", {{8, 9}}}});
  ASSERT_EQ(run({"run", "gpt", "-i", "in.safetensors", "--attend", "one.json"}).exit_code, 0);
  EXPECT_EQ(captures("one.json")[0], found[1]);
  const ProgramResult changed = run({"run", "gpt", "-i", "in.safetensors", "--attend", "-", "--intervene",
                                     "patch decoder.0.residual ids=5,6"});
  ASSERT_EQ(changed.exit_code, 0) << changed.err;
  const json capture = json::parse(changed.out);
  EXPECT_EQ(capture["interventions"][0]["at"], "decoder.0.residual");
  EXPECT_NE(capture["attention"].back()["weights"], found[1]["attention"].back()["weights"]);
}

// In captures from folders without a tokenizer, tokens are shown as ids, and frames of a sound as numbers.
TEST_F(RunAttend, ReadsFeaturesAndFoldersWithoutATokenizer) {
  const auto captures_of = [&](const std::string& family) {
    write_inputs_of(family);
    const ProgramResult result = run(
        {"run", golden("hf-tiny/" + family).string(), "-i", "in.safetensors", "--attend", "capture.json"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return captures("capture.json");
  };
  const std::vector<json> whisper = captures_of("whisper");
  ASSERT_EQ(whisper.size(), 2u);
  EXPECT_EQ(whisper[1]["text"], "input_features[1]");
  EXPECT_EQ(whisper[1]["tokens"]["source"]["text"].size(), 50u);
  EXPECT_EQ(whisper[1]["tokens"]["source"]["text"][49], "49");
  const json& target = whisper[1]["tokens"]["target"];
  EXPECT_EQ(target["text"][1], std::to_string(target["ids"][1].get<int>()));
  EXPECT_FALSE(target.contains("bytes"));
  EXPECT_EQ(whisper[1]["drawing"]["input"], "features");
  EXPECT_EQ(captures_of("vit")[0]["tokens"]["source"]["text"][1], "0,0");
}

TEST_F(RunAttend, WritesTheFileWholeOrNotAtAll) {
  write_text_model(place_ / "gpt", "gpt");
  write_ids({{"input_ids", {{5, 6, 7}, {8, 9, 0}}}, {"attention_mask", {{1, 1, 1}, {0, 0, 0}}}});
  const std::vector<std::string> call{"run", "gpt", "-i", "in.safetensors"};
  const auto expect = [&](const std::vector<std::string>& more, int code, const char* part) {
    const ProgramResult result = run_with(call, more);
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(place_ / "new.json"));
    EXPECT_FALSE(fs::exists(place_ / "o.safetensors"));
  };
  expect({"--attend", "new.json"}, 3, "row 1 of \"input_ids\"");  // row 0 is complete before the error
  expect({"--attend", "new.json", "-o", "o.safetensors"}, 3, "row 1");
  write_ids({{"input_ids", {{5, 6, 7}}}});
  expect({"--attend", "none/new.json", "-o", "o.safetensors"}, 4, "none/new.json");
  expect({"--attend", "new.json", "--layer", "9"}, 2, "layers 0 to");
  expect({"--attend", "new.json", "--activations", "nothing"}, 2, "nothing");
  expect({"--attend", "new.json", "--capture", "logits"}, 2, "--outputs");
  expect({"--layer", "1", "-o", "o.safetensors"}, 2, "--attend");
  expect({}, 2, "--outputs");
  write_file(place_.path(), "old.json", "old");
  EXPECT_EQ(run_with(call, {"--attend", "old.json", "--head", "77"}).exit_code, 2);
  EXPECT_EQ(file_content(place_ / "old.json"), "old");
}

}  // namespace
}  // namespace regard::testing

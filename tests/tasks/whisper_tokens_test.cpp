// Whisper's special tokens and options: the tokens that begin a window, limits, and errors of folders.
#include "tasks/whisper_tokens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/json.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "tasks/whisper.h"

namespace regard::testing {
namespace {

namespace fs = std::filesystem;
using tasks::WhisperTokens;

class WhisperToken : public ::testing::Test {
 protected:
  WhisperTokens read() const { return WhisperTokens::of(loaded_); }
  // Read the tokens with one key of generation_config.json replaced; null removes the key.
  WhisperTokens read(const char* key, const Json& value) const {
    infer::LoadedModel changed = open();
    (*changed.folder.generation_config)[key] = value;
    return WhisperTokens::of(changed);
  }
  void refused(const char* key, const Json& value, const std::string& message) const {
    EXPECT_REGARD_ERROR(read(key, value), ErrorKind::bad_file, "generation_config.json: " + message);
  }
  infer::LoadedModel open() const { return infer::LoadedModel::open(path_, {.reads = InputKind::features}); }

  fs::path path_ = golden("sound/whisper-small");
  infer::LoadedModel loaded_ = open();
};

TEST_F(WhisperToken, AreReadFromTheFolder) {
  const WhisperTokens tokens = read();
  EXPECT_EQ(tokens.start, 304);
  EXPECT_EQ(tokens.end, 303);
  EXPECT_EQ(tokens.no_timestamps, 313);
  EXPECT_EQ(tokens.first_time(), 314);
  EXPECT_EQ(tokens.no_speech, 312);
  EXPECT_EQ(tokens.previous, 311);
  EXPECT_EQ(tokens.transcribe, 309);
  EXPECT_EQ(tokens.translate, 308);
  EXPECT_EQ(tokens.latest_first, 50);
  EXPECT_EQ(tokens.languages, (std::map<std::string, std::int32_t>{{"de", 306}, {"en", 305}, {"fr", 307}}));
  EXPECT_EQ(tokens.code_of(306), "de");
  EXPECT_EQ(tokens.code_of(308), "");
}

TEST_F(WhisperToken, BeginAWindow) {
  using Tokens = std::vector<std::int32_t>;
  const WhisperTokens tokens = read();
  EXPECT_EQ(tokens.beginning("", false, true), (Tokens{304, 309}));
  EXPECT_EQ(tokens.beginning("fr", true, true), (Tokens{304, 307, 308}));
  EXPECT_EQ(tokens.beginning("en", false, false), (Tokens{304, 305, 309, 313}));
  EXPECT_REGARD_ERROR(tokens.beginning("xx", false, false), ErrorKind::usage,
                      "the model does not support this language (expected one of de, en, fr, found \"xx\")");
  const WhisperTokens english = read("lang_to_id", nullptr), plain = read("task_to_id", Json::object());
  EXPECT_REGARD_ERROR(english.beginning("en", false, false), ErrorKind::usage,
                      "expected no language, because the model supports only one, found \"en\"");
  EXPECT_EQ(plain.beginning("en", false, true), (Tokens{304, 305}));
  EXPECT_REGARD_ERROR(plain.beginning("en", true, true), ErrorKind::usage,
                      "this model cannot translate: it supports only transcription");
}

// Missing keys have the tokenizer's ids.
TEST_F(WhisperToken, OfMissingKeysAreTheTokenizers) {
  EXPECT_EQ(read("no_timestamps_token_id", nullptr).no_timestamps, 313);
  EXPECT_EQ(read("prev_sot_token_id", nullptr).previous, loaded_.target->id_of("<|startofprev|>").value());
  EXPECT_EQ(read("max_initial_timestamp_index", nullptr).latest_first, -1);
  EXPECT_EQ(read("lang_to_id", {{"<|x|>", 5}, {"<||>", 6}, {"en", 7}, {"<|yue|", 8}}).languages,
            (std::map<std::string, std::int32_t>{{"x", 5}}));
}

TEST_F(WhisperToken, WrongOnesAreRefused) {
  const std::int64_t vocabulary = loaded_.model->vocabulary();
  const std::string range = "(expected an id from 0 to " + std::to_string(vocabulary - 1) + ", found ";
  refused("lang_to_id", Json::array({1}),
          "\"lang_to_id\" is not an object (expected an object that maps names to ids, found an array)");
  refused("lang_to_id", {{"<|en|>", vocabulary}},
          "\"lang_to_id\" has an id outside the model's vocabulary " + range + std::to_string(vocabulary));
  EXPECT_EQ(read("task_to_id", {{"transcribe", vocabulary - 1}, {"translate", 0}}).translate, 0);
  refused("task_to_id", {{"transcribe", -1}},
          "\"task_to_id\" has an id outside the model's vocabulary " + range + "-1");
  refused("prev_sot_token_id", -1,
          "\"prev_sot_token_id\" has an id outside the model's vocabulary " + range + "-1");
  for (const std::int64_t id : {std::int64_t{0}, std::int64_t{303}, vocabulary - 1})
    EXPECT_REGARD_ERROR(read("no_timestamps_token_id", id), ErrorKind::usage,
                        "the model cannot transcribe: its vocabulary has no timestamp tokens (expected "
                        "Whisper's special tokens (no_timestamps_token_id in generation_config.json))");
  EXPECT_EQ(read("no_timestamps_token_id", 304).no_timestamps, 304);
  EXPECT_EQ(read("no_timestamps_token_id", vocabulary - 2).first_time(), vocabulary - 1);
}

TEST_F(WhisperToken, NeedAStartAndAnEnd) {
  loaded_.options.end_tokens = {0, 303}, loaded_.options.start_token = 0;
  EXPECT_EQ(read().end, 0);
  EXPECT_EQ(read().start, 0);
  loaded_.options.end_tokens = {};
  EXPECT_REGARD_ERROR(read(), ErrorKind::usage, "the model cannot transcribe");
  loaded_.options.end_tokens = {303}, loaded_.options.start_token = -1;
  EXPECT_REGARD_ERROR(read(), ErrorKind::usage, "the model cannot transcribe");
}

TEST(WhisperOptions, HaveLimits) {
  const double infinite = std::numeric_limits<double>::infinity(), none = std::nan("");
  tasks::WhisperOptions options;
  const auto refused = [&](const std::string& message) {
    EXPECT_REGARD_ERROR(options.check(), ErrorKind::usage, message);
  };
  options.check();
  options.temperatures = {0.0, 10.0};
  options.check();
  options.temperatures = {};
  refused("expected at least one temperature, found none");
  for (const double wrong : {-0.5, 10.5, none}) {
    options.temperatures = {0.0, wrong};
    refused("a temperature is out of range (expected 0 to 10, found " + std::to_string(wrong) + ")");
  }
  for (const auto limit : {&tasks::WhisperOptions::compression_ratio, &tasks::WhisperOptions::log_probability,
                           &tasks::WhisperOptions::no_speech}) {
    options = {};
    (options.*limit).reset();
    options.check();
    for (const double wrong : {infinite, none}) {
      options.*limit = wrong;
      refused("a threshold is not finite (expected a finite number, found " + std::to_string(wrong) + ")");
    }
  }
}

TEST_F(WhisperToken, PromptsNeedATokenForPreviousText) {
  testing::TemporaryFolder temporary;
  const fs::path copy = temporary / "model";
  fs::copy(path_, copy, fs::copy_options::recursive);
  const auto without = [&](const char* file, const std::string& part, const std::string& replacement) {
    std::string text = file_content(copy / file);
    ASSERT_NE(text.find(part), std::string::npos);
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += replacement.size())
      text.replace(at, part.size(), replacement);
    fs::remove(copy / file);
    write_file(copy, file, text);
  };
  without("tokenizer.json", "<|startofprev|>", "<|other|>");
  without("generation_config.json", "\"prev_sot_token_id\": 311,", "");
  const auto loaded = infer::LoadedModel::open(copy, {.reads = InputKind::features});
  ThreadPool pool(1);
  EXPECT_NO_THROW(tasks::Whisper(loaded, pool, {.language = {}, .prompt = " \n"}));
  EXPECT_REGARD_ERROR(tasks::Whisper(loaded, pool, {.language = {}, .prompt = "river"}), ErrorKind::usage,
                      "this model does not support prompts: it has no token <|startofprev|>");
  EXPECT_NO_THROW(tasks::Whisper(loaded_, pool, {.language = {}, .prompt = "river"}));
}

}  // namespace
}  // namespace regard::testing

// Every public function reports the same mistake with the same kind of error.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "regard/regard.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::golden;

struct Call {
  std::string name;
  std::function<void()> call;
};

void expect_kind(ErrorKind kind, const std::string& part, const std::vector<Call>& calls) {
  for (const Call& one : calls) {
    SCOPED_TRACE(one.name);
    EXPECT_REGARD_ERROR(one.call(), kind, part);
  }
}

class ErrorKinds : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_text_model(folder_ / "gpt", "gpt", 40);
    testing::write_text_model(folder_ / "translator", "translator", 40);
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ErrorKinds, ATextThatIsNotUtf8IsInvalidInput) {
  const Model gpt = load(folder_ / "gpt"), translator = load(folder_ / "translator");
  Sessions sessions(gpt);
  const Embedder embedder(golden("hf-more/st-mean"));
  const Classifier classifier(load(golden("hf-more/bert-nli")));
  const Answerer answerer(load(golden("hf-more/bert-qa-stride")));
  const Filler filler(load(golden("tasks/roberta-fill")));
  const Tokenizer tokenizer(folder_ / "gpt");
  const std::string bad = "a\xff";
  const std::vector<Message> conversation{{"user", bad}};
  expect_kind(ErrorKind::invalid_input, "UTF-8",
              {{"translate", [&] { translator.translate(bad); }},
               {"generate", [&] { gpt.generate(bad); }},
               {"write", [&] { gpt.write(bad); }},
               {"chat", [&] { gpt.chat(conversation, {}, {}, "chatml"); }},
               {"attend", [&] { gpt.attend(bad); }},
               {"Sessions::join", [&] { sessions.join(bad); }},
               {"Sessions::chat", [&] { sessions.chat(conversation, {}, {}, "chatml"); }},
               {"embed", [&] { embedder.embed(bad); }},
               {"classify", [&] { classifier.classify(bad); }},
               {"answer", [&] { answerer.answer("who?", bad); }},
               {"fill", [&] { filler.fill(bad); }},
               {"encode", [&] { tokenizer.encode(bad); }}});
}

TEST_F(ErrorKinds, ATextThatIsTooLongIsInvalidInput) {
  const Model gpt = load(folder_ / "gpt"), translator = load(folder_ / "translator");
  Sessions sessions(gpt), translations(translator);
  std::string text;
  while (text.size() < 1000) text += "river ";
  const Classifier classifier(load(golden("hf-more/bert-nli")));
  const Filler filler(load(golden("tasks/roberta-fill")));
  const Embedder embedder(golden("hf-more/st-mean"), {.truncate = false});
  expect_kind(ErrorKind::invalid_input, "at most",
              {{"translate", [&] { translator.translate(text); }},
               {"generate", [&] { gpt.generate(text); }},
               {"write", [&] { gpt.write(text); }},
               {"Sessions::join", [&] { sessions.join(text); }},
               {"Sessions::join, a source", [&] { translations.join(text); }},
               {"classify", [&] { classifier.classify(text); }},
               {"fill", [&] { filler.fill("<mask> " + text); }},
               {"embed", [&] { embedder.embed(text); }}});
}

TEST_F(ErrorKinds, ATextWithoutTokensIsInvalidInput) {
  const Model gpt = load(folder_ / "gpt"), translator = load(folder_ / "translator");
  Sessions sessions(gpt);
  const Answerer answerer(load(golden("hf-more/bert-qa-stride")));
  expect_kind(ErrorKind::invalid_input, "",
              {{"generate", [&] { gpt.generate(""); }},
               {"write", [&] { gpt.write(""); }},
               {"attend", [&] { gpt.attend(""); }},
               {"attend, a source", [&] { translator.attend("", {.target = "the"}); }},
               {"Sessions::join", [&] { sessions.join(""); }},
               {"answer", [&] { answerer.answer("who?", " "); }}});
}

TEST_F(ErrorKinds, ATaskThatTheModelDoesNotHaveIsUsageAndNamesTheFolder) {
  const Model gpt = load(folder_ / "gpt");
  const std::string name = (folder_ / "gpt").string();
  expect_kind(ErrorKind::usage, name,
              {{"translate", [&] { gpt.translate("the"); }},
               {"Classifier", [&] { Classifier{gpt}; }},
               {"Answerer", [&] { Answerer{gpt}; }},
               {"Filler", [&] { Filler{gpt}; }}});
}

TEST_F(ErrorKinds, WhatALimitDoesNotHoldIsResourceExhausted) {
  const Model gpt = load(folder_ / "gpt");
  Sessions small(gpt, {.rows = 1, .cache_tokens = 32}), few(gpt, {.sessions = 1});
  few.join("the");
  expect_kind(ErrorKind::resource_exhausted, "",
              {{"more tokens than the cache", [&] { small.join("the fox", {.beam = 1, .max_new = 39}); }},
               {"more rows than there are", [&] { small.join("the", {.beam = 2, .max_new = 2}); }},
               {"more sessions than are allowed", [&] { few.join("the"); }},
               {"memory", [&] { Tensor::zeros({std::int64_t{1} << 46}); }}});
}

TEST_F(ErrorKinds, ACallbackThatStopsIsCancelled) {
  expect_kind(ErrorKind::cancelled, "",
              {{"load", [&] { load(folder_ / "gpt", [](double) { return false; }); }}});
}

TEST_F(ErrorKinds, PathsOfTheWrongTypeAreIo) {
  const std::filesystem::path file = folder_ / "gpt" / "config.json", none = folder_ / "none";
  expect_kind(ErrorKind::io, "",
              {{"load a file", [&] { load(file); }},
               {"load nothing", [&] { load(none); }},
               {"Runner of a file", [&] { Runner{file}; }},
               {"Tokenizer of nothing", [&] { Tokenizer{none}; }},
               {"read_tensors of a folder", [&] { read_tensors(folder_ / "gpt"); }}});
}

}  // namespace
}  // namespace regard::testing

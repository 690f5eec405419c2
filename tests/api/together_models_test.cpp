// Four threads use models and tasks at the same time. Each test runs once with one object per thread and once
// with one object that all threads share, and does both with a pool of one thread and a pool of two threads.
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "api/together.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::Bits;
using testing::Entry;
using testing::kThreads;

class ModelsTogether : public testing::ObjectsTogether {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder;
    for (const char* name : {"translator", "postnorm", "gpt", "llama"}) {
      testing::write_text_model(*folder_ / name, name);
      testing::write_file(*folder_ / name, "tokenizer_config.json",
                          R"({"chat_template": "{% for m in messages %}{{ m.content }} {% endfor %}"})");
    }
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::filesystem::path path(const std::string& name) { return *folder_ / name; }

 private:
  static inline testing::TemporaryFolder* folder_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Pools, ModelsTogether,
                         ::testing::Combine(::testing::Values(1, 2), ::testing::Bool()));

std::string long_text() {
  std::string text;
  while (text.size() < 150) text += "the quick brown fox ";
  return text;
}

Bits bits_of(const Attention& attention) {
  Bits bits;
  bits.add(attention.text()).add(attention.translation()).add(attention.json());
  for (const Kind kind : {Kind::encoder, Kind::decoder, Kind::cross})
    for (std::int64_t layer = 0; layer < attention.layers(kind); ++layer)
      bits.add(attention.weights(kind, layer, attention.heads(kind, layer) - 1));
  return bits;
}

TEST_P(ModelsTogether, TranslatorsTranslateWriteAndAttend) {
  for (const std::string name : {"translator", "postnorm"}) {
    const auto models = objects([&] { return load(path(name)); });
    const std::vector<std::string> texts{"the quick fox", "", "over the lazy dog"};
    testing::expect_bits_of_each_alone(
        {
            {"translate", [&](int t) { return Bits().add(models->of(t).translate(texts, {.max_new = 6})); }},
            {"translate with a beam",
             [&](int t) {
               return Bits().add(models->of(t).translate("lazy dog", {.beam = 3, .max_new = 5}));
             }},
            {"translate with progress",
             [&](int t) {
               return Bits().add(
                   models->of(t).translate(texts, {.max_new = 4}, [](double share) { return share >= 0; }));
             }},
            {"write",
             [&](int t) { return Bits().add(models->of(t).write("the fox", {.beam = 2, .max_new = 5})); }},
            {"attend", [&](int t) { return bits_of(models->of(t).attend("the fox", {.target = "a dog"})); }},
            {"attend to its own",
             [&](int t) {
               return bits_of(models->of(t).attend("the", {.ablated = {{Kind::encoder, 0, 0}}}));
             }},
            {"what it is",
             [&](int t) {
               const Model& model = models->of(t);
               return Bits().add(model.parameter_count()).add(model.translates()).add(model.warning());
             }},
        },
        2);
  }
}

TEST_P(ModelsTogether, DecodersGenerateChatAndAttend) {
  for (const std::string name : {"gpt", "llama"}) {
    const auto models = objects([&] { return load(path(name)); });
    const std::string prompt = name == "llama" ? long_text() : "the quick";
    const std::vector<Message> conversation{{"user", "the fox"}};
    const DecodingOptions sampled{.max_new = 6, .sample = true, .temperature = 1.4, .top_k = 6, .seed = 5};
    testing::expect_bits_of_each_alone(
        {
            {"generate",
             [&](int t) { return Bits().add(models->of(t).generate("the fox", {.max_new = 6})); }},
            {"generate from a long prompt",
             [&](int t) { return Bits().add(models->of(t).generate(prompt, {.max_new = 3})); }},
            {"generate with draws", [&](int t) { return Bits().add(models->of(t).generate("a", sampled)); }},
            {"write, streamed",
             [&](int t) {
               std::string shown;
               const WriteCallbacks callbacks{.text = [&](std::string_view piece) { shown += piece; },
                                              .cancelled = [] { return false; }};
               const auto written = models->of(t).write("dog", {.max_new = 5}, callbacks);
               return Bits().add(written).add(shown);
             }},
            {"chat", [&](int t) { return Bits().add(models->of(t).chat(conversation, {.max_new = 4})); }},
            {"attend", [&](int t) { return bits_of(models->of(t).attend("the lazy")); }},
        },
        2);
  }
}

TEST_P(ModelsTogether, ReadersOfTexts) {
  const std::vector<std::string> texts{"A river.", "Money in the bank", "a"};
  const auto embedders = objects([] { return Embedder(testing::golden("hf-more/st-cls")); });
  const auto classifiers = objects([] { return Classifier(load(testing::golden("hf-more/bert-nli"))); });
  const auto answerers =
      objects([] { return Answerer(load(testing::golden("tasks/roberta-qa")), {.window = 62}); });
  const auto taggers = objects([] { return Tagger(load(testing::golden("hf-more/bert-ner"))); });
  const auto fillers = objects([] { return Filler(load(testing::golden("tasks/roberta-fill"))); });
  testing::expect_bits_of_each_alone(
      {
          {"embed", [&](int t) { return Bits().add(embedders->of(t).embed(texts)); }},
          {"embed one, similarities",
           [&](int t) {
             const Tensor one = embedders->of(t).embed(texts[1]);
             return Bits().add(embedders->of(t).similarities(one, one)).add(embedders->of(t).size());
           }},
          {"classify", [&](int t) { return Bits().add(classifiers->of(t).classify(texts)); }},
          {"classify a pair",
           [&](int t) { return Bits().add(classifiers->of(t).classify(texts[0], texts[1])); }},
          {"labels", [&](int t) { return Bits().add(classifiers->of(t).labels()); }},
          {"answer",
           [&](int t) { return Bits().add(answerers->of(t).answer("Who?", "The bank has the money.")); }},
          {"tag", [&](int t) { return Bits().add(taggers->of(t).tag(texts)); }},
          {"tag words",
           [&](int t) {
             return Bits().add(taggers->of(t).tag_words(texts)).add(taggers->of(t).word_labels(texts));
           }},
          {"labels of tokens", [&](int t) { return Bits().add(taggers->of(t).labels()); }},
          {"fill", [&](int t) { return Bits().add(fillers->of(t).fill("The <mask> has <mask>.", 3)); }},
          {"mask", [&](int t) { return Bits().add(fillers->of(t).mask()); }},
      },
      4);
}

TEST_P(ModelsTogether, ReadersOfImages) {
  const testing::TemporaryFolder folder;
  std::filesystem::copy(testing::golden("hf-tiny/vit"), folder / "vit");
  std::filesystem::permissions(folder / "vit", std::filesystem::perms::owner_all,
                               std::filesystem::perm_options::add);
  std::filesystem::copy(testing::golden("tasks/preprocessor_config.json"),
                        folder / "vit/preprocessor_config.json");
  const auto classifiers = objects([&] { return Classifier(load(folder / "vit")); });
  std::vector<Entry> entries;
  for (const std::string file : {"alpha.png", "fine.jpg", "grey.pgm"})
    entries.push_back({file, [&, file](int t) {
                         return Bits().add(
                             classifiers->of(t).classify_image(testing::golden("tasks") / file));
                       }});
  testing::expect_bits_of_each_alone(entries, 2);
}

// All kinds of objects that share one model are used at once.
TEST_P(ModelsTogether, OneModelUnderAllThatWorksOnIt) {
  const auto models = objects([&] { return load(path("llama")); });
  const auto classes = objects([] { return load(testing::golden("hf-more/bert-multilabel")); });
  const auto written_by_sessions = [](const Model& model) {
    Sessions sessions(model, {.rows = 3, .cache_tokens = 1024});
    std::map<Sessions::Id, std::string> texts;
    for (const char* prompt : {"the", "a fox", "lazy"}) {
      auto text = std::make_shared<std::string>();
      const auto done = [&texts, prompt](const SessionResult& result) { texts[prompt[0]] = result.text; };
      sessions.join(prompt, {.max_new = 5}, {.done = done});
    }
    while (sessions.step()) {
    }
    Bits bits;
    for (const auto& [id, text] : texts) bits.add(text);
    return bits;
  };
  testing::expect_bits_of_each_alone(
      {
          {"Sessions", [&](int t) { return written_by_sessions(models->of(t)); }},
          {"generate",
           [&](int t) { return Bits().add(models->of(t).generate(long_text(), {.max_new = 4})); }},
          {"attend", [&](int t) { return bits_of(models->of(t).attend(long_text())); }},
          {"session_memory", [&](int t) { return Bits().add(session_memory(models->of(t)).cache); }},
          {"Classifier", [&](int t) { return Bits().add(Classifier(classes->of(t)).classify("a river")); }},
          {"Classifier with a head switched off",
           [&](int t) {
             const Classifier classifier(classes->of(t), {.ablated = {{Kind::encoder, 0, 0}}});
             return Bits().add(classifier.classify("a river"));
           }},
      },
      2);
}

TEST_P(ModelsTogether, LoadingAndQuantizing) {
  const testing::TemporaryFolder place;
  std::atomic<int> made{0};
  testing::expect_bits_of_each_alone(
      {
          {"load", [&](int) { return Bits().add(load(path("gpt")).generate("a fox", {.max_new = 3})); }},
          {"load with progress",
           [&](int) {
             double last = 0;
             load(path("gpt"), [&](double share) { return last = share, true; });
             return Bits().add(last);
           }},
          {"quantize",
           [&](int) {
             const auto to = place.path() / std::to_string(made++);
             quantize(path("gpt"), to);
             return Bits().add(load(to).generate("the", {.max_new = 3}));
           }},
          {"Embedder",
           [&](int) { return Bits().add(Embedder(testing::golden("hf-more/st-mean")).embed("a")); }},
      },
      2);
}

}  // namespace
}  // namespace regard::testing

// Stateful objects (Sessions, Learner) shared by four threads, and changes of the number of threads during
// calls.
#include <map>
#include <mutex>

#include <cmath>

#include "api/together.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using testing::Bits;

class SharedObjects : public ::testing::TestWithParam<int> {
 protected:
  SharedObjects() {
    testing::write_text_model(folder_ / "gpt", "gpt");
    testing::write_text_model(folder_ / "translator", "translator");
  }
  testing::TemporaryFolder folder_;

 private:
  testing::ThreadsDuring threads_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Pools, SharedObjects, ::testing::Values(1, 2));

// Every thread calls join(), cancel(), running(), waiting() and step(). Each text equals that of a separate
// call of generate().
TEST_P(SharedObjects, SessionsJoinedCancelledAndSteppedByAll) {
  const Model model = load(folder_ / "gpt");
  const std::vector<std::string> prompts{"the quick", "a", "lazy dog", "fox"};
  std::vector<std::string> alone;
  for (const std::string& prompt : prompts) alone.push_back(model.generate(prompt, {.max_new = 9}));
  Sessions sessions(model, {.rows = 3, .cache_tokens = 1024});
  std::mutex guard;
  std::map<int, std::string> shown, results;
  std::atomic<int> ended{0}, cancelled{0};
  testing::on_four_threads([&](int thread) {
    for (int i = 0; i < 3; ++i) {
      const int name = 10 * thread + i;
      SessionCallbacks callbacks;
      callbacks.text = [&, name](std::string_view piece) {
        const std::lock_guard lock(guard);
        shown[name] += piece;
      };
      callbacks.done = [&, name](const SessionResult& result) {
        ++ended;
        const std::lock_guard lock(guard);
        if (result.end == SessionEnd::finished) results[name] = result.text;
      };
      const std::string& prompt = prompts[static_cast<std::size_t>(thread)];
      const Sessions::Id id = sessions.join(prompt, {.max_new = 9}, callbacks);
      if (i == 2 && sessions.cancel(id)) ++cancelled;
      sessions.step();
      EXPECT_LE(sessions.running(), 3);
      EXPECT_GE(sessions.waiting(), 0);
      EXPECT_GE(sessions.live(), 0);
    }
    while (sessions.step()) {
    }
  });
  while (sessions.step()) {
  }
  EXPECT_EQ(ended, 12);
  EXPECT_EQ(std::ssize(results) + cancelled, 12);
  for (const auto& [name, text] : results) {
    EXPECT_EQ(text, alone[static_cast<std::size_t>(name / 10)]);
    EXPECT_EQ(shown[name], text);
  }
}

TEST_P(SharedObjects, AStepWithinACallbackIsRefused) {
  const Model model = load(folder_ / "gpt");
  Sessions sessions(model, {.rows = 2, .cache_tokens = 512});
  std::string refusal;
  sessions.join("the", {.max_new = 3}, {.done = [&](const SessionResult&) {
                  try {
                    sessions.step();
                  } catch (const Error& error) {
                    refusal = error.what();
                  }
                }});
  while (sessions.step()) {
  }
  EXPECT_NE(refusal.find("callback"), std::string::npos) << refusal;
}

// Several threads add nodes to one tape. Their calls are serialised, and each node has the correct value.
TEST_P(SharedObjects, OneLearnerTakesParametersAndNodesFromAll) {
  Learner learner;
  learner.begin();
  std::vector<Tensor> inputs, wanted;
  for (int thread = 0; thread < testing::kThreads; ++thread) {
    const std::string name = "x" + std::to_string(thread);
    inputs.push_back(random_normal({8, 8}, 1, name));
    Learner alone;
    const Value x = alone.constant(inputs.back());
    const Value w = alone.parameter("w", random_normal({8, 8}, 2, "w"));
    wanted.push_back(alone.value(alone.softmax(alone.attention(x, alone.linear(x, w), x, true, 2))).clone());
  }
  testing::on_four_threads([&](int thread) {
    const auto t = static_cast<std::size_t>(thread);
    const Value w = learner.parameter("w" + std::to_string(thread), random_normal({8, 8}, 2, "w"));
    for (int round = 0; round < 30; ++round) {
      const Value x = learner.constant(inputs[t]);
      const Value y = learner.softmax(learner.attention(x, learner.linear(x, w), x, true, 2));
      EXPECT_TRUE(equal_bits(learner.value(y), wanted[t]));
    }
  });
}

// Objects keep the number of threads that they were created with; later function calls use the new number.
TEST_P(SharedObjects, TheNumberOfThreadsChangesWhileAllAreAtWork) {
  const Tensor q = random_normal({2, 4, 12, 16}, 1, "q");
  const Tensor large = random_normal({150, 200}, 1, "large");
  const Model gpt = load(folder_ / "gpt");
  const Embedder embedder(testing::golden("hf-more/st-cls"));
  const Classifier classifier(load(testing::golden("hf-more/bert-nli")));
  const std::vector<testing::Entry> entries{
      {"attention", [&](int) { return Bits().add(attention(q, q, q)); }},
      {"matmul", [&](int) { return Bits().add(matmul_transposed(large, large)); }},
      {"generate", [&](int) { return Bits().add(gpt.generate("a", {.max_new = 4})); }},
      {"embed", [&](int) { return Bits().add(embedder.embed("a river")); }},
      {"classify", [&](int) { return Bits().add(classifier.classify("a river")); }},
      {"set_threads",
       [&](int thread) {
         if (thread >= 0) set_threads(1 + thread % 3);
         return Bits().add(threads() > 0);
       }},
      {"load", [&](int) { return Bits().add(load(folder_ / "gpt").generate("a", {.max_new = 2})); }},
  };
  testing::expect_bits_of_each_alone(entries, 4);
}

TEST_P(SharedObjects, ObjectsOutliveThePoolThatTheyWereMadeWith) {
  const Model translator = load(folder_ / "translator"), gpt = load(folder_ / "gpt");
  const Embedder embedder(testing::golden("hf-more/st-cls"));
  const Classifier classifier(load(testing::golden("hf-more/bert-nli")));
  const Answerer answerer(load(testing::golden("tasks/roberta-qa")), {.window = 62});
  const Filler filler(load(testing::golden("tasks/roberta-fill")));
  const auto all = [&] {
    return Bits()
        .add(embedder.embed("a river"))
        .add(classifier.classify("a river"))
        .add(answerer.answer("Who?", "The bank has the money."))
        .add(filler.fill("The <mask> has.", 2))
        .add(translator.translate("the fox", {.max_new = 4}))
        .text();
  };
  const std::string before = all();
  Sessions sessions(gpt, {.rows = 2, .cache_tokens = 512});
  std::string text;
  sessions.join("the", {.max_new = 6}, {.done = [&](const SessionResult& result) { text = result.text; }});
  sessions.step();
  Learner learner;
  const Value w = learner.parameter("w", random_normal({6, 6}, 1, "w"));
  learner.begin();
  const Value loss = learner.squared_error(learner.linear(learner.constant(Tensor::zeros({6, 6})), w),
                                           random_normal({6, 6}, 1, "target"));
  for (const int count : {1, 3, 2}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    EXPECT_EQ(all(), before);
  }
  while (sessions.step()) {
  }
  EXPECT_EQ(text, gpt.generate("the", {.max_new = 6}));
  EXPECT_TRUE(std::isfinite(learner.step(loss, 1e-2f)));
}

}  // namespace
}  // namespace regard::testing

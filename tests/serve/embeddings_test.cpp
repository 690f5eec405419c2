// The members of requests to the routes of text-embeddings-inference and to POST / have an effect or are
// rejected.
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& task_server() {
  static TestServer only;
  return only;
}

TEST(Embeddings, DimensionsAreAtMostTheModels) {
  const std::size_t most = task_server().post("/embed", {{"inputs", "a"}}).json()[0].size();
  Json request{{"inputs", "a"}, {"dimensions", 4}};
  EXPECT_EQ(task_server().post("/embed", request).json()[0].size(), 4u);
  request["dimensions"] = most;
  EXPECT_EQ(task_server().post("/embed", request).json()[0].size(), most);
  request["dimensions"] = most + 1;
  EXPECT_EQ(task_server().post("/embed", request).status, 400);
}

// POST / and /similarity check all members that their handlers read.
TEST(Embeddings, MembersOfWrongTypesAreRefused) {
  const Json similar = {{"source_sentence", "a"}, {"sentences", {"a"}}};
  const std::pair<const char*, Json> requests[] = {
      {"/", {{"model", "embed"}, {"inputs", "a"}, {"dimensions", "x"}}},
      {"/", {{"model", "embed"}, {"inputs", "a"}, {"dimensions", -5}}},
      {"/", {{"model", "nli"}, {"inputs", "a"}, {"raw_scores", "x"}}},
      {"/similarity", {{"inputs", similar}, {"truncate", "x"}}}};
  for (const auto& [path, request] : requests)
    EXPECT_EQ(task_server().post(path, request).status, 400) << path << " " << request;
  const Json request{{"model", "embed"}, {"inputs", "a"}, {"parameters", {{"dimensions", 4}}}};
  EXPECT_EQ(task_server().post("/", request).json()[0].size(), 4u);
}

TEST(Inference, TopKIsTheNumberOfLabels) {
  Json request{{"model", "nli"}, {"inputs", "a dog"}};
  const Json all = task_server().post("/", request).json()[0];
  ASSERT_EQ(all.size(), 3u);
  request["parameters"] = {{"top_k", 2}};
  const Json best = task_server().post("/", request).json()[0];
  EXPECT_EQ(best, (Json{all[0], all[1]}));
}

TEST(Inference, UnknownTargetLanguagesAreRefused) {
  Json request{{"model", "translator"}, {"inputs", "the dog"}, {"parameters", {{"tgt_lang", "hi"}}}};
  EXPECT_EQ(task_server().post("/", request).status, 200);
  request["parameters"]["tgt_lang"] = "xx";
  EXPECT_EQ(task_server().post("/", request).status, 400);
}

}  // namespace
}  // namespace regard::testing

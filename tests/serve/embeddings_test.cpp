// The members of requests to the routes of text-embeddings-inference and to POST / take effect or are
// refused.
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& server() {
  static TestServer only;
  return only;
}

TEST(Embeddings, DimensionsAreAtMostTheModels) {
  const std::size_t most = server().post("/embed", {{"inputs", "a"}}).json()[0].size();
  Json request{{"inputs", "a"}, {"dimensions", 4}};
  EXPECT_EQ(server().post("/embed", request).json()[0].size(), 4u);
  request["dimensions"] = most;
  EXPECT_EQ(server().post("/embed", request).json()[0].size(), most);
  request["dimensions"] = most + 1;
  EXPECT_EQ(server().post("/embed", request).status, 400);
}

}  // namespace
}  // namespace regard::testing

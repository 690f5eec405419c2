// POST /attend/picture gives transformers' attention weights, and refuses files that are not pictures.
#include "base/file.h"
#include "formats/safetensors.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& picture_server() {
  static TestServer only(serve_options(), {"vit", "gpt"});
  return only;
}

Reply post_picture(const std::string& picture, const Json& request) {
  const std::string body =
      "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + request.dump() +
      "\r\n--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" + picture +
      "\r\n--edge--\r\n";
  return picture_server().post_form("/attend/picture", body, "multipart/form-data; boundary=edge");
}

// The page shows these numbers.
TEST(Picture, AttentionIsThatOfTransformers) {
  const auto file = formats::SafetensorsFile::open(golden("page/vit.safetensors"));
  const std::string picture = read_file(golden("page/picture.png"));
  const Reply reply = post_picture(picture, {{"full", true}, {"model", "vit"}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json capture = reply.json();
  EXPECT_EQ(capture["text"], "a.png");
  EXPECT_GT(capture["picture"]["png"].get<std::string>().size(), 0u);
  ASSERT_GT(capture["attention"].size(), 0u);
  for (const Json& head : capture["attention"]) {
    const Tensor expected = file->tensor("attentions." + std::to_string(head["layer"].get<int>()));
    const std::int64_t rows = expected.shape()[2], columns = expected.shape()[3];
    ASSERT_EQ(std::ssize(head["weights"]), rows);
    const float* values = expected.f32() + head["head"].get<std::int64_t>() * rows * columns;
    for (std::int64_t i = 0; i < rows * columns; ++i)
      ASSERT_NEAR(
          head["weights"][static_cast<std::size_t>(i / columns)][static_cast<std::size_t>(i % columns)]
              .get<float>(),
          values[i], 1e-5f);
  }
  const Json off = post_picture(picture, {{"full", true}, {"ablate", "encoder.0.0"}}).json();
  EXPECT_EQ(off["ablated"], Json::array({"encoder.0.0"}));
}

TEST(Picture, WrongRequestsAre400) {
  const std::string picture = read_file(golden("page/picture.png"));
  for (const Json& wrong :
       {Json{{"model", "gpt"}}, Json{{"text", "a"}}, Json{{"language", "en"}},
        Json{{"ablate", "encoder.9.9"}}, Json{{"generate", 3}}, Json{{"free", true}}, Json::array()})
    EXPECT_EQ(post_picture(picture, wrong).status, 400) << wrong;
  const std::string several("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1ab", 18);  // IDX file with two images
  for (const std::string& bad : {std::string(), std::string("no picture"), picture.substr(0, 60), several}) {
    const Reply reply = post_picture(bad, Json::object());
    EXPECT_EQ(reply.status, 400) << reply.body;
    EXPECT_EQ(reply.body.find("/proc"), std::string::npos) << reply.body;
  }
  // A model that reads pictures has no other task.
  EXPECT_EQ(picture_server().post("/attend", {{"model", "vit"}, {"text", "a"}}).status, 400);
  EXPECT_EQ(picture_server().get("/models/vit").json()["abilities"], Json::array({"attend_picture"}));
}

}  // namespace
}  // namespace regard::testing

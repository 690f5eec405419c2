// POST /attend/picture gives transformers' attention weights, and refuses files that are not pictures.
#include "base/file.h"
#include "formats/safetensors.h"
#include "regard/pictures.h"
#include "support/namespaces.h"
#include "support/test_server.h"

namespace regard::testing {
namespace {

TestServer& picture_server() {
  static TestServer only(serve_options(), {"vit", "gpt", "clip"});
  return only;
}

using Fields = std::vector<std::pair<std::string, std::string>>;

Reply post_labels(const std::string& picture, const Fields& fields) {
  std::string body;
  for (const auto& [name, value] : fields)
    body += "--edge\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  body += "--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" + picture +
          "\r\n--edge--\r\n";
  return picture_server().post_form("/classify/picture", body, "multipart/form-data; boundary=edge");
}

Reply post_picture(const std::string& picture, const Json& request) {
  const std::string body =
      "--edge\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n" + request.dump() +
      "\r\n--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\r\n" + picture +
      "\r\n--edge--\r\n";
  return picture_server().post_form("/attend/picture", body, "multipart/form-data; boundary=edge");
}

// The attention weights of the response, which the web page shows, equal those of transformers.
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

// If this fails, the score of a zero-shot label differs between HTTP and the library.
TEST(Picture, LabelsAreScoredAsInTheLibrary) {
  const Json about = read_json((golden("hf-more/clip-words") / "case.json").string());
  const Json& one = about["cases"][0];
  const auto file = golden("pictures") / one["picture"].get<std::string>();
  const std::string picture = read_file(file);
  Fields fields{{"model", "clip"}, {"pattern", one["pattern"].get<std::string>()}};
  std::vector<std::string> labels;
  for (const Json& label : about["labels"]) labels.push_back(label.get<std::string>());
  for (const std::string& label : labels) fields.emplace_back("labels", label);
  const Reply reply = post_labels(picture, fields);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Json found = reply.json()["labels"];
  ASSERT_EQ(found.size(), one["scores"].size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["label"], one["scores"][i][0]);
    EXPECT_NEAR(found[i]["score"].get<double>(), one["scores"][i][1].get<double>(), 5e-5);
  }
  const auto with = [&](const std::vector<std::string>& interventions) {
    Fields more = fields;
    for (const std::string& text : interventions) more.emplace_back("interventions", text);
    const Reply changed = post_labels(picture, more);
    EXPECT_EQ(changed.status, 200) << changed.body;
    return changed.json()["labels"];
  };
  EXPECT_EQ(with({"zero vision.encoder.0.0 positions=9000"}), found);
  const Json without = with({"zero vision.encoder.0.0"});
  EXPECT_NE(without, found);
  EXPECT_NE(with({"zero text.encoder.0.0"}), found);
  EXPECT_NE(with({"zero text.encoder.0.0"}), without);
  const ImageTextEncoder encoder(load(TestServer::folder("clip")),
                                 {.interventions = {"zero vision.encoder.0.0"}});
  const auto best = encoder.classify(file, labels, one["pattern"].get<std::string>());
  EXPECT_EQ(without[0]["label"], best[0][0].name);
  EXPECT_EQ(without[0]["score"].get<float>(), best[0][0].score);
  for (const Fields& wrong :
       {Fields{{"model", "clip"}}, Fields{{"model", "clip"}, {"labels", "a"}, {"pattern", "none"}},
        Fields{{"model", "clip"}, {"labels", "a"}, {"interventions", "zero encoder.0.0"}},
        Fields{{"model", "vit"}, {"labels", "a"}}, Fields{{"model", "gpt"}, {"labels", "a"}}})
    EXPECT_EQ(post_labels(picture, wrong).status, 400);
}

TEST(Picture, AModelScoresItsOwnLabels) {
  const std::string picture = read_file(golden("page/picture.png"));
  const Json whole = post_labels(picture, {{"model", "vit"}}).json()["labels"];
  ASSERT_GT(whole.size(), 1u);
  const Json without =
      post_labels(picture, {{"model", "vit"}, {"interventions", "zero encoder.0.0"}}).json()["labels"];
  EXPECT_EQ(without.size(), whole.size());
  EXPECT_NE(without, whole);
  const Json seen =
      post_picture(picture, {{"interventions", Json::array({"uniform encoder.0.0"})}, {"model", "vit"}})
          .json();
  EXPECT_EQ(seen["interventions"][0]["detail"], "uniform encoder.0.0");
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
  EXPECT_EQ(picture_server().post("/attend", {{"model", "vit"}, {"text", "a"}}).status, 400);
  EXPECT_EQ(picture_server().get("/models/vit").json()["abilities"],
            Json::array({"classify_picture", "attend_picture"}));
}

}  // namespace
}  // namespace regard::testing

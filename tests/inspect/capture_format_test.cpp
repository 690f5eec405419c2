// The capture format: its schema, its precision and its size.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/page.h"
#include "inspect/shown_tokens.h"
#include "support/json_schema.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"
#include "text/base64.h"

namespace regard::inspect {
namespace {

using nlohmann::json;

const json& schema() {
  static const json kSchema =
      json::parse(read_file((testing::source_folder() / "docs/capture.schema.json").string()));
  return kSchema;
}

void expect_fits(const json& capture) {
  const std::vector<std::string> found = testing::schema_violations(capture, schema());
  EXPECT_TRUE(found.empty()) << found.front();
}

// Return the numbers of a matrix, packed or not, row by row.
std::vector<double> numbers_of(const json& matrix) {
  std::vector<double> out;
  if (matrix.is_array()) {
    for (const json& row : matrix)
      for (const json& value : row) out.push_back(static_cast<double>(value.get<float>()));
    return out;
  }
  const std::string bytes = text::decode_base64(matrix["data"].get<std::string>()).value();
  const auto columns = matrix["columns"].get<std::size_t>();
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[i]));
  };
  if (matrix["bits"] == 32) {
    for (std::size_t i = 0; i < bytes.size(); i += 4)
      out.push_back(std::bit_cast<float>(byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24));
    return out;
  }
  const json& scale = matrix["scale"];
  for (std::size_t i = 0; i < bytes.size(); ++i)
    out.push_back(scale[scale.size() == 1 ? 0 : i / columns].get<double>() * byte(i) / 255);
  return out;
}

class CaptureFormat : public ::testing::Test {
 protected:
  View attended(const std::string& kind, AttendRequest request) {
    testing::write_text_model(folder_ / kind, kind);
    const auto loaded = infer::LoadedModel::open(folder_ / kind);
    if (loaded.model->kind() != ModelKind::encoder) generate_target(loaded, pool_, request, 5);
    return attend(loaded, pool_, request);
  }

  testing::TemporaryFolder folder_;
  ThreadPool pool_{1};
};

TEST_F(CaptureFormat, FitsItsSchemaInBothPrecisions) {
  AttendRequest request;
  request.text = "the quick fox";
  request.selection.values = request.page = true;
  request.ablated = {{Kind::decoder, 0, 1}};
  for (const char* kind : {"translator", "gpt"}) {
    const View view = attended(kind, request);
    for (const Precision precision : {Precision::bits8, Precision::full}) {
      const json capture = json::parse(to_json(view, precision));
      expect_fits(capture);
      EXPECT_EQ(capture["steps"].size(), capture["tokens"]["written"]["text"].size());
      EXPECT_EQ(capture["tokens"]["target"]["ids"].size(), capture["tokens"]["target"]["text"].size());
      EXPECT_FALSE(capture["activations"].empty());
      EXPECT_FALSE(capture["drawing"]["points"].empty());
      EXPECT_FALSE(capture["drawing"]["weights"].empty());
    }
  }
}

TEST_F(CaptureFormat, HasBeamsTokenizersAndFilm) {
  AttendRequest request;
  request.text = "the quick fox", request.beam = 2;
  View view = attended("translator", request);
  const auto loaded = infer::LoadedModel::open(folder_ / "translator");
  view.tokenizers.push_back(tokenized(*loaded.source, "own", view.text));
  view.film = Film{.heads = {view.maps[0].head}};
  view.film->frames.push_back({.step = 5, .translation = "a", .log_probability = -1, .maps = {view.maps[0]}});
  for (const Precision precision : {Precision::bits8, Precision::full}) {
    const json capture = json::parse(to_json(view, precision));
    expect_fits(capture);
    EXPECT_EQ(capture["tokenizers"][0]["tokens"], capture["tokens"]["source"]);
    EXPECT_EQ(capture["beams"]["ranking"].size(), 2u);
    EXPECT_EQ(capture["film"]["frames"][0]["weights"][0], capture["attention"][0]["weights"]);
  }
  view.beams->steps.resize(8193, {.kept = {{}}, .finished = {}});
  const json large = json::parse(to_json(view, Precision::bits8));
  EXPECT_FALSE(large.contains("beams"));
  EXPECT_NE(large["left_out"].get<std::string>().find("The beam search is left out."), std::string::npos);
}

TEST(CaptureSchema, NamesWhatDoesNotFit) {
  View view;
  Map map;
  map.rows = map.columns = 1;
  map.weights = {1.0f};
  view.tokens.source = {"a"};
  view.maps.push_back(map);
  const json good = json::parse(to_json(view));
  expect_fits(good);
  for (const auto& [pointer, value] : std::vector<std::pair<const char*, json>>{
           {"/version", 1},
           {"/precision", "16 bit"},
           {"/tokens/source/text/0", 5},
           {"/attention/0/pattern", "else"},
           {"/attention/0/weights", "none"},
           {"/attention/0/more", 1},
           {"/attention/0/layer", -1},
       }) {
    json bad = good;
    bad[json::json_pointer(pointer)] = value;
    EXPECT_FALSE(testing::schema_violations(bad, schema()).empty()) << pointer;
  }
  json bad = good;
  bad["attention"][0].erase("thumbnail");
  EXPECT_FALSE(testing::schema_violations(bad, schema()).empty());
}

TEST_F(CaptureFormat, HoldsExactVectorsAndWeightsWithinTheirPrecision) {
  AttendRequest request;
  request.text = "the quick fox";
  request.selection.values = true;
  request.selection.activations = {"residual", "encoder.embedding"};
  const View view = attended("translator", request);
  const json packed = json::parse(to_json(view)), full = json::parse(to_json(view, Precision::full));
  EXPECT_EQ(packed["precision"], "8 bit");
  EXPECT_EQ(full["precision"], "f32");
  ASSERT_EQ(packed["attention"].size(), view.maps.size());
  for (std::size_t m = 0; m < view.maps.size(); ++m) {
    const json &coarse = packed["attention"][m], &exact = full["attention"][m];
    for (const char* vectors : {"query", "key", "value"})
      EXPECT_EQ(numbers_of(coarse["values"][vectors]), numbers_of(exact["values"][vectors]));
    const std::vector<double> weights = numbers_of(coarse["weights"]);
    ASSERT_EQ(weights.size(), view.maps[m].weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      EXPECT_NEAR(weights[i], static_cast<double>(view.maps[m].weights[i]), 1.0 / 510 + 1e-6);
  }
  ASSERT_EQ(packed["activations"].size(), full["activations"].size());
  std::vector<std::string> names;
  for (std::size_t a = 0; a < packed["activations"].size(); ++a) {
    names.push_back(packed["activations"][a]["name"]);
    EXPECT_EQ(numbers_of(packed["activations"][a]["values"]), numbers_of(full["activations"][a]["values"]));
  }
  EXPECT_EQ(names.front(), "encoder.embedding");
  EXPECT_TRUE(std::ranges::count(names, "decoder.0.residual") == 1);
  EXPECT_FALSE(std::ranges::count(names, "decoder.embedding"));
}

TEST(CaptureInterventions, HaveKindAndPlaceInBothForms) {
  View view;
  view.tokens.source = {"a"};
  view.interventions = {"zero  decoder.0.1,decoder.1.residual[2]",
                        R"({"do": "zero", "at": ["decoder.0.1", "decoder.1.residual[2]"]})",
                        R"({"at": "decoder.0.1", "by": 0.5, "do": "scale"})"};
  const json list = json::parse(to_json(view))["interventions"];
  ASSERT_EQ(list.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(list[i]["kind"], i < 2 ? "zero" : "scale");
    EXPECT_EQ(list[i]["at"], i < 2 ? "decoder.0.1,decoder.1.residual[2]" : "decoder.0.1");
    EXPECT_EQ(list[i]["detail"], view.interventions[i]);
  }
}

// The listed tokens are sorted by probability, and greedy search generates the first one.
TEST_F(CaptureFormat, ListsTheMostProbableTokensOfEachStep) {
  AttendRequest request;
  request.text = "the quick fox";
  const View view = attended("gpt", request);
  ASSERT_EQ(view.steps.size(), view.tokens.written.size());
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    const GenerationStep& step = view.steps[i];
    ASSERT_FALSE(step.candidates.empty());
    double listed = 0;
    for (std::size_t c = 0; c < step.candidates.size(); ++c) {
      if (c > 0) {
        EXPECT_LE(step.candidates[c].logit, step.candidates[c - 1].logit);
      }
      listed += std::exp(static_cast<double>(step.candidates[c].logit) - step.log_sum_exp);
    }
    EXPECT_LE(listed, 1.0 + 1e-6);
    EXPECT_GT(listed, 0.0);
    EXPECT_LE(step.written_logit, step.candidates[0].logit);
  }
  const GenerationStep& last = view.steps.back();
  EXPECT_EQ(last.candidates[0].text, view.tokens.written.back());
  EXPECT_EQ(last.candidates[0].id, view.tokens.written_origin.back().id);
}

TEST_F(CaptureFormat, MarksWordsThatTheModelNeverSaw) {
  testing::write_file(folder_.path(), infer::kTrainingWordsFile, "the\t3\nfox\t1\n");
  const auto words = infer::TrainingWords::open(folder_.path());
  AttendRequest request;
  request.text = "the quick Fox";
  request.words = &*words;
  for (const char* kind : {"translator", "gpt"}) {
    const json capture = json::parse(to_json(attended(kind, request)));
    expect_fits(capture);
    EXPECT_EQ(capture["unseen_words"], json::array({"quick"}));
    const json& side =
        capture["tokens"].contains("source") ? capture["tokens"]["source"] : capture["tokens"]["target"];
    std::string marked;  // the tokens are characters
    for (std::size_t i = 0; i < side["text"].size(); ++i)
      if (side["unseen"][i].get<bool>()) marked += side["text"][i].get<std::string>();
    EXPECT_EQ(marked, "quick") << kind;
  }
  request.text = "the fox";
  EXPECT_FALSE(json::parse(to_json(attended("gpt", request))).contains("unseen_words"));
}

TEST_F(CaptureFormat, RefusesActivationsThatDoNotExist) {
  AttendRequest request;
  request.text = "the quick fox";
  request.selection.activations = {"residuals"};
  EXPECT_REGARD_ERROR(attended("gpt", request), ErrorKind::usage, "no activation 'residuals'");
}

// A capture of 12 layers of 12 heads over 512 tokens. Head number `most` has the highest
// HeadSummary::telling.
View large_view(std::int64_t most) {
  constexpr std::int64_t kTokens = 512;
  View view;
  for (std::int64_t t = 0; t < kTokens; ++t) view.tokens.source.push_back("token" + std::to_string(t));
  std::vector<float> weights(static_cast<std::size_t>(kTokens * kTokens));
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<float>((i * 2654435761u) % 1000) / 255000;
  weights[5] = 0.75f;
  for (std::int64_t head = 0; head < 144; ++head) {
    Map map;
    map.head = {Kind::encoder, head / 12, head % 12};
    map.rows = map.columns = kTokens;
    map.weights = weights;
    map.summary = HeadSummary{.telling = static_cast<double>((head + 144 - most - 1) % 144),
                              .caption = "A caption of usual length."};
    map.values.emplace();
    map.values->size = map.values->value_size = 64;
    map.values->query.assign(static_cast<std::size_t>(kTokens * 64), 0.123456f);
    map.values->key = map.values->value = map.values->query;
    view.maps.push_back(std::move(map));
  }
  return view;
}

// Page and capture together stay below 3 MB, and the capture lists the omitted values.
TEST(CaptureSize, StaysBelowThreeMegabytes) {
  View view = large_view(143);
  limit_values(view, 120000);
  const std::string page = to_html(view);
  EXPECT_LT(page.size(), 3000000u);
  const json capture = json::parse(to_json(view));
  expect_fits(capture);
  std::size_t with_weights = 0, with_values = 0;
  for (const json& head : capture["attention"]) {
    with_weights += head.contains("weights"), with_values += head.contains("values");
    EXPECT_EQ(head["thumbnail"]["rows"], 32);
    EXPECT_EQ(numbers_of(head["thumbnail"])[0], 0.75) << "the largest weight of the cell";
  }
  EXPECT_EQ(with_weights, 3u);
  EXPECT_EQ(with_values, 1u);
  EXPECT_TRUE(capture["attention"][143].contains("weights")) << "the most telling head";
  EXPECT_EQ(capture["left_out"],
            "Query, key and value vectors are left out for 143 of 144 heads. The weights of 141 of 144 heads "
            "are left out: these heads have a thumbnail only.");
}

// Two texts of 512 tokens in one page share the limits, and keep the same heads.
TEST(CaptureSize, StaysBelowThreeMegabytesWithASecondText) {
  View view = large_view(0);
  limit_values(view, 60000);
  auto other = std::make_shared<View>(large_view(7));
  limit_values(*other, 60000);
  view.compared = other;
  EXPECT_LT(to_html(view).size(), 3000000u);
  const json capture = json::parse(to_json(view));
  expect_fits(capture);
  std::size_t both = 0;
  for (std::size_t i = 0; i < 144; ++i) {
    const bool one = capture["attention"][i].contains("weights"),
               two = capture["compared"]["attention"][i].contains("weights");
    EXPECT_EQ(one, two) << i;
    both += one && two;
  }
  EXPECT_EQ(both, 1u);
  for (const json& part : {capture, capture["compared"]})
    EXPECT_NE(part["left_out"].get<std::string>().find("143 of 144 heads"), std::string::npos);
}

}  // namespace
}  // namespace regard::inspect

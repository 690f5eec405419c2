// Runner::attend: for every family, captures of tensors match the schema and are bit-identical to run().
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "regard/run.h"
#include "support/hf_folder.h"
#include "support/json_schema.h"
#include "support/namespaces.h"
#include "support/shared_data.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using nlohmann::json;
using testing::golden;

void expect_fits_schema(const std::string& capture) {
  static const json kSchema =
      json::parse(read_file((testing::source_folder() / "docs/capture.schema.json").string()));
  const std::vector<std::string> found = testing::schema_violations(json::parse(capture), kSchema);
  EXPECT_TRUE(found.empty()) << found.front();
}

// Return the columns of one row of a mask that are not padding. Without a mask, return all columns below
// `length`.
std::vector<std::int64_t> kept(const NamedTensors& inputs, const std::string& mask, std::int64_t row,
                               std::int64_t length) {
  std::vector<std::int64_t> columns;
  const auto found = inputs.find(mask);
  for (std::int64_t i = 0; i < length; ++i)
    if (found == inputs.end() || found->second.i64()[row * length + i] != 0) columns.push_back(i);
  return columns;
}

// Return the columns with a weight other than 0 in one row of `all` [batch, heads, queries, keys]. The mask
// of a sound has one column per sample instead of one per position.
std::vector<std::int64_t> attended(const Tensor& all, std::int64_t row) {
  std::vector<std::int64_t> columns;
  const Shape shape = all.shape();
  for (std::int64_t i = 0; i < shape[3]; ++i)
    if (all.f32()[row * shape[1] * shape[2] * shape[3] + i] != 0.0f) columns.push_back(i);
  return columns;
}

class RunnerAttend : public ::testing::TestWithParam<std::string> {
 protected:
  // Expect the weights of one row and layer to have the bits of `all` [batch, heads, queries, keys].
  void expect_weights(const Attention& attention, Kind kind, std::int64_t layer, const Tensor& all,
                      std::int64_t row) const {
    const Shape shape = all.shape();
    const char* target = encoder_decoder() ? "decoder_attention_mask" : "attention_mask";
    auto queries = kept(folder_.inputs, kind == Kind::encoder ? "attention_mask" : target, row, shape[2]);
    auto keys = kept(folder_.inputs, kind == Kind::decoder ? target : "attention_mask", row, shape[3]);
    if (folder_.inputs.count("input_values") != 0) queries = keys = attended(all, row);
    ASSERT_EQ(attention.heads(kind, layer), shape[1]);
    for (std::int64_t head = 0; head < shape[1]; ++head) {
      const Tensor weights = attention.weights(kind, layer, head);
      ASSERT_EQ(weights.shape(), (Shape{std::ssize(queries), std::ssize(keys)}));
      for (std::size_t q = 0; q < queries.size(); ++q)
        for (std::size_t k = 0; k < keys.size(); ++k)
          ASSERT_EQ(weights.row(static_cast<std::int64_t>(q))[k],
                    all.f32()[((row * shape[1] + head) * shape[2] + queries[q]) * shape[3] + keys[k]])
              << layer << "." << head << ": " << q << ", " << k;
    }
  }

  bool encoder_decoder() const { return folder_.inputs.count("decoder_input_ids") != 0; }

  testing::HfFolder folder_{GetParam()};
};

TEST_P(RunnerAttend, HasTheBitsOfRun) {
  const Runner runner(folder_.path);
  const NamedTensors all = runner.run(folder_.inputs, {.capture = {"attentions"}});
  const std::vector<Attention> rows = runner.attend(folder_.inputs);
  ASSERT_EQ(std::ssize(rows), all.begin()->second.shape()[0]);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Attention& attention = rows[row];
    expect_fits_schema(attention.json());
    std::int64_t layers = 0;
    for (const auto& [name, weights] : all) {
      const std::size_t dot = name.find('.');
      const Kind kind = name.starts_with("cross")                                             ? Kind::cross
                        : name.starts_with("encoder")                                         ? Kind::encoder
                        : name.starts_with("decoder") || attention.layers(Kind::encoder) == 0 ? Kind::decoder
                                                                                              : Kind::encoder;
      expect_weights(attention, kind, std::stoll(name.substr(dot + 1)), weights,
                     static_cast<std::int64_t>(row));
      ++layers;
    }
    EXPECT_EQ(layers, attention.layers(Kind::encoder) + attention.layers(Kind::decoder) +
                          attention.layers(Kind::cross));
  }
}

INSTANTIATE_TEST_SUITE_P(HfTiny, RunnerAttend, ::testing::ValuesIn(testing::hf_folder_names()),
                         [](const auto& family) {
                           std::string name = family.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(RunnerCapture, HasWhatIsSelected) {
  const testing::HfFolder folder("vit");
  const Runner runner(folder.path);
  const std::vector<Attention> found = runner.attend(folder.inputs, {.layers = {1},
                                                                     .heads = {2},
                                                                     .values = true,
                                                                     .activations = {"encoder.0.residual"},
                                                                     .interventions = {"zero encoder.0.1"}});
  ASSERT_EQ(found.size(), 2u);
  const json capture = json::parse(found[1].json());
  EXPECT_EQ(capture["text"], "pixel_values[1]");
  EXPECT_EQ(capture["tokens"]["source"]["text"].size(), 17u);
  EXPECT_EQ(capture["attention"].size(), 1u);
  EXPECT_TRUE(capture["attention"][0].contains("values"));
  EXPECT_EQ(capture["activations"].size(), 1u);
  EXPECT_EQ(capture["interventions"][0]["detail"], "zero encoder.0.1");
  EXPECT_EQ(found[0].weights(Kind::encoder, 1, 2).rows(), 17);
  const NamedTensors changed =
      runner.run(folder.inputs, {.capture = {"hidden_states.1"}, .interventions = {"zero encoder.0.1"}});
  const Tensor& states = changed.at("hidden_states.1");
  const json& values = capture["activations"][0]["values"];
  for (std::size_t row = 0; row < 17; ++row)
    for (std::size_t i = 0; i < 32; ++i)
      EXPECT_EQ(values[row][i].get<float>(), states.f32()[(17 + row) * 32 + i]);
}

TEST(RunnerCapture, RefusesWhatItCannotShow) {
  const testing::HfFolder bart("bart"), bert("bert");
  NamedTensors inputs = bart.inputs;
  inputs.erase("decoder_input_ids");
  EXPECT_REGARD_ERROR(Runner(bart.path).attend(inputs), ErrorKind::invalid_input, "decoder_input_ids");
  const Runner runner(bert.path);
  EXPECT_REGARD_ERROR(runner.attend(bert.inputs, {.layers = {9}}), ErrorKind::usage, "layers 0 to");
  EXPECT_REGARD_ERROR(runner.attend(bert.inputs, {.activations = {"nothing"}}), ErrorKind::usage, "nothing");
  EXPECT_REGARD_ERROR(runner.attend({}), ErrorKind::invalid_input, "missing");
  inputs = bert.inputs;
  inputs["attention_mask"] = bert.inputs.at("attention_mask").clone();
  const std::int64_t length = inputs["attention_mask"].shape()[1];
  std::fill_n(inputs["attention_mask"].i64() + length, length, 0);
  EXPECT_REGARD_ERROR(runner.attend(inputs), ErrorKind::invalid_input, "row 1 of \"input_ids\"");
}

// For a model with two encoders, the captures of the texts come before the captures of the images. Each
// encoder has its own interventions.
TEST(RunnerCapture, ShowsBothEncodersOfADualEncoder) {
  const testing::Golden case_of("hf-more", "clip");
  NamedTensors inputs;
  for (const char* name : {"input_ids", "attention_mask", "pixel_values"})
    if (case_of.has(name)) inputs[name] = case_of.tensor(name);
  const Runner runner(golden("hf-more/clip"));
  const NamedTensors all = runner.run(inputs, {.capture = {"attentions"}});
  const std::vector<Attention> whole = runner.attend(inputs),
                               changed =
                                   runner.attend(inputs, {.interventions = {"uniform vision.encoder.0.0"}});
  const auto texts = static_cast<std::size_t>(inputs.at("input_ids").shape()[0]);
  ASSERT_EQ(whole.size(), texts + static_cast<std::size_t>(inputs.at("pixel_values").shape()[0]));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    expect_fits_schema(whole[i].json());
    const bool text = i < texts;
    EXPECT_EQ(json::parse(whole[i].json())["drawing"]["input"], text ? "tokens" : "pixels");
    const Tensor before = whole[i].weights(Kind::encoder, 0, 0);
    EXPECT_EQ(equal_bits(before, changed[i].weights(Kind::encoder, 0, 0)), text);
    if (text) continue;
    const Tensor& weights = all.at("vision_model_output.attentions.0");
    const std::int64_t size = before.elements(), heads = weights.shape()[1];
    EXPECT_TRUE(std::equal(before.f32(), before.f32() + size,
                           weights.f32() + static_cast<std::int64_t>(i - texts) * heads * size));
  }
}

}  // namespace
}  // namespace regard::testing

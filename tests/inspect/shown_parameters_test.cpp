// The parameters of the shown heads equal the tensors of the checkpoint. With them, the model's own queries,
// values and outputs are computed from the layer's input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.h"
#include "formats/safetensors.h"
#include "inspect/attend.h"
#include "inspect/capture_json.h"
#include "inspect/edited_pass.h"
#include "inspect/packed.h"
#include "inspect/shown_parameters.h"
#include "support/golden.h"
#include "support/hf_folder.h"
#include "support/json_schema.h"
#include "support/program.h"
#include "support/shared_data.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "text/base64.h"

namespace regard::inspect {
namespace {

using nlohmann::json;

// Copy a folder of hf-tiny and add a tokenizer that reads "t5 t7" as the ids 5 and 7.
void copy_with_tokenizer(const std::string& name, const std::filesystem::path& to) {
  std::filesystem::copy(testing::golden("hf-tiny/" + name), to, std::filesystem::copy_options::recursive);
  const json config = json::parse(read_file((to / "config.json").string()));
  const json& sized = config.contains("decoder") ? config["decoder"] : config;
  json vocabulary = json::object();
  for (int id = 0; id < sized["vocab_size"].get<int>(); ++id) vocabulary["t" + std::to_string(id)] = id;
  const json tokenizer{{"version", "1.0"},
                       {"added_tokens", json::array()},
                       {"normalizer", nullptr},
                       {"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
                       {"post_processor", nullptr},
                       {"decoder", nullptr},
                       {"model", {{"type", "WordLevel"}, {"vocab", vocabulary}, {"unk_token", "t0"}}}};
  testing::write_file(to, "tokenizer.json", tokenizer.dump());
}

AttendRequest request_for(const std::string& text) {
  AttendRequest request;
  request.text = text;
  request.selection.values = request.selection.parameters = true;
  request.selection.activations = {"input", "output"};
  return request;
}

View attended(const infer::LoadedModel& loaded, AttendRequest request) {
  ThreadPool pool(1);
  if (loaded.model->kind() == ModelKind::encoder_decoder) generate_target(loaded, pool, request, 4);
  return attend(loaded, pool, request);
}

const Activation* activation(const View& view, const std::string& point) {
  const auto found = std::find_if(view.activations.begin(), view.activations.end(),
                                  [&](const Activation& one) { return one.point == point; });
  return found == view.activations.end() ? nullptr : &*found;
}

// Return x W + b for x [rows, in].
std::vector<float> projected(std::span<const float> x, const Projection& one, bool biased = true) {
  const std::int64_t in = one.weight.rows(), out = one.weight.columns();
  std::vector<float> y;
  for (std::int64_t row = 0; row < std::ssize(x) / in; ++row)
    for (std::int64_t column = 0; column < out; ++column) {
      double sum = biased && one.bias.defined() ? static_cast<double>(one.bias.f32()[column]) : 0.0;
      for (std::int64_t i = 0; i < in; ++i)
        sum += static_cast<double>(x[static_cast<std::size_t>(row * in + i)]) *
               static_cast<double>(one.weight.row(i)[column]);
      y.push_back(static_cast<float>(sum));
    }
  return y;
}

void expect_near(std::span<const float> found, std::span<const float> expected, float tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  float largest = 1.0f;
  for (const float value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * largest) << what << " element " << i;
}

// Return Σ_heads weights V W_O + b, for all heads of one layer.
std::vector<float> joined(const std::vector<const Map*>& heads) {
  std::vector<float> sum;
  for (const Map* head : heads) {
    const HeadValues& values = *head->values;
    std::vector<float> context(static_cast<std::size_t>(head->rows * values.value_size), 0.0f);
    for (std::int64_t row = 0; row < head->rows; ++row)
      for (std::int64_t key = 0; key < head->columns; ++key)
        for (std::int64_t i = 0; i < values.value_size; ++i)
          context[static_cast<std::size_t>(row * values.value_size + i)] +=
              head->at(row, key) * values.value[static_cast<std::size_t>(key * values.value_size + i)];
    const std::vector<float> part = projected(context, head->parameters->output, head == heads[0]);
    sum.resize(part.size(), 0.0f);
    for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

// Rotary positions and head norms change queries and keys after the projection.
bool changes_queries(const std::string& family) {
  for (const char* name : {"llama", "mistral", "gemma", "qwen"})
    if (family.starts_with(name)) return true;
  return false;
}

TEST(ShownParameters, GiveTheModelsQueriesValuesAndOutputsInEveryFamily) {
  for (const std::string& name : testing::hf_folder_names()) {
    if (!testing::Golden("hf-tiny", name).has("input_ids")) continue;  // pictures and sounds
    const testing::TemporaryFolder folder;
    copy_with_tokenizer(name, folder / name);
    const auto loaded = infer::LoadedModel::open(folder / name);
    const View view = attended(loaded, request_for("t5 t9 t5 t11 t20 t7"));
    ASSERT_FALSE(view.maps.empty());
    std::map<std::string, std::vector<const Map*>> layers;
    for (const Map& map : view.maps) {
      ASSERT_TRUE(map.parameters) << name;
      const std::string point = attention_name(map.head.kind, map.head.layer);
      layers[point].push_back(&map);
      const Activation* input = activation(view, point + ".input");
      const Activation* memory = map.head.kind == Kind::cross ? activation(view, "encoder.output") : input;
      ASSERT_TRUE(input != nullptr && memory != nullptr) << name << " " << point;
      const std::string what = name + " " + map.head.text();
      expect_near(projected(memory->numbers, map.parameters->value), map.values->value, 1e-4f,
                  what + " value");
      if (changes_queries(name)) continue;
      expect_near(projected(input->numbers, map.parameters->query), map.values->query, 1e-4f,
                  what + " query");
      expect_near(projected(memory->numbers, map.parameters->key), map.values->key, 1e-4f, what + " key");
    }
    for (const auto& [point, heads] : layers)
      expect_near(joined(heads), activation(view, point + ".output")->numbers, 1e-4f, name + " " + point);
  }
}

// BERT stores [out, in], GPT-2 one matrix [in, query | key | value]. Shown weights are computed by projecting
// the identity matrix and subtracting the bias; the tolerance is the rounding error of this subtraction.
TEST(ShownParameters, AreTheTensorsOfTheCheckpoint) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"bert", "gpt2"}) copy_with_tokenizer(name, folder / name);
  const auto check = [&](const std::string& name, const char* tensor, std::int64_t heads,
                         const auto& element) {
    const auto loaded = infer::LoadedModel::open(folder / name);
    const View view = attended(loaded, request_for("t5 t9 t7"));
    const auto file = formats::SafetensorsFile::open(folder / name / "model.safetensors");
    const Tensor stored = file->tensor(tensor);
    const Map& map = view.maps[static_cast<std::size_t>(heads + 1)];  // layer 1, head 1
    ASSERT_EQ(map.head.layer, 1);
    ASSERT_EQ(map.head.head, 1);
    const Tensor& weight = map.parameters->key.weight;
    for (std::int64_t i = 0; i < weight.rows(); ++i)
      for (std::int64_t c = 0; c < weight.columns(); ++c)
        ASSERT_NEAR(weight.row(i)[c], element(stored, i, c, weight.columns()), 1e-7f)
            << name << " " << i << ", " << c;
  };
  check(
      "bert", "encoder.layer.1.attention.self.key.weight", 4,
      [](const Tensor& w, std::int64_t i, std::int64_t c, std::int64_t size) { return w.row(size + c)[i]; });
  check("gpt2", "transformer.h.1.attn.c_attn.weight", 4,
        [](const Tensor& w, std::int64_t i, std::int64_t c, std::int64_t size) {
          return w.row(i)[w.columns() / 3 + size + c];
        });
}

// For a model that is quantised to int8, the shown weights are the quantised weights.
TEST(ShownParameters, OfAnInt8ModelAreItsQuantisedWeights) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt");
  const auto exact = infer::LoadedModel::open(folder / "gpt", WeightMode::stored);
  const auto coarse = infer::LoadedModel::open(folder / "gpt", WeightMode::int8);
  const View one = attended(exact, request_for("the fox")), other = attended(coarse, request_for("the fox"));
  const Tensor &w = one.maps[0].parameters->query.weight, &q = other.maps[0].parameters->query.weight;
  bool differs = false;
  for (std::int64_t c = 0; c < w.columns(); ++c) {
    float largest = 0;
    for (std::int64_t i = 0; i < w.rows(); ++i) largest = std::max(largest, std::abs(w.row(i)[c]));
    for (std::int64_t i = 0; i < w.rows(); ++i) {
      ASSERT_NEAR(q.row(i)[c], w.row(i)[c], largest / 127) << i << ", " << c;
      differs = differs || q.row(i)[c] != w.row(i)[c];
    }
  }
  EXPECT_TRUE(differs);
}

TEST(ShownParameters, AreWrittenWith16BitsOrExactly) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "translator", "translator");
  const auto loaded = infer::LoadedModel::open(folder / "translator");
  const View view = attended(loaded, request_for("the fox"));
  const json schema =
      json::parse(read_file((testing::source_folder() / "docs/capture.schema.json").string()));
  const json packed = json::parse(to_json(view)), full = json::parse(to_json(view, Precision::full));
  for (const json& capture : {packed, full}) {
    const auto found = testing::schema_violations(capture, schema);
    EXPECT_TRUE(found.empty()) << found.front();
  }
  for (std::size_t m = 0; m < view.maps.size(); ++m)
    for (const auto& [name, one] : std::map<std::string, Projection>{
             {"query", view.maps[m].parameters->query}, {"output", view.maps[m].parameters->output}}) {
      const json& coarse = packed["attention"][m]["parameters"][name]["weight"];
      const json& exact = full["attention"][m]["parameters"][name]["weight"];
      ASSERT_EQ(coarse["bits"], 16);
      const std::string bytes = text::decode_base64(coarse["data"].get<std::string>()).value();
      const std::int64_t columns = one.weight.columns();
      for (std::int64_t i = 0; i < one.weight.elements(); ++i) {
        const float value = one.weight.f32()[i];
        const auto low = static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(2 * i)]);
        const auto high = static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(2 * i + 1)]);
        const auto scale = coarse["scale"][static_cast<std::size_t>(i / columns)].get<float>();
        const auto whole = static_cast<std::int16_t>(static_cast<std::uint16_t>(low | high << 8));
        ASSERT_NEAR(scale * static_cast<float>(whole) / 32767, value, scale / 60000) << name;
        ASSERT_EQ(
            exact[static_cast<std::size_t>(i / columns)][static_cast<std::size_t>(i % columns)].get<float>(),
            value);
      }
    }
}

TEST(ShownParameters, AreLeftOutOfLongTextsAndAboveTheLimit) {
  const testing::TemporaryFolder folder;
  testing::write_text_model(folder / "gpt", "gpt", 200);
  const auto loaded = infer::LoadedModel::open(folder / "gpt");
  std::string text;
  for (int i = 0; i < 20; ++i) text += "the fox ";
  const View view = attended(loaded, request_for(text));
  for (const Map& map : view.maps) EXPECT_FALSE(map.parameters);
  EXPECT_NE(view.left_out.find("W_Q, W_K, W_V and W_O are left out for"), std::string::npos) << view.left_out;

  ThreadPool pool(1);
  Selection selection;
  selection.values = selection.parameters = true;
  Capture capture(selection);
  const std::vector<std::int32_t> ids{5, 6, 7};
  run_with_probe(*loaded.model, pool, {}, ids, &capture);
  View few;
  few.tokens.target = few.tokens.written = {"a", "b", "c"};
  few.maps = maps_of(capture, false);
  ASSERT_GE(few.maps.size(), 3u);
  View more = few;
  const auto size = static_cast<std::size_t>(capture.parameters(Kind::decoder, 0)->weights_of_head());
  const auto points = add_parameters(capture, pool, 2 * size - 1, few);
  const auto shown = [](const View& some) {
    return std::ranges::count_if(some.maps, [](const Map& map) { return map.parameters.has_value(); });
  };
  EXPECT_EQ(shown(few), 1);
  EXPECT_EQ(points.size(), 2u);
  add_parameters(capture, pool, 2 * size, more);
  EXPECT_EQ(shown(more), 2);
}

// Activations are computed for the step-by-step view if source and target have at most 64 tokens each, and
// for the page if (source tokens + target tokens) · hidden size is at most 30000.
TEST(ShownParameters, ActivationsAreComputedForShortInputs) {
  const testing::TemporaryFolder folder;
  copy_with_tokenizer("t5", folder / "t5");
  const auto loaded = infer::LoadedModel::open(folder / "t5");
  ASSERT_EQ(loaded.model->hidden_size(), 32);
  ThreadPool pool(1);
  const auto has_activations = [&](AttendRequest request, int source, std::size_t target, bool read) {
    for (int i = 0; i < source; ++i) request.text += "t5 ";
    (read ? request.decoder_ids : request.written).assign(target, 7);
    return !attend(loaded, pool, request).activations.empty();
  };
  AttendRequest steps, page;
  steps.selection.values = steps.selection.parameters = true;
  page.selection.weights = false, page.page = true;
  for (const bool read : {false, true}) {
    EXPECT_TRUE(has_activations(steps, 64, 64, read));
    EXPECT_FALSE(has_activations(steps, 65, 64, read));
    EXPECT_FALSE(has_activations(steps, 64, 65, read));
    EXPECT_TRUE(has_activations(page, 900, 37, read)) << "937 × 32 ≤ 30000";
    EXPECT_FALSE(has_activations(page, 901, 37, read));
    EXPECT_FALSE(has_activations(page, 900, 38, read));
  }
}

}  // namespace
}  // namespace regard::inspect

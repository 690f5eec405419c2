// Reading of config.json: both sides of every limit, the values of absent keys, and the messages.
#include "models/families/config_reader.h"

#include <gtest/gtest.h>

#include "models/families/encoder_heads.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using models::families::ConfigReader;

// Expect that `read` accepts the values in `good` and refuses those in `bad`, each as the value of "key".
template <class Read>
void expect_limits(const Read& read, const std::vector<Json>& good, const std::vector<Json>& bad) {
  for (const Json& value : good) {
    const Json config{{"key", value}};
    EXPECT_NO_THROW(read(ConfigReader(config, "c.json"))) << value;
  }
  for (const Json& value : bad) {
    const Json config{{"key", value}};
    EXPECT_REGARD_ERROR(read(ConfigReader(config, "c.json")), ErrorKind::bad_file, "c.json: ");
  }
}

TEST(ConfigReader, HasLimitsForEveryKindOfNumber) {
  using models::families::kLargestSize;
  expect_limits([](const ConfigReader& config) { config.size("key"); }, {1, kLargestSize},
                {0, -1, kLargestSize + 1, 1.0, "1", nullptr});
  expect_limits([](const ConfigReader& config) { config.size("key", 5); }, {1, kLargestSize, nullptr},
                {0, kLargestSize + 1});
  expect_limits([](const ConfigReader& config) { config.layers("key"); }, {1, 1024}, {0, 1025});
  expect_limits([](const ConfigReader& config) { config.divisor("key", 12, "whole"); }, {1, 3, 12},
                {0, 5, 24});
  expect_limits([](const ConfigReader& config) { config.number("key", 0.0, -1.5, 2.5); },
                {-1.5, 0, 2.5, nullptr}, {-1.6, 2.6, "1"});
  expect_limits([](const ConfigReader& config) { config.epsilon("key", 1e-5); }, {1e-30, 0.999},
                {0.0, 1.0, 1, -1e-5, nullptr});
  expect_limits([](const ConfigReader& config) { config.rate("key", 0.1f); }, {0, 1, 0.5, nullptr},
                {-0.1, 1.1});
  expect_limits([](const ConfigReader& config) { config.token("key", 10); }, {-1, 0, 9, nullptr},
                {-2, 10, 1.5});
  expect_limits([](const ConfigReader& config) { config.flag("key", true); }, {true, false, nullptr},
                {1, "true"});
  expect_limits([](const ConfigReader& config) { config.word("key", ""); }, {"", "a", nullptr}, {1, false});
  expect_limits([](const ConfigReader& config) { config.only("key", "a", "More"); }, {"a", nullptr},
                {"b", 1});
}

TEST(ConfigReader, ReturnsDefaultsForAbsentKeys) {
  const Json none = Json::object(), null{{"key", nullptr}};
  for (const Json* json : {&none, &null}) {
    const ConfigReader config(*json, "c.json");
    EXPECT_FALSE(config.has("key"));
    EXPECT_EQ(config.size("key", 5), 5);
    EXPECT_EQ(config.number("key", 7.5, 0, 1), 7.5);
    EXPECT_EQ(config.rate("key", 0.25f), 0.25f);
    EXPECT_TRUE(config.flag("key", true));
    EXPECT_EQ(config.word("key", "usual"), "usual");
    EXPECT_EQ(config.token("key", 10), -1);
  }
  const ConfigReader config(none, "c.json");
  EXPECT_EQ(config.epsilon("key", 0.5), 0.5);
  EXPECT_EQ(config.activation("key", "gelu_new"), kernels::Activation::gelu_tanh);
  EXPECT_REGARD_ERROR(config.size("key"), ErrorKind::bad_file, "c.json: the key \"key\" is missing");
  const Json certain{{"key", 1}};
  EXPECT_EQ(ConfigReader(certain, "c.json").rate("key", 0.1f), 0.9999f) << "a rate of 1 keeps no value";
}

TEST(ConfigReader, MessagesHaveTheValueAndTheLimit) {
  const Json json{{"key", 5}, {"word", "b"}};
  const ConfigReader config(json, "c.json");
  EXPECT_REGARD_ERROR(
      config.divisor("key", 12, "hidden_size"), ErrorKind::bad_file,
      "c.json: the value of \"key\" is invalid (expected a divisor of hidden_size, 12, found the "
      "number 5)");
  EXPECT_REGARD_ERROR(config.number("key", 0, -1.0, 2.5), ErrorKind::bad_file,
                      "(expected a number from -1.0 to 2.5, found the number 5)");
  EXPECT_REGARD_ERROR(config.epsilon("key", 0.1), ErrorKind::bad_file,
                      "(expected a number above 0 and below 1, found the number 5)");
  EXPECT_REGARD_ERROR(config.token("key", 5), ErrorKind::bad_file,
                      "\"key\" is out of range (expected a value from -1 to 4, found the number 5)");
  EXPECT_REGARD_ERROR(config.only("word", "a", "Another word"), ErrorKind::bad_file,
                      "(expected \"a\", found the string \"b\"). Another word is not supported");
  EXPECT_REGARD_ERROR(
      config.activation("word", "relu"), ErrorKind::bad_file,
      "(expected gelu, gelu_python, gelu_new, gelu_pytorch_tanh, gelu_python_tanh, gelu_fast, "
      "gelu_accurate, relu, silu, swish, tanh, sigmoid, quick_gelu, found the string \"b\")");
  EXPECT_STREQ(config.wrong("none", "a").what(),
               "c.json: the value of \"none\" is invalid (expected a, found no such key)");
}

TEST(ConfigReader, PaddingIsInTheVocabulary) {
  const auto padding = [](const Json& json, std::int64_t fallback) {
    return ConfigReader(json, "c.json").padding(10, fallback);
  };
  EXPECT_EQ(padding({{"pad_token_id", 9}}, 3), 9);
  EXPECT_EQ(padding({{"pad_token_id", nullptr}}, 3), -1);
  EXPECT_EQ(padding(Json::object(), 9), 9);
  EXPECT_REGARD_ERROR(padding({{"pad_token_id", 10}}, 3), ErrorKind::bad_file, "pad_token_id");
  EXPECT_REGARD_ERROR(
      padding(Json::object(), 10), ErrorKind::bad_file,
      "(expected the key to be present, because the default value, 10, is outside the vocabulary, "
      "found no such key)");
}

TEST(ConfigReader, ChecksTheKeysOfAllFamilies) {
  const auto check = [](const char* key, const Json& value) {
    const Json json{{key, value}};
    models::families::check_common(ConfigReader(json, "c.json"), 10);
  };
  for (const char* key : {"pad_token_id", "bos_token_id", "decoder_start_token_id", "eos_token_id"}) {
    for (const Json& value : {Json(-1), Json(9), Json(nullptr)}) EXPECT_NO_THROW(check(key, value)) << key;
    for (const Json& value : {Json(-2), Json(10)})
      EXPECT_REGARD_ERROR(check(key, value), ErrorKind::bad_file,
                          std::string("\"") + key + "\" is out of range");
  }
  EXPECT_NO_THROW(check("eos_token_id", Json{0, 9}));
  EXPECT_NO_THROW(check("eos_token_id", Json::array()));
  for (const Json& value : {Json{3, -1}, Json{10, 3}})
    EXPECT_REGARD_ERROR(check("eos_token_id", value), ErrorKind::bad_file, "expected ids of the vocabulary");
  for (const char* key : {"dtype", "torch_dtype"}) {
    for (const char* dtype : {"float32", "float16", "bfloat16", "float64", "auto"})
      EXPECT_NO_THROW(check(key, dtype)) << dtype;
    EXPECT_NO_THROW(check(key, nullptr));
    EXPECT_REGARD_ERROR(check(key, "int8"), ErrorKind::bad_file,
                        std::string("the value of \"") + key +
                            "\" is invalid (expected float32, float16, bfloat16 or float64, found the string "
                            "\"int8\")");
  }
  EXPECT_REGARD_ERROR(check("quantization_config", Json::object()), ErrorKind::bad_file,
                      "Use the unquantised original model");
  EXPECT_REGARD_ERROR(check("auto_map", Json::object()), ErrorKind::bad_file,
                      "Code in a folder is never run");
}

TEST(ConfigReader, ClassesAndLabels) {
  const auto architecture = [](const Json& json) {
    return models::families::architecture_of(ConfigReader(json, "c.json"), {"First", "Second"});
  };
  EXPECT_EQ(architecture(Json::object()), "First");
  EXPECT_EQ(architecture({{"architectures", Json::array()}}), "First");
  EXPECT_EQ(architecture({{"architectures", Json{"Second", "First"}}}), "Second");
  EXPECT_REGARD_ERROR(architecture({{"architectures", Json{"Third", "First"}}}), ErrorKind::bad_file,
                      "unsupported architecture of this family (expected First, Second, found \"Third\")");
  const auto labels = [](const Json& json) {
    return models::families::label_count(ConfigReader(json, "c.json"));
  };
  EXPECT_EQ(labels(Json::object()), 2);
  EXPECT_EQ(labels({{"num_labels", 5}}), 5);
  EXPECT_EQ(labels({{"num_labels", 5}, {"id2label", {{"0", "a"}, {"1", "b"}, {"2", "c"}}}}), 3);
  for (const Json& wrong : {Json::object(), Json{"a", "b"}})
    EXPECT_REGARD_ERROR(labels({{"id2label", wrong}}), ErrorKind::bad_file,
                        "expected an object with the names of the classes");
}

TEST(EncoderHeads, NormalInitialisationReachesEveryWeightOfABlock) {
  nn::BlockConfig block;
  block.adapter.emplace();
  models::families::initialise_normal(block, 0.03);
  for (const Initialisation& initial :
       {block.self.initial, block.self.output_initial, block.cross.initial, block.cross.output_initial,
        block.feed_forward.initial, block.feed_forward.output_initial, block.adapter->initial,
        block.adapter->output_initial}) {
    EXPECT_EQ(initial.kind, Initialisation::Kind::normal);
    EXPECT_EQ(initial.value, 0.03);
  }
  nn::BlockConfig without;
  models::families::initialise_normal(without, 0.03);
  EXPECT_FALSE(without.adapter.has_value());
}

}  // namespace
}  // namespace regard::testing

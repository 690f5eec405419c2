#include "base/json.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "support/namespaces.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

Json parse(std::string_view text) {
  return parse_json(text, "x.json");
}

TEST(Json, KeepsOrderAndValues) {
  const Json value = parse(R"({"b": [1, -2, 3.5, true, null], "a": "\u00e9\ud83d\ude00"})");
  EXPECT_EQ(value.begin().key(), "b");
  EXPECT_EQ(value["b"].dump(), "[1,-2,3.5,true,null]");
  EXPECT_EQ(value["a"].get<std::string>(), "é😀");
}

TEST(Json, RefusesWhatIsNotStrictJson) {
  const char* wrong[] = {
      "",           "{",      "[1,]",           "{\"a\":1,}",  "// x\n1",      "NaN",
      "[Infinity]", "1 2",    "{}\xEF\xBB\xBF", "'a'",         "\"\xC3\x28\"", "\"\x01\"",
      "1e999",      "-1e999", "\"\\ud800\"",    "\"\\u12g4\"", "01",           "+1",
      ".5",         "[1",     "{\"a\" 1}",      "{a:1}",       "/* */ 1",      "{\"a\":1}x"};
  for (const char* text : wrong) EXPECT_THROW(parse(text), Error) << text;
  EXPECT_THROW(parse(std::string_view("\"\0\"", 3)), Error);
  EXPECT_THROW(parse(std::string_view("{}\0", 3)), Error);
}

TEST(Json, NamesTheByte) {
  try {
    parse("{\"a\": 1, \"b\": x}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.place().file, "x.json");
    EXPECT_EQ(error.place().byte, 14);
  }
}

TEST(Json, RefusesDuplicateKeysAlsoWhenEscaped) {
  EXPECT_REGARD_ERROR(parse(R"({"a":1,"a":1})"), ErrorKind::bad_file, "\"a\" is duplicated");
  EXPECT_REGARD_ERROR(parse(R"([{"a":1,"\u0061":2}])"), ErrorKind::bad_file, "duplicated");
  for (const int keys : {3, 15, 16, 17, 34, 35, 1000}) {
    std::string many = "{";
    for (int i = 0; i < keys; ++i) many += "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    EXPECT_EQ(parse(many + "\"last\":{}}").size(), static_cast<std::size_t>(keys) + 1);
    for (const int again : {0, keys / 2, keys - 1}) {
      const std::string name = std::to_string(again);
      EXPECT_REGARD_ERROR(parse(many + "\"" + name + "\":0}"), ErrorKind::bad_file,
                          "\"" + name + "\" is duplicated");
    }
  }
  EXPECT_NO_THROW(parse(R"({"a":{"a":1},"b":{"a":1}})"));
}

TEST(Json, LimitsDepthAndSize) {
  EXPECT_NO_THROW(parse(std::string(128, '[') + std::string(128, ']')));
  EXPECT_REGARD_ERROR(parse(std::string(129, '[') + std::string(129, ']')), ErrorKind::bad_file, "too deep");
  EXPECT_REGARD_ERROR(parse(std::string(1000000, '[')), ErrorKind::bad_file, "too deep");
  EXPECT_REGARD_ERROR(parse_json("[1,2,3]", "x.json", {128, 6}), ErrorKind::bad_file, "too long");
}

// An object with 200,000 keys takes minutes if each key is searched linearly among the earlier ones.
TEST(Json, ReadsLargeObjectsInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"token" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  text.back() = '}';
  const Stopwatch watch;
  EXPECT_EQ(parse(text).size(), 200000u);
  EXPECT_LT(watch.seconds(), 20.0);
}

TEST(Json, RefusesANumberOutOfTheRangeOfFloat) {
  EXPECT_EQ(json_as<float>(Json(3.4e38), "score", "f.json"), 3.4e38f);
  EXPECT_EQ(json_as<double>(Json(-1e39), "score", "f.json"), -1e39);
  EXPECT_REGARD_ERROR(json_as<float>(Json(-1e39), "score", "f.json"), ErrorKind::bad_file,
                      "\"score\" is out of range");
}

TEST(Json, RequireNamesKeyFoundAndExpected) {
  const Json value =
      parse(R"({"n": 1.0, "s": "x", "big": 4294967296, "minus": -1, "huge": 18446744073709551615,
                               "list": [1, "a"], "null": null, "beyond": 18446744073709551632})");
  EXPECT_REGARD_ERROR(require<int>(value, "none", "c.json"), ErrorKind::bad_file,
                      "c.json: the key \"none\" is missing");
  EXPECT_REGARD_ERROR(require<int>(value, "n", "c.json"), ErrorKind::bad_file, "found the number 1.0");
  EXPECT_REGARD_ERROR(require<std::int32_t>(value, "big", "c.json"), ErrorKind::bad_file, "out of range");
  EXPECT_REGARD_ERROR(require<std::uint32_t>(value, "minus", "c.json"), ErrorKind::bad_file, "non-negative");
  EXPECT_REGARD_ERROR(require<std::int64_t>(value, "huge", "c.json"), ErrorKind::bad_file, "2^63");
  EXPECT_REGARD_ERROR(require<std::int64_t>(parse(R"({"n": 9223372036854775808})"), "n", "c.json"),
                      ErrorKind::bad_file, "2^63");
  EXPECT_EQ(require<std::int64_t>(parse(R"({"n": 9223372036854775807})"), "n", "c.json"), INT64_MAX);
  EXPECT_EQ(require<std::int64_t>(parse(R"({"n": -9223372036854775808})"), "n", "c.json"), INT64_MIN);
  EXPECT_REGARD_ERROR(require<std::uint64_t>(value, "beyond", "c.json"), ErrorKind::bad_file, "beyond");
  EXPECT_REGARD_ERROR(require<double>(value, "s", "c.json"), ErrorKind::bad_file, "the string \"x\"");
  EXPECT_REGARD_ERROR(require<bool>(value, "s", "c.json"), ErrorKind::bad_file, "true or false");
  EXPECT_REGARD_ERROR(require<std::vector<int>>(value, "list", "c.json"), ErrorKind::bad_file, "list[1]");
  EXPECT_REGARD_ERROR(require_in(value, "big", "c.json", std::int64_t{1}, std::int64_t{9}),
                      ErrorKind::bad_file, "from 1 to 9");
  EXPECT_EQ(require<std::int64_t>(value, "big", "c.json"), 4294967296);
  EXPECT_EQ(require<std::uint64_t>(value, "huge", "c.json"), ~std::uint64_t{0});
  EXPECT_EQ(require<double>(value, "minus", "c.json"), -1.0);
  EXPECT_EQ(optional_value<int>(value, "null", "c.json"), std::nullopt);
  EXPECT_EQ(optional_value<int>(value, "none", "c.json"), std::nullopt);
  EXPECT_EQ(optional_value<std::string>(value, "s", "c.json"), "x");
}

}  // namespace
}  // namespace regard::testing

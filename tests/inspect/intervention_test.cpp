// The syntax of interventions, and the errors for places, positions and files that do not exist.
#include "inspect/intervention.h"

#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "inspect/attention_view.h"
#include "inspect/intervention_files.h"
#include "inspect/resolve.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/throws.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::Action;
using inspect::Intervention;

TEST(Intervention, TextAndJsonSayTheSame) {
  const Intervention text = Intervention::parse(
      R"(patch decoder.2.residual,cross.1.0 positions=3,5-6 from=0,1,2 text="a \"b\" c" target=d)");
  const Intervention json = Intervention::parse(
      R"({"at": ["decoder.2.residual", "cross.1.0"], "do": "patch", "positions": "3,5-6", "from": [0, 1, 2],
          "text": "a \"b\" c", "target": "d"})");
  for (const Intervention& one : {text, json}) {
    EXPECT_EQ(one.action, Action::patch);
    ASSERT_EQ(one.sites.size(), 2u);
    EXPECT_EQ(one.sites[0].point, "decoder.2.residual");
    EXPECT_EQ(one.sites[1].head->text(), "cross.1.0");
    EXPECT_EQ(one.positions.count(), 3);
    EXPECT_EQ(one.positions.index_of(6), 2);
    EXPECT_FALSE(one.positions.contain(4));
    EXPECT_EQ(one.from.at(2), 2);
    EXPECT_EQ(one.other.text, R"(a "b" c)");
    EXPECT_EQ(one.other.target, "d");
  }
}

TEST(Intervention, PlacesAreHeadsLayersAndPointsWithFeatures) {
  const Intervention one =
      Intervention::parse("zero encoder.3,decoder.0.7,encoder.0.feed_forward.inner[1,4-5]");
  EXPECT_EQ(one.sites[0].layer, "encoder.3");
  EXPECT_EQ(one.sites[1].head->text(), "decoder.0.7");
  EXPECT_EQ(one.sites[2].point, "encoder.0.feed_forward.inner");
  EXPECT_EQ(one.sites[2].features.count(), 3);
}

// The error names the invalid part of the intervention.
TEST(Intervention, WhatIsNotOneIsRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "empty"},
      {"zero", "place is missing"},
      {"zro cross.1.0", "Did you mean zero?"},
      {"zero cross.1.0 position=1", "Did you mean positions?"},
      {"zero cross.1.0 positions", "no value"},
      {"zero cross.1.0 positions=1 positions=2", "twice"},
      {"zero cross.1.0 positions=3-1", "smaller number first"},
      {"zero cross.1.0 positions=1,", "invalid list"},
      {"zero cross.1.0 positions=99999999999", "invalid list"},
      {"zero cross.1.x", "invalid"},
      {"zero nonsense", "invalid place"},
      {"zero decoder.1.residual[2", "invalid place"},
      {"uniform decoder.1.residual", "a head"},
      {"scale cross.1.0", "needs a value"},
      {"scale cross.1.0 by=nan", "finite"},
      {"scale cross.1.0 by=1e300", "finite"},
      {"scale cross.1.0 by=1x", "finite"},
      {"patch cross.1.0", "needs a value"},
      {"patch cross.1.0 text=a ids=1", "only one"},
      {"patch cross.1.0 ids=1,", "invalid list of ids"},
      {"patch cross.1.0 ids=1 target_ids=1,", "invalid list of target_ids"},
      {"patch cross.1.0 text=", "is empty"},
      {"patch cross.1.0 file=", "is empty"},
      {"patch cross.1.0 file=a.png text=a", "only one"},
      {"mean cross.1.0 files=a texts=b", "only one"},
      {"mean cross.1.0 texts=a target=b", "target= has no effect"},
      {"patch cross.1.0 ids=1 target=b", "target= has no effect"},
      {"patch cross.1.0 text=a target_ids=1", "target_ids= has no effect"},
      {"patch cross.1.0 file=a target=b target_ids=1", "exclude each other"},
      {"add decoder.1.residual vector=a#b minus=c", "minus= has no effect"},
      {"patch cross.1.0 text=a positions=1,2,3 from=1,2", "from="},
      {"patch cross.1.0 text=\"a", "not closed"},
      {"{\"do\": \"zero\"", "JSON"},
      {"{\"do\": \"zero\", \"at\": 3}", "invalid"},
      {"zero cross.1.0 positions=\xff", "UTF-8"},
  };
  for (const auto& [text, part] : cases) {
    try {
      Intervention::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << text << ": " << error.what();
      EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
    }
  }
}

TEST(Intervention, WhatTheModelDoesNotHaveIsRefused) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("translator");
  const std::pair<const char*, const char*> cases[] = {
      {"zero cross.2.0", "layers 0 to 1, heads 0 to 3"},
      {"zero 1.0", "encoder.1.0 or decoder.1.0 or cross.1.0"},
      {"zero 1.0.0", "1.0 in a model with one kind of attention"},
      {"zero encoder.0.4", "layers 0 to 1, heads 0 to 3"},
      {"zero decoder.2", "no such place"},
      {"zero decoder.1.residul", "Did you mean decoder.1.residual?"},
      {"zero decoder.1.self.query", "no such place"},
      {"zero decoder.1.self.weights", "no such place"},
      {"zero decoder.1.residual[31-32]", "0 to 31"},
      {"add decoder.1 text=a", "decoder.1.residual"},
      {"patch cross.1.0 text=a", "tokenizer"},
      {"patch cross.1.0 ids=1,2", "target_ids="},
      {"patch cross.1.0 ids=1,2 target_ids=1,2,3 positions=3", "0 to 2"},
      {"patch cross.1.0 ids=1,2 target_ids=1,2,3 positions=0-999999999", "at most 3"},
      {"patch cross.1.0 ids=1,2 target_ids=1,99", "99"},
      {"mean cross.1.0 texts=/none", "tokenizer"},
      {"add decoder.1.residual vector=/none/none.safetensors", "/none/none.safetensors"},
      {"add decoder.1.residual vector=1,2",
       "(expected vector=FILE or vector=FILE#NAME, a tensor of a safetensors file, found vector=1,2)"},
  };
  for (const auto& [text, part] : cases) {
    try {
      inspect::resolve(*model, pool, nullptr, {Intervention::parse(text)});
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << text << ": " << error.what();
    }
  }
}

TEST(Intervention, AFileWithoutOneTensorIsRefused) {
  const TemporaryFolder folder;
  const std::string none = folder / "none.safetensors", two = folder / "two.safetensors";
  formats::write_safetensors(none, std::vector<formats::NamedTensor>{});
  formats::write_safetensors(
      two, std::vector<formats::NamedTensor>{{"a", Tensor::zeros({32})}, {"b", Tensor::zeros({32})}});
  EXPECT_REGARD_ERROR(inspect::read_tensor("vector", none), ErrorKind::bad_file,
                      "none.safetensors: the file has no tensors");
  EXPECT_REGARD_ERROR(inspect::read_tensor("vector", two), ErrorKind::usage, "the file has several tensors");
  EXPECT_EQ(inspect::read_tensor("vector", two + "#b").elements(), 32);
}

// In a model with one kind of attention, LAYER.HEAD names the same head as KIND.LAYER.HEAD.
TEST(Intervention, AHeadOfTheOnlyKindNeedsNoKind) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("gpt");
  const std::vector<std::int32_t> ids{3, 9, 14, 5};
  const auto with = [&](const std::string& text) {
    const auto edits = inspect::resolve(*model, pool, nullptr, {Intervention::parse(text)});
    return inspect::run_with_probe(*model, pool, {}, ids, edits.get());
  };
  for (const std::string action : {"zero", "uniform"}) {
    const Tensor brief = with(action + " 1.0"), full = with(action + " decoder.1.0");
    EXPECT_TRUE(std::equal(brief.f32(), brief.f32() + brief.elements(), full.f32())) << action;
    const Tensor other = with(action + " decoder.0.0");
    EXPECT_FALSE(std::equal(brief.f32(), brief.f32() + brief.elements(), other.f32())) << action;
  }
  EXPECT_REGARD_ERROR(with("zero 2.0"), ErrorKind::usage, "layers 0 to 1");
  EXPECT_REGARD_ERROR(with("patch 1.0 ids=3,9 target_ids=1"), ErrorKind::usage, "needs an encoder-decoder");
}

}  // namespace
}  // namespace regard::testing

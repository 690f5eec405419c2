// Ablation in tasks with many passes: a head's output is zero before the output projection in every pass.
#include "inspect/ablation.h"

#include <gtest/gtest.h>

#include "infer/search.h"
#include "inspect/attend.h"
#include "ops/parameter.h"
#include "regard/error.h"
#include "support/namespaces.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using infer::Hypothesis;
using inspect::Head;
using inspect::Kind;

// Set the weights of the output projection for the inputs of `head` to zero, which must equal ablation.
void cut_head(Network& model, const std::string& projection, std::int64_t head, std::int64_t heads) {
  for (Parameter* parameter : model.parameters()) {
    if (parameter->name != projection) continue;
    const std::int64_t columns = parameter->value().columns(), width = columns / heads;
    for (std::int64_t row = 0; row < parameter->value().rows(); ++row)
      for (std::int64_t c = head * width; c < (head + 1) * width; ++c)
        parameter->variable.value.row(row)[c] = 0.0f;
    return;
  }
  FAIL() << "no weight is called " << projection;
}

std::string output_projection(Network& model, const std::string& part) {
  for (const Parameter* parameter : model.parameters())
    if (parameter->name.find(part) != std::string::npos && parameter->name.ends_with("output.weight"))
      return parameter->name;
  return "";
}

std::vector<std::vector<Hypothesis>> translate(Network& model, ThreadPool& pool, Probe* probe) {
  const auto sources = testing::random_tokens({5, 9, 3}, model.source_vocabulary(), 4);
  infer::SearchOptions options;
  options.start_token = 1, options.end_tokens = {2};
  options.max_new = 12, options.beam = 2;
  options.probe = probe;
  return infer::translate(model, pool, sources, options);
}

void expect_same(const std::vector<std::vector<Hypothesis>>& a,
                 const std::vector<std::vector<Hypothesis>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i][0].tokens, b[i][0].tokens) << i;
    EXPECT_EQ(a[i][0].log_probability, b[i][0].log_probability) << i;
  }
}

TEST(Ablation, IsAHeadWithoutWeightInTheOutputProjectionToTheBit) {
  ThreadPool pool(2);
  const auto model = testing::tiny_model("translator"), cut = testing::tiny_model("translator");
  const std::int64_t heads = testing::tiny_config("translator").heads;
  for (const auto& [kind, part] : {std::pair{Kind::cross, "decoder.layers.1.cross_attention"},
                                   std::pair{Kind::decoder, "decoder.layers.0.self_attention"},
                                   std::pair{Kind::encoder, "encoder.layers.0.self_attention"}})
    cut_head(*cut, output_projection(*cut, part), 1, heads);
  const std::vector<Head> ablated{{Kind::cross, 1, 1}, {Kind::decoder, 0, 1}, {Kind::encoder, 0, 1}};
  const auto probe = inspect::ablation(*model, pool, ablated);
  ASSERT_NE(probe, nullptr);
  expect_same(translate(*model, pool, probe.get()), translate(*cut, pool, nullptr));
  EXPECT_NE(translate(*model, pool, nullptr)[0][0].log_probability,
            translate(*model, pool, probe.get())[0][0].log_probability)
      << "an ablation that changes nothing proves nothing";
}

TEST(Ablation, OfNothingIsNoProbe) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("gpt");
  EXPECT_EQ(inspect::ablation(*model, pool, {}), nullptr);
}

TEST(Ablation, RefusesHeadsThatAreNotThereAndSaysWhichAre) {
  ThreadPool pool(1);
  const auto model = testing::tiny_model("gpt");
  for (const Head head :
       {Head{Kind::decoder, 99, 0}, Head{Kind::decoder, 0, 99}, Head{Kind::encoder, 0, 0}}) {
    try {
      inspect::ablation(*model, pool, {head});
      FAIL() << head.text();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("expected"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace regard::testing

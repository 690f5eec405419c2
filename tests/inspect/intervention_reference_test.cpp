// A model under an intervention gives the logits and gradients of a reference implementation in double that
// makes the same change.
#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "inspect/answer_pass.h"
#include "inspect/resolve.h"
#include "reference_transformer.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/tiny_models.h"

namespace regard::testing {
namespace {

using inspect::Intervention;
using testing::DoubleMatrix;
using testing::ReferenceTransformer;
using Ids = std::vector<std::int32_t>;

const Ids kReadSource{3, 9, 14, 5, 9, 2}, kReadTarget{1, 7, 8, 30, 11};
const Ids kOtherSource{21, 4, 4, 17}, kOtherTarget{1, 33, 2, 19, 6, 12};
const char* const kOther = " ids=21,4,4,17 target_ids=1,33,2,19,6,12";

class InterventionReference : public ::testing::Test {
 protected:
  InterventionReference()
      : pool_(1),
        model_(testing::tiny_model("translator", 5)),
        reference_(*model_, testing::tiny_config("translator")) {}

  // Compare the model's logits under these interventions with the logits of the reference, whose hooks make
  // the same changes.
  void expect_equal(const std::vector<std::string>& texts) {
    const DoubleMatrix expected = reference_.run(kReadSource, kReadTarget);
    reference_.on_value = [](const auto&, auto&) {};
    reference_.on_weights = [](const auto&, auto, auto&) {};
    const DoubleMatrix plain = reference_.run(kReadSource, kReadTarget);
    const auto edits = inspect::resolve(*model_, pool_, nullptr, inspect::parse_interventions(texts));
    const Tensor logits = inspect::run_with_probe(*model_, pool_, kReadSource, kReadTarget, edits.get());
    double worst = 0, effect = 0;
    for (std::int64_t r = 0; r < expected.rows; ++r)
      for (std::int64_t c = 0; c < expected.columns; ++c) {
        worst = std::max(worst, std::abs(expected.at(r, c) - static_cast<double>(logits.row(r)[c])));
        effect = std::max(effect, std::abs(expected.at(r, c) - plain.at(r, c)));
      }
    EXPECT_LT(worst, 5e-6) << texts[0];
    EXPECT_GT(effect, 1e-3) << "an intervention that changes nothing proves nothing: " << texts[0];
  }

  // Under these interventions, compare the gradient of a logit difference with respect to the encoder's
  // embedding with central differences of the reference, whose hooks make the same changes.
  void expect_gradient(const std::vector<std::string>& texts) {
    inspect::PassInput input;
    input.source = kReadSource, input.target = kReadTarget;
    inspect::PointCapture embedded;
    embedded.want("encoder.embedding");
    inspect::run_pass(*model_, pool_, input, &embedded);
    const Tensor& embedding = embedded.at("encoder.embedding");
    const inspect::AnswerDifference answer{3, 7, 30};
    const auto edits = inspect::resolve(*model_, pool_, nullptr, inspect::parse_interventions(texts));
    const auto gradient = [&](const inspect::EditedPass* pass) {
      return inspect::answer_gradient(*model_, pool_, input, answer, {"encoder", embedding}, pass);
    };
    const auto hooks = reference_.on_value;
    const auto shifted = [&](std::int64_t row, std::int64_t column, double shift) {
      reference_.on_value = [&](const std::string& point, DoubleMatrix& value) {
        if (point == "encoder.embedding") value.at(row, column) += shift;
        hooks(point, value);
      };
      const DoubleMatrix logits = reference_.run(kReadSource, kReadTarget);
      return logits.at(3, 7) - logits.at(3, 30);
    };
    const inspect::AnswerGradient found = gradient(edits.get()), plain = gradient(nullptr);
    EXPECT_NEAR(found.difference, shifted(0, 0, 0.0), 5e-6) << texts[0];
    double worst = 0, effect = 0;
    for (std::int64_t row = 0; row < embedding.rows(); ++row)
      for (std::int64_t column = row % 3; column < embedding.columns(); column += 3) {
        const double slope = (shifted(row, column, 1e-5) - shifted(row, column, -1e-5)) / 2e-5;
        worst = std::max(worst, std::abs(slope - static_cast<double>(found.gradient.row(row)[column])));
        effect = std::max(effect, static_cast<double>(std::abs(plain.gradient.row(row)[column] -
                                                               found.gradient.row(row)[column])));
      }
    EXPECT_LT(worst, 1e-5) << texts[0];
    EXPECT_GT(effect, 1e-3) << "the intervention does not change the gradient: " << texts[0];
  }

  // Return the reference's value at the point `wanted` for the input kOtherSource, kOtherTarget.
  DoubleMatrix other_value(const std::string& wanted) {
    DoubleMatrix seen;
    reference_.on_value = [&](const std::string& point, DoubleMatrix& value) {
      if (point == wanted) seen = value;
    };
    reference_.run(kOtherSource, kOtherTarget);
    reference_.on_value = [](const auto&, auto&) {};
    return seen;
  }
  DoubleMatrix other_weights(const std::string& wanted, std::int64_t head) {
    DoubleMatrix seen;
    reference_.on_weights = [&](const std::string& point, std::int64_t h, DoubleMatrix& weights) {
      if (point == wanted && h == head) seen = weights;
    };
    reference_.run(kOtherSource, kOtherTarget);
    reference_.on_weights = [](const auto&, auto, auto&) {};
    return seen;
  }

  // Apply change(value, row, column) to every element at a point.
  template <class Change>
  void at_point(const std::string& wanted, Change change) {
    const auto before = reference_.on_value;
    reference_.on_value = [=](const std::string& point, DoubleMatrix& value) {
      before(point, value);
      if (point != wanted) return;
      for (std::int64_t r = 0; r < value.rows; ++r)
        for (std::int64_t c = 0; c < value.columns; ++c) change(value.at(r, c), r, c);
    };
  }
  template <class Change>
  void at_weights(const std::string& wanted, std::int64_t head, Change change) {
    reference_.on_weights = [=](const std::string& point, std::int64_t h, DoubleMatrix& w) {
      if (point != wanted || h != head) return;
      for (std::int64_t r = 0; r < w.rows; ++r)
        for (std::int64_t c = 0; c < w.columns; ++c) change(w.at(r, c), r, c, w.columns);
    };
  }

  ThreadPool pool_;
  std::unique_ptr<Network> model_;
  ReferenceTransformer reference_;
};

TEST_F(InterventionReference, ZeroOfAHead) {
  at_point("decoder.1.cross.context", [](double& x, auto, std::int64_t c) { x = c / 8 == 2 ? 0 : x; });
  expect_equal({"zero cross.1.2"});
}

TEST_F(InterventionReference, ZeroOfTwoHeadsInTheJsonForm) {
  at_point("decoder.0.self.context",
           [](double& x, auto, std::int64_t c) { x = c / 8 == 0 || c / 8 == 3 ? 0 : x; });
  expect_equal({R"({"do": "zero", "at": ["decoder.0.0", "decoder.0.3"]})"});
}

TEST_F(InterventionReference, ZeroOfALayer) {
  at_point("encoder.0.self.output", [](double& x, auto, auto) { x = 0; });
  at_point("encoder.0.feed_forward.output", [](double& x, auto, auto) { x = 0; });
  expect_equal({"zero encoder.0"});
}

TEST_F(InterventionReference, ZeroOfNeuronsAtPositions) {
  at_point("decoder.1.feed_forward.inner", [](double& x, std::int64_t r, std::int64_t c) {
    if ((c == 3 || (c >= 8 && c <= 11)) && r >= 2) x = 0;
  });
  expect_equal({"zero decoder.1.feed_forward.inner[3,8-11] positions=2-9"});
}

TEST_F(InterventionReference, WeightsScaledForSomeQueriesAndKeys) {
  at_weights("decoder.0.self", 1, [](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r >= 1 && r <= 3 && (c == 0 || c == 2)) w *= -0.5;
  });
  expect_equal({"scale decoder.0.1 by=-0.5 keys=0,2 positions=1-3"});
}

TEST_F(InterventionReference, UniformWeights) {
  at_weights("decoder.0.cross", 3,
             [](double& w, auto, auto, std::int64_t n) { w = 1.0 / static_cast<double>(n); });
  expect_equal({"uniform cross.0.3"});
}

TEST_F(InterventionReference, UniformCausalWeights) {
  at_weights("decoder.1.self", 0, [](double& w, std::int64_t r, std::int64_t c, auto) {
    w = c <= r ? 1.0 / static_cast<double>(r + 1) : 0.0;
  });
  expect_equal({"uniform decoder.1.0"});
}

// The pattern of the other input has 6 queries and 4 keys; this input has 5 queries and 6 keys.
TEST_F(InterventionReference, WeightsOfAnotherRun) {
  const DoubleMatrix pattern = other_weights("decoder.1.cross", 1);
  ASSERT_EQ(pattern.rows, 6);
  at_weights("decoder.1.cross", 1, [pattern](double& w, std::int64_t r, std::int64_t c, auto) {
    w = c < pattern.columns ? pattern.at(r, c) : 0.0;
  });
  expect_equal({std::string("replace cross.1.1") + kOther});
}

TEST_F(InterventionReference, AFrozenPatternLeavesLaterQueriesAndHiddenKeysAlone) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "pattern.safetensors").string();
  Tensor pattern = Tensor::of({2, 3}, {0.25f, 0.75f, 9.0f, 0.5f, 0.125f, 9.0f});
  formats::write_safetensors(file, {{{"p", pattern}, {"q", Tensor::zeros({1})}}}, {});
  at_weights("decoder.0.self", 0, [pattern](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r < 2) w = c <= r ? static_cast<double>(pattern.row(r)[c]) : 0.0;
  });
  expect_equal({"replace decoder.0.0 pattern=" + file + "#p"});
}

TEST_F(InterventionReference, AFrozenHeadKeepsTheWeightsOfOnePosition) {
  const DoubleMatrix cross = other_weights("decoder.1.cross", 1);
  at_weights("decoder.1.cross", 1, [cross](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r >= 2) w = c < cross.columns ? cross.at(2, c) : 0.0;
  });
  expect_equal({std::string("freeze cross.1.1 from=2") + kOther});
  const DoubleMatrix self = other_weights("decoder.0.self", 3);
  at_weights("decoder.0.self", 3, [self](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r == 3) w = c <= 1 ? self.at(1, c) : 0.0;
  });
  expect_equal({std::string("freeze decoder.0.3 from=1 positions=3") + kOther});
}

TEST_F(InterventionReference, GradientThroughScaledWeights) {
  at_weights("encoder.0.self", 1, [](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r >= 1 && r <= 4 && c != 3) w *= -1.5;
  });
  expect_gradient({"scale encoder.0.1 by=-1.5 keys=0-2,4,5 positions=1-4"});
}

TEST_F(InterventionReference, GradientThroughUniformWeights) {
  at_weights("decoder.1.cross", 2,
             [](double& w, auto, auto, std::int64_t n) { w = 1.0 / static_cast<double>(n); });
  expect_gradient({"uniform cross.1.2"});
}

TEST_F(InterventionReference, GradientThroughAPattern) {
  const DoubleMatrix pattern = other_weights("encoder.1.self", 3);
  at_weights("encoder.1.self", 3, [pattern](double& w, std::int64_t r, std::int64_t c, auto) {
    if (r < pattern.rows) w = c < pattern.columns ? pattern.at(r, c) : 0.0;
  });
  expect_gradient({std::string("replace encoder.1.3") + kOther});
}

TEST_F(InterventionReference, GradientThroughSeveralInterventions) {
  at_point("decoder.0.cross.context", [](double& x, auto, std::int64_t c) { x = c / 8 == 1 ? 0 : x; });
  at_weights("encoder.1.self", 2, [](double& w, auto, auto, auto) { w *= 0.25; });
  expect_gradient({"zero cross.0.1", "scale encoder.1.2 by=0.5", "scale encoder.1.2 by=0.5"});
}

TEST_F(InterventionReference, PatchFromAnotherInputAtAPosition) {
  const DoubleMatrix other = other_value("decoder.0.residual");
  at_point("decoder.0.residual",
           [other](double& x, std::int64_t r, std::int64_t c) { x = r == 2 ? other.at(1, c) : x; });
  expect_equal({std::string("patch decoder.0.residual positions=2 from=1") + kOther});
}

TEST_F(InterventionReference, PatchOfAHeadAtEveryPosition) {
  const DoubleMatrix other = other_value("encoder.1.self.context");
  at_point("encoder.1.self.context", [other](double& x, std::int64_t r, std::int64_t c) {
    if (c / 8 == 1 && r < other.rows) x = other.at(r, c);
  });
  expect_equal({std::string("patch encoder.1.1") + kOther});
}

TEST_F(InterventionReference, AddAVectorOfAFile) {
  const testing::TemporaryFolder folder;
  const std::string file = (folder.path() / "vector.safetensors").string();
  Tensor vector = Tensor::empty({32});
  for (int i = 0; i < 32; ++i) vector.f32()[i] = static_cast<float>(i % 5) * 0.125f;
  formats::write_safetensors(file, {{{"v", vector}}}, {});
  at_point("encoder.1.residual", [vector](double& x, std::int64_t r, std::int64_t c) {
    if (r == 0) x += 2.0 * static_cast<double>(vector.f32()[c]);
  });
  expect_equal({"add encoder.1.residual by=2 positions=0 vector=" + file});
}

TEST_F(InterventionReference, AddTheMeanOfAnotherInput) {
  const DoubleMatrix other = other_value("decoder.0.residual");
  at_point("decoder.0.residual", [other](double& x, auto, std::int64_t c) {
    double sum = 0;
    for (std::int64_t r = 0; r < other.rows; ++r) sum += other.at(r, c);
    x -= 1.5 * sum / static_cast<double>(other.rows);
  });
  expect_equal({std::string("add decoder.0.residual by=-1.5") + kOther});
}

TEST_F(InterventionReference, MeanOfAHeadOverTheTokensOfAnotherInput) {
  const DoubleMatrix other = other_value("decoder.1.self.context");
  at_point("decoder.1.self.context", [other](double& x, auto, std::int64_t c) {
    if (c / 8 != 1) return;
    x = 0;
    for (std::int64_t r = 0; r < other.rows; ++r) x += other.at(r, c) / static_cast<double>(other.rows);
  });
  expect_equal({std::string("mean decoder.1.1") + kOther});
}

TEST_F(InterventionReference, SeveralTogetherInTheirOrder) {
  at_point("decoder.0.cross.context", [](double& x, auto, std::int64_t c) { x = c / 8 == 1 ? 0 : x; });
  at_point("encoder.embedding", [](double& x, std::int64_t r, auto) { x = r == 3 ? 0 : x; });
  at_weights("decoder.1.self", 2, [](double& w, auto, auto, auto) { w *= 0.25; });
  expect_equal({"zero cross.0.1", "zero encoder.embedding positions=3", "scale decoder.1.2 by=0.25"});
}

}  // namespace
}  // namespace regard::testing

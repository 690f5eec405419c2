// Generation can be stopped between two passes, and so can interventions that run passes over other inputs.
#include <gtest/gtest.h>

#include "infer/loaded_model.h"
#include "inspect/attend.h"
#include "inspect/resolve.h"
#include "inspect/study_views.h"
#include "support/namespaces.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace regard::testing {
namespace {

struct Ended {};

class BetweenPasses : public ::testing::TestWithParam<const char*> {
 protected:
  BetweenPasses() {
    write_text_model(folder_ / "model", GetParam(), 0);
    loaded_ = infer::LoadedModel::open(folder_ / "model");
    loaded_.model->prepare_for_inference(pool_);
  }
  // Return a callback that throws at its n-th call.
  inspect::BetweenPasses until(int n) {
    return [this, n] {
      if (++calls_ == n) throw Ended();
    };
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  infer::LoadedModel loaded_;
  int calls_ = 0;
};

TEST_P(BetweenPasses, GenerationEnds) {
  inspect::AttendRequest request;
  request.text = "the dog";
  EXPECT_THROW(inspect::generate_target(loaded_, pool_, request, 50, until(4)), Ended);
  EXPECT_EQ(calls_, 4);
  request.ablated = {
      {loaded_.model->kind() == ModelKind::decoder ? inspect::Kind::decoder : inspect::Kind::cross, 0, 0}};
  inspect::generate_target(loaded_, pool_, request, 3, until(1000));
  EXPECT_GE(calls_, 6) << "of both texts";
}

TEST_P(BetweenPasses, OtherInputsOfInterventionsEnd) {
  const auto patch = {inspect::Intervention::parse("patch decoder.0.residual text=\"a river\" positions=0")};
  for (int n = 1; n < 3; ++n) {
    calls_ = 0;
    const bool generates = loaded_.model->kind() == ModelKind::encoder_decoder;
    if (n > 1 && !generates) break;
    EXPECT_THROW(inspect::resolve(*loaded_.model, pool_, &loaded_, patch, until(n)), Ended);
    EXPECT_EQ(calls_, n);
  }
}

TEST_P(BetweenPasses, TheTargetOfAStudyEnds) {
  if (loaded_.model->kind() != ModelKind::encoder_decoder) GTEST_SKIP() << "generates no target";
  inspect::StudyRequest request;
  request.view = "lens", request.text = "the dog";
  const auto progress = [this](double) { return ++calls_ < 2; };
  EXPECT_THROW(inspect::study_table(loaded_, pool_, request, 1, progress), Error);
  EXPECT_EQ(calls_, 2);
}

INSTANTIATE_TEST_SUITE_P(Each, BetweenPasses, ::testing::Values("gpt", "translator"));

}  // namespace
}  // namespace regard::testing

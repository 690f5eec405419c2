// The frames of a film equal the views of the checkpoints.
#include "inspect/film.h"

#include <gtest/gtest.h>

#include "inspect/edited_pass.h"
#include "inspect/head_pattern.h"
#include "support/changed_model.h"
#include "support/namespaces.h"
#include "support/program.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/throws.h"

namespace regard::testing {
namespace {

using inspect::AttendRequest;
using inspect::Film;
using inspect::FilmOptions;
using inspect::View;

class FilmOf : public ::testing::TestWithParam<std::string> {
 protected:
  // The run has the checkpoints 5, 10 and 20. The weights of a later one are larger.
  FilmOf() {
    write_text_model(checkpoint(5), GetParam());
    write_file(run(), "run.toml", "");
    for (const int step : {10, 20})
      copy_changed_model(checkpoint(5), checkpoint(step), [step](const std::string&, const Tensor& value) {
        Tensor weights = value;
        for (std::int64_t i = 0; i < weights.elements(); ++i)
          weights.f32()[i] *= 1.0f + static_cast<float>(step) / 100;
      });
    loaded_ = infer::LoadedModel::open(checkpoint(20));
    request_.text = "the quick fox";
    inspect::generate_target(loaded_, pool_, request_, 5);
  }
  std::filesystem::path run() const { return folder_ / "run"; }
  std::filesystem::path checkpoint(int step) const { return run() / "checkpoints" / std::to_string(step); }
  View viewed(const AttendRequest& request) { return inspect::attend(loaded_, pool_, request); }
  void add(const AttendRequest& request, const FilmOptions& options, View& view) {
    inspect::add_film(run(), pool_, request, options, view);
  }

  TemporaryFolder folder_;
  ThreadPool pool_{1};
  infer::LoadedModel loaded_;
  AttendRequest request_;
};

TEST_P(FilmOf, FramesAreTheViewsOfTheCheckpoints) {
  View view = viewed(request_);
  std::vector<double> shares;
  FilmOptions options;
  options.generate = true, options.max_new = 4;
  options.progress = [&](double share) {
    shares.push_back(share);
    return true;
  };
  add(request_, options, view);
  EXPECT_EQ(shares, (std::vector<double>{1.0 / 3, 2.0 / 3, 1}));
  ASSERT_TRUE(view.film.has_value());
  const Film& film = *view.film;
  const std::vector<std::size_t> order = inspect::ranked_maps(view);
  ASSERT_EQ(film.heads.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(film.heads[i], view.maps[order[i]].head);
  ASSERT_EQ(film.frames.size(), 3u);
  for (std::size_t f = 0; f < 3; ++f) {
    const Film::Frame& frame = film.frames[f];
    const int step = f == 0 ? 5 : f == 1 ? 10 : 20;
    EXPECT_EQ(frame.step, step);
    const infer::LoadedModel one = infer::LoadedModel::open(checkpoint(step));
    const View expected = inspect::attend(one, pool_, request_);
    ASSERT_EQ(frame.maps.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto map = std::ranges::find(expected.maps, film.heads[i], &inspect::Map::head);
      EXPECT_EQ(frame.maps[i].weights, map->weights) << step << " " << i;
    }
    double sum = 0;
    const std::size_t count = expected.steps.size() - (GetParam() == "gpt" ? 1 : 0);
    for (std::size_t t = 0; t < count; ++t)
      sum += static_cast<double>(expected.steps[t].written_logit) - expected.steps[t].log_sum_exp;
    EXPECT_NEAR(frame.log_probability.value(), sum / static_cast<double>(count), 1e-12) << step;
    EXPECT_EQ(frame.translation,
              one.target->decode(inspect::generated_ids(one, pool_, request_, 4, nullptr)));
  }
  EXPECT_NE(film.frames[0].log_probability, film.frames[2].log_probability);
}

TEST_P(FilmOf, FramesHaveATextOnRequestOnly) {
  View view = viewed(request_);
  add(request_, {}, view);
  for (const Film::Frame& frame : view.film->frames) EXPECT_EQ(frame.translation, "");
  FilmOptions options;
  options.progress = [](double) { return false; };
  EXPECT_REGARD_ERROR(add(request_, options, view), ErrorKind::cancelled, "stopped");
}

// All frames together have at most 300,000 weights.
TEST_P(FilmOf, LongTextsHaveFewerHeads) {
  for (const auto& [rows, heads] : {std::pair{250, 1u}, {251, 0u}, {125, 2u}, {62, 4u}}) {
    View view = viewed(request_);
    for (inspect::Map& map : view.maps) map.weights.resize(static_cast<std::size_t>(rows * 400));
    view.left_out = "Before.";
    add(request_, {}, view);
    EXPECT_EQ(view.film ? view.film->heads.size() : 0u, heads) << rows;
    EXPECT_EQ(view.left_out, heads > 0
                                 ? "Before."
                                 : "Before. The attention of the other checkpoints is left out, because "
                                   "the text is too long.");
  }
}

TEST_P(FilmOf, NeedsTwoCheckpointsAndAnUnmodifiedPass) {
  View view = viewed(request_);
  AttendRequest ablated = request_, edited = request_, average = request_;
  const inspect::EditedPass edits;
  ablated.ablated = {view.maps[0].head}, edited.edits = &edits, average.average = true;
  for (const AttendRequest& one : {ablated, edited, average})
    EXPECT_REGARD_ERROR(add(one, {}, view), ErrorKind::usage,
                        "the attention of all checkpoints cannot be combined with ablations, interventions "
                        "or averages. Show one checkpoint instead of all");
  View other = viewed(request_);
  for (inspect::Map& map : other.maps) map.head.head += 90;
  EXPECT_REGARD_ERROR(add(request_, {}, other), ErrorKind::usage, "a checkpoint of the run has no head ");
  for (const int step : {5, 10}) std::filesystem::remove_all(checkpoint(step));
  EXPECT_REGARD_ERROR(add(request_, {}, view), ErrorKind::usage,
                      "the run has too few checkpoints (expected at least 2 checkpoints, found 1 "
                      "checkpoint). Train with output.keep above 1");
}

INSTANTIATE_TEST_SUITE_P(Each, FilmOf, ::testing::Values("gpt", "translator"));

}  // namespace
}  // namespace regard::testing

#include "inspect/pair_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "base/placed.h"
#include "inspect/attend.h"
#include "inspect/finite_first.h"
#include "inspect/head_kinds.h"
#include "inspect/head_pattern.h"
#include "inspect/intervention.h"
#include "inspect/sweep_state.h"
#include "ops/tape.h"
#include "ops/unit_rows.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::inspect {
namespace {

constexpr std::size_t kPairsTogether = 32;  // maximum number of texts or images per pass

// Runs the passes of one sweep. First, the vectors of all texts and images are computed with only the heads
// of PairSweepOptions::off ablated. To measure a head, only the vectors of its encoder are computed again.
class PairPasses {
 public:
  PairPasses(const infer::LoadedModel& loaded, ThreadPool& pool, const std::vector<ImageTextPair>& pairs,
             const PairSweepOptions& options)
      : model_(*dual_encoder_of(*loaded.model)), pool_(pool), pairs_(pairs), off_(options.edits) {
    if (!options.off.empty()) off_.add(*resolve(model_, pool, &loaded, ablations_in_towers(options.off)));
    texts_ = vectors("text", nullptr), images_ = vectors("vision", nullptr);
  }

  Network& encoder(const std::string& tower) { return tower == "text" ? model_.text() : model_.vision(); }

  double loss() { return loss(texts_, images_); }
  double without(const std::string& tower, const Head& head, const ModelPoints& points) {
    ValueEdit edit = points.of_head(head);
    edit.tower = tower;
    EditedPass edits;
    edits.add(std::move(edit));
    const Tensor changed = vectors(tower, &edits);
    return tower == "text" ? loss(changed, images_) : loss(texts_, changed);
  }

 private:
  // Return the vectors [pairs, size] of all texts or images, normalised to length 1.
  Tensor vectors(const std::string& tower, const EditedPass* more) {
    EditedPass edits(&off_);
    if (more != nullptr) edits.add(*more);
    const bool text = tower == "text";
    Tensor all = Tensor::empty({std::ssize(pairs_), model_.size()});
    for (std::size_t first = 0; first < pairs_.size(); first += kPairsTogether) {
      Arena arena;
      Tape tape(pool_, arena);
      tape.begin({});
      tape.probe = &edits;
      InputBuffer inputs;
      for (std::size_t i = first; i < std::min(first + kPairsTogether, pairs_.size()); ++i) {
        const ModelInput& input = text ? pairs_[i].text : pairs_[i].image;
        inputs.add(input, encoder(tower).input_spec().length_of(input), i - first);
      }
      const InputBatch batch = inputs.batch();
      Var hidden = model_.encode(tape, batch);
      Var some = text ? model_.text_vectors(tape, hidden, batch) : model_.image_vectors(tape, hidden, batch);
      some = ops::unit_rows(tape, some);
      std::copy_n(some->value.f32(), some->value.elements(), all.row(static_cast<std::int64_t>(first)));
    }
    return all;
  }

  double loss(const Tensor& texts, const Tensor& images) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    return static_cast<double>(
        model_.contrastive_loss(tape, tape.constant(texts), tape.constant(images))->value.f32()[0]);
  }

  DualEncoder& model_;
  ThreadPool& pool_;
  const std::vector<ImageTextPair>& pairs_;
  EditedPass off_;  // interventions and ablations of all passes
  Tensor texts_, images_;
};

SweepSettings settings_of(const std::vector<ImageTextPair>& pairs, const PairSweepOptions& options,
                          double whole) {
  std::string all;
  for (const ImageTextPair& pair : pairs) all += pair.name + "\t" + pair.caption + "\n";
  return {{"study", "heads of two encoders"},
          {"data", fmt::format("of {} pairs with the hash {:016x}", pairs.size(), xxh3(all))},
          {"ablated heads", options.off},
          {"interventions", options.edits == nullptr ? "" : options.edits->text()},
          {"a model with the loss", fmt::format("{:.17g}", whole)}};
}

// Return true if `off` lists the head.
bool is_off(const std::string& off, const std::string& name) {
  for (const Intervention& one : off.empty() ? std::vector<Intervention>() : ablations_in_towers(off))
    for (const Site& site : one.sites)
      if (site.head && site.tower + "." + site.head->text() == name) return true;
  return false;
}

}  // namespace

std::vector<ImageTextPair> read_image_texts(const infer::LoadedModel& loaded, const data::DataFiles& data,
                                            const StudyDataOptions& options) {
  if (options.media == nullptr || !options.media->rows)
    throw usage_error("this call cannot read image files")
        .found("a model that reads images and texts")
        .expected("a model that reads texts");
  std::vector<ImageTextPair> pairs;
  for (const MediaRow& row : options.media->rows(data)) {
    if (options.between) options.between();
    ImageTextPair& pair = pairs.emplace_back();
    pair.name = row.name, pair.caption = row.text;
    pair.image = placed(row.place, [&row] { return row.read(); }).file.input;
    pair.text = placed(row.place, [&] { return loaded.read(row.text, true); });
    dual_encoder_of(*loaded.model)->pad(pair.text.ids);
    if (options.most_examples > 0 && std::ssize(pairs) >= options.most_examples) break;
  }
  if (pairs.size() < 2)
    throw usage_error("too few pairs of an image and a text for the contrastive loss")
        .found(std::to_string(pairs.size()))
        .expected("at least 2");
  return pairs;
}

std::vector<TowerHead> pair_head_kinds(const infer::LoadedModel& loaded, ThreadPool& pool,
                                       const std::vector<ImageTextPair>& pairs, const BetweenPasses& between,
                                       const EditedPass* edits) {
  DualEncoder& model = *dual_encoder_of(*loaded.model);
  std::vector<TowerHead> kinds;
  for (const std::string tower : {"text", "vision"}) {
    HeadSummarySum sum;
    EditedPass of_tower;
    if (edits != nullptr) of_tower.add_tower(*edits, tower);
    for (const ImageTextPair& pair : pairs) {
      if (between) between();
      AttendRequest request;
      request.edits = &of_tower;
      request.text = tower == "text" ? pair.caption : pair.name;
      request.input = tower == "text" ? pair.text : pair.image;
      request.network = tower == "text" ? &model.text() : &model.vision();
      sum.add(attend(loaded, pool, request));
    }
    for (const HeadKind& kind : sum.means())
      kinds.push_back({tower + "." + kind.head.text(), 0, 0, kind.mean});
  }
  return kinds;
}

PairSweep sweep_pairs(const infer::LoadedModel& loaded, ThreadPool& pool,
                      const std::vector<ImageTextPair>& pairs, const PairSweepOptions& options) {
  PairPasses passes(loaded, pool, pairs, options);
  PairSweep sweep;
  sweep.loss = passes.loss();
  if (!std::isfinite(sweep.loss))
    throw Error(ErrorKind::numeric, "the loss of the model on this data is not finite")
        .found(fmt::format("{}", sweep.loss))
        .remedy("Check the weights for values that are not finite");
  SweepState finished;
  if (!options.state.empty()) finished.open(options.state, settings_of(pairs, options, sweep.loss));
  std::vector<std::pair<std::string, Head>> heads;
  std::map<std::string, ModelPoints> points;
  for (const std::string tower : {"text", "vision"}) {
    points[tower] = ModelPoints::of(passes.encoder(tower), pool);
    for (const Head& head : points[tower].all_heads())
      if (!is_off(options.off, tower + "." + head.text())) heads.emplace_back(tower, head);
  }
  for (const auto& [tower, head] : heads) {
    const std::string name = tower + "." + head.text();
    const double loss =
        finished.value_of("", name, [&] { return passes.without(tower, head, points[tower]); });
    sweep.heads.push_back({name, loss, loss - sweep.loss});
    if (options.progress &&
        !options.progress(static_cast<double>(sweep.heads.size()) / static_cast<double>(heads.size())))
      throw cancelled_error("the sweep was stopped");
  }
  std::ranges::stable_sort(sweep.heads,
                           [](const auto& a, const auto& b) { return is_larger(a.lost, b.lost); });
  return sweep;
}

}  // namespace regard::inspect

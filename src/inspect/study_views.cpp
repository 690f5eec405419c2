#include "inspect/study_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "inspect/alignment_error.h"
#include "inspect/finite_first.h"
#include "inspect/gradients.h"
#include "inspect/head_flip.h"
#include "inspect/head_kinds.h"
#include "inspect/head_sweep.h"
#include "inspect/linear_probe.h"
#include "inspect/pair_sweep.h"
#include "inspect/patching.h"
#include "inspect/residual_reader.h"
#include "inspect/study_rollout.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

class Study : public RolloutStudy {
 public:
  using RolloutStudy::RolloutStudy;

  StudyTable table(const std::string& view);

 private:
  StudyTable heads();
  StudyTable sets();
  StudyTable flip();
  StudyTable kinds();
  StudyTable induction();
  StudyTable lens();
  StudyTable direct();
  StudyTable patch(PatchMode mode);
  StudyTable tokens();
  StudyTable probe();
  StudyTable alignment();
  // Studies of a model with two encoders, on pairs of an image and a text.
  StudyTable heads_of_pairs();
  StudyTable kinds_of_pairs();
};

std::vector<StudyCell> heads_row(const std::string& head, const HeadSummary& kind, double loss, double lost) {
  return {head, name_of(kind.pattern), kind.share, kind.entropy, kind.distance, loss, lost};
}

StudyTable Study::heads() {
  if (dual_encoder_of(model_) != nullptr) return heads_of_pairs();
  const std::vector<StudyExample> data = examples();
  std::map<Head, HeadSummary> kinds;
  for (const HeadKind& kind : head_kinds(loaded_, pool_, data, between_passes(), edits_.get()))
    kinds[kind.head] = kind.mean;
  const HeadSweep sweep = sweep_heads(model_, pool_, data, sweep_options());
  StudyTable table;
  table.study = "heads";
  table.title = fmt::format("Loss without each head; {} predictions, {:.4f} nats each with all heads",
                            sweep.count, sweep.loss);
  table.columns = {"head", "kind", "share", "entropy", "distance", "loss", "lost"};
  table.digits = 4;
  for (const HeadLoss& one : sweep.heads) {
    table.rows.push_back(heads_row(one.head.text(), kinds[one.head], one.loss, one.lost));
  }
  table.notes = {"lost: loss without the head minus loss with all heads, in nats per prediction."};
  return table;
}

StudyTable Study::sets() {
  const HeadSet set = sweep_head_sets(model_, pool_, examples(), request_.most, sweep_options());
  StudyTable table;
  table.study = "sets";
  table.title = fmt::format("Heads ablated one after another; {:.4f} nats with all heads", set.loss);
  table.columns = {"heads off", "loss", "lost"};
  table.digits = 4;
  std::vector<Head> off;
  for (const HeadLoss& step : set.steps) {
    off.push_back(step.head);
    table.rows.push_back({text_of(off), step.loss, step.lost});
  }
  table.notes = {"Each row adds the head that raises the loss most (a greedy choice, not the best set)."};
  return table;
}

StudyTable Study::flip() {
  need(request_.instead, "instead");
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one, true);
  const HeadFlip found =
      flip_answer(model_, pool_, one.input, answer, {request_.most, request_.state, edits_.get(), progress_});
  StudyTable table;
  table.study = "flip";
  table.title = fmt::format("Heads ablated one after another: {}; {:.4f} with all heads", measured(answer),
                            found.whole);
  table.columns = {"heads off", "difference"};
  std::vector<Head> off;
  for (const FlipStep& step : found.steps) {
    off.push_back(step.head);
    table.rows.push_back({text_of(off), step.difference});
  }
  if (found.whole <= 0) {
    table.notes = {"The other answer is more likely with all heads, so no head is ablated."};
    return table;
  }
  table.notes = {"Each row adds the head that lowers the difference most."};
  const bool all = std::ssize(found.steps) < request_.most;
  table.notes.push_back(
      found.flipped
          ? fmt::format("Ablating these heads makes the other answer more likely ({:.3f}). Each head "
                        "is needed, and no two of the heads can be replaced by one head: {}.",
                        found.difference, text_of(found.needed))
      : all ? "Ablating all heads does not change the answer."
            : fmt::format("Ablating these heads does not change the answer. Maximum number of heads: {}.",
                          request_.most));
  return table;
}

StudyTable begin_kinds(const std::string& title, const char* distance) {
  StudyTable table;
  table.study = "kinds";
  table.title = "What each head attends to, mean of " + title;
  table.columns = {"head", "kind"};
  for (std::size_t i = 0; i < kPositionalPatterns; ++i)
    table.columns.emplace_back(name_of(static_cast<Pattern>(i)));
  table.columns.insert(table.columns.end(), {"entropy", "distance", "spread"});
  table.notes = {fmt::format(
      "Shares of the weight, 0 to 1; they may overlap. Entropy in bits, distance in {}.", distance)};
  return table;
}

std::vector<StudyCell> kinds_row(const std::string& head, const HeadSummary& mean) {
  std::vector<StudyCell> row{head, name_of(mean.pattern)};
  for (const double share : mean.shares) row.emplace_back(share);
  row.insert(row.end(), {mean.entropy, mean.distance, mean.spread});
  return row;
}

StudyTable Study::kinds() {
  if (dual_encoder_of(model_) != nullptr && !request_.data.files.empty()) return kinds_of_pairs();
  const std::vector<StudyExample> data = examples(false);
  StudyTable table = begin_kinds(fmt::format("{} {}s", data.size(), input_name(model_)), unit_of_distance());
  const BetweenPasses between = between_passes(std::ssize(data));
  for (const HeadKind& kind : head_kinds(loaded_, pool_, data, between, edits_.get()))
    table.rows.push_back(kinds_row(kind.head.text(), kind.mean));
  return table;
}

StudyTable Study::heads_of_pairs() {
  need_data();
  const std::vector<ImageTextPair> pairs = read_image_texts(loaded_, request_.data, data_options(false));
  std::map<std::string, HeadSummary> kinds;
  for (const TowerHead& one : pair_head_kinds(loaded_, pool_, pairs, between_passes(), edits_.get()))
    kinds[one.name] = one.mean;
  const PairSweep sweep =
      sweep_pairs(loaded_, pool_, pairs, {request_.off, edits_.get(), request_.state, progress_});
  StudyTable table;
  table.study = "heads";
  table.title = fmt::format("Contrastive loss without each head; {} pairs, {:.4f} nats with all heads",
                            pairs.size(), sweep.loss);
  table.columns = {"head", "kind", "share", "entropy", "distance", "loss", "lost"};
  table.digits = 4;
  for (const TowerHead& one : sweep.heads)
    table.rows.push_back(heads_row(one.name, kinds[one.name], one.loss, one.lost));
  table.notes = {"lost: loss without the head minus loss with all heads, in nats."};
  return table;
}

StudyTable Study::kinds_of_pairs() {
  need_data();
  const std::vector<ImageTextPair> pairs = read_image_texts(loaded_, request_.data, data_options(false));
  StudyTable table =
      begin_kinds(fmt::format("{} pairs of an image and a text", pairs.size()), "patches or tokens");
  const BetweenPasses between = between_passes(2 * std::ssize(pairs));
  for (const TowerHead& one : pair_head_kinds(loaded_, pool_, pairs, between, edits_.get()))
    table.rows.push_back(kinds_row(one.name, one.mean));
  return table;
}

StudyTable Study::induction() {
  InductionOptions options;
  options.length = request_.length, options.sequences = request_.sequences, options.seed = seed_;
  options.between = between_passes(2 * request_.sequences), options.edits = edits_.get();
  if (!request_.text.empty()) {
    options.choices = distinct_tokens(*loaded_.source, request_.text);
    if (options.choices.empty()) throw input_error("the text has no tokens").found("'" + request_.text + "'");
  }
  const RepetitionLoss loss = repetition_loss(model_, pool_, options);
  StudyTable table;
  table.study = "induction";
  table.title = fmt::format("Attention on {} random tokens that are repeated, mean of {} sequences",
                            options.length, options.sequences);
  table.columns = {"head", "induction", "duplicate", "previous"};
  for (const InductionScore& one : induction_scores(model_, pool_, options))
    table.rows.push_back({one.head.text(), one.induction, one.duplicate, one.previous});
  table.notes = {
      "induction: weight on the token after the earlier occurrence; duplicate: on that occurrence; previous: "
      "on the token before.",
      fmt::format("Loss in the first half {:.3f} nats, in the repetition {:.3f}.", loss.first, loss.second)};
  return table;
}

StudyTable Study::lens() {
  const StudyExample one = example(true);
  StudyTable table;
  table.study = "lens";
  table.title = "Logit lens: the next token read from the residual after each layer";
  table.columns = {"position", "after", "layer", "best", "probability", "wanted", "rank", "p(wanted)"};
  if (request_.position >= 0) require_position(request_.position, std::ssize(one.input.target));
  for (const LensCell& cell : logit_lens(model_, pool_, one, edits_.get())) {
    if (request_.position >= 0 && cell.position != request_.position) continue;
    const bool known = cell.wanted >= 0;
    table.rows.push_back(
        {std::to_string(cell.position), token(one.input.target[static_cast<std::size_t>(cell.position)]),
         cell.layer < 0 ? "embedding" : std::to_string(cell.layer), token(cell.best), cell.probability,
         known ? token(cell.wanted) : "", known ? std::to_string(cell.rank) : "",
         known ? StudyCell(cell.wanted_probability) : StudyCell()});
  }
  return table;
}

StudyTable Study::direct() {
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one);
  const DirectAttribution found = direct_attribution(model_, pool_, one, answer, edits_.get());
  StudyTable table;
  table.study = "direct";
  table.title = "Direct attribution of the " + measured(answer);
  table.columns = {"component", "share"};
  for (const DirectShare& share : found.shares) table.rows.push_back({share.component, share.share});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return is_larger(std::abs(std::get<double>(a[1])), std::abs(std::get<double>(b[1])));
  });
  table.notes = {fmt::format("The shares add up to {:.4f}; biases of the final norm and the head add {:.4f}.",
                             found.difference - found.rest, found.rest)};
  return table;
}

StudyTable Study::patch(PatchMode mode) {
  need(request_.other, "other");
  const StudyExample clean = example(true);
  const AnswerDifference answer = answer_of(clean);
  StudyDataOptions options = data_options(false);
  options.written = clean.input.written;
  const StudyExample other =
      study_example(loaded_, pool_, request_.other,
                    request_.other_target.empty() ? request_.target : request_.other_target, options);
  const PatchResult result = patch_components(model_, pool_, clean.input, other.input, answer,
                                              {mode, request_.state, edits_.get(), progress_});
  StudyTable table;
  table.study = request_.view;
  table.title = fmt::format("{0} from the {1} patched into the other {1}: {2}",
                            mode == PatchMode::direct ? "Direct paths" : "Components", input_name(model_),
                            measured(answer));
  table.columns = {"component", "position", "difference", "effect"};
  for (const PatchEffect& one : result.effects)
    table.rows.push_back(
        {one.component, one.position < 0 ? "all" : std::to_string(one.position), one.difference, one.effect});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return is_larger(std::abs(std::get<double>(a[3])), std::abs(std::get<double>(b[3])));
  });
  table.notes = {fmt::format(
      "{0} {2:.4f}, other {1} {3:.4f}. Effect: 0 is the value of the other {1}, 1 the value of the {1}.",
      input_title(), input_name(model_), result.clean, result.corrupted)};
  return table;
}

StudyTable Study::tokens() {
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one);
  AttributionOptions options;
  options.steps = request_.steps, options.between = between_passes(request_.steps + 2);
  options.edits = edits_.get();
  options.relative = reads_media();
  if (options.relative) options.baseline = blank_embedding(model_, pool_, one.input);
  const TokenAttribution found = attribute_tokens(model_, pool_, one.input, answer, options);
  StudyTable table;
  table.study = "tokens";
  table.title = fmt::format("Input {} and the {}", reads_media() ? "positions" : "tokens", measured(answer));
  table.columns = {"position", place_column(), "gradient x input", "integrated"};
  table.digits = 4;
  const std::vector<std::string> labels = labels_of(one);
  for (std::size_t i = 0; i < labels.size(); ++i)
    table.rows.push_back({std::to_string(i), labels[i], found.gradient_input[i], found.integrated[i]});
  const char* const baseline = reads_media() ? "an input of zeros" : "zeros";
  table.notes = {
      fmt::format("Integrated gradients from a baseline of {} ({:.4f}) to the {} ({:.4f}), {}.", baseline,
                  found.baseline, input_name(model_), found.difference, counted(options.steps, "step")),
      fmt::format("Completeness error: {:.2g}.", found.completeness_error)};
  return table;
}

StudyTable Study::probe() {
  need_data();
  const LabeledInputs data = read_labeled_inputs(loaded_, request_.data, data_options(false));
  Network& network = *data.network;
  EditedPass edits;
  if (edits_ != nullptr) edits.add_tower(*edits_, data.tower);
  return table_of(probe_layers(network, pool_, data.inputs, seed_, progress_, &edits), input_name(network));
}

StudyTable Study::alignment() {
  need_data();
  need(request_.alignments, "alignments");
  if (request_.data.files.size() != 1)
    throw usage_error("the view alignment needs one file of sentence pairs")
        .found(counted(request_.data.files.size(), "file"));
  return table_of(study_alignment(loaded_, pool_, request_.data.files[0], request_.alignments,
                                  {request_.examples, progress_, edits_.get()}));
}

StudyTable Study::table(const std::string& view) {
  if (view == "heads") return heads();
  if (view == "sets") return sets();
  if (view == "flip") return flip();
  if (view == "kinds") return kinds();
  if (view == "induction") return induction();
  if (view == "lens") return lens();
  if (view == "direct") return direct();
  if (view == "patch") return patch(PatchMode::total);
  if (view == "path") return patch(PatchMode::direct);
  if (view == "tokens") return tokens();
  if (view == "rollout") return rollout();
  if (view == "flow") return flow();
  if (view == "probe") return probe();
  if (view == "alignment") return alignment();
  throw usage_error("unknown view of a study")
      .found(view)
      .expected(fmt::format("{}", fmt::join(study_views(), ", ")));
}

}  // namespace

std::vector<std::string> study_views() {
  return {"heads", "sets", "flip",   "kinds",   "induction", "lens",  "direct",
          "patch", "path", "tokens", "rollout", "flow",      "probe", "alignment"};
}

std::string needs_setting(const std::string& view, const std::string& setting) {
  return fmt::format("the view {} needs {}", view, setting);
}

StudyTable study_table(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
                       std::uint64_t seed, const std::function<bool(double share)>& progress,
                       const MediaReader& media) {
  Study study(loaded, pool, request, seed, progress, media);
  study.require_fit();
  study.read_interventions();
  StudyTable table = study.table(request.view);
  study.add_interventions(table);
  return table;
}

}  // namespace regard::inspect

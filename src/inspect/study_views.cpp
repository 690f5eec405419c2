#include "inspect/study_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "inspect/alignment_error.h"
#include "inspect/attend.h"
#include "inspect/finite_first.h"
#include "inspect/gradients.h"
#include "inspect/head_flip.h"
#include "inspect/head_kinds.h"
#include "inspect/head_sweep.h"
#include "inspect/linear_probe.h"
#include "inspect/patching.h"
#include "inspect/residual_reader.h"
#include "inspect/usual_kind.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

// One study: the model, the request, and values that several views need.
class Study {
 public:
  Study(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request, std::uint64_t seed,
        const std::function<bool(double)>& progress)
      : loaded_(loaded),
        model_(*loaded.model),
        pool_(pool),
        request_(request),
        seed_(seed),
        progress_(progress) {}

  StudyTable heads();
  StudyTable sets();
  StudyTable flip();
  StudyTable kinds();
  StudyTable induction();
  StudyTable lens();
  StudyTable direct();
  StudyTable patch(PatchMode mode);
  StudyTable tokens();
  StudyTable rollout();
  StudyTable flow();
  StudyTable probe();
  StudyTable alignment();

 private:
  void need(const std::string& value, const char* option) const {
    if (value.empty()) throw usage_error(fmt::format("--view {} needs {}", request_.view, option));
  }
  std::vector<StudyExample> examples() const {
    if (request_.data.empty()) return {example(false)};
    return read_examples(loaded_, pool_, request_.data,
                         {request_.examples, request_.answer, between_passes()});
  }
  StudyExample example(bool whole) const {
    need(request_.text, request_.data.empty() && !whole ? "DATA or --text" : "--text");
    return study_example(loaded_, pool_, request_.text, request_.target,
                         {0, whole ? "" : request_.answer, between_passes()});
  }
  BetweenPasses between_passes() const {
    return [this] {
      if (progress_ && !progress_(0.0)) throw cancelled_error("the study was stopped");
    };
  }
  std::string token(std::int32_t id) const { return shown_token(*loaded_.target, id); }

  // Return the id of a class, or of the first token of a text.
  std::int32_t answer_id(const std::string& text) const {
    if (model_.kind() == ModelKind::encoder)
      return study_example(loaded_, pool_, request_.text, text).label();
    const std::vector<std::int32_t> ids =
        loaded_.target->encode_ids(text, {.add_special = false, .match_special = false});
    if (ids.empty()) throw usage_error("the answer has no tokens").found("'" + text + "'");
    return ids[0];
  }
  // Return the difference that --position, --answer and --instead select. Default position: the last one for
  // a decoder, otherwise 0. Default answer: the label at that position.
  AnswerDifference answer_of(const StudyExample& example) const {
    AnswerDifference answer{request_.position, -1, -1};
    if (answer.position < 0)
      answer.position = model_.kind() == ModelKind::decoder ? std::ssize(example.input.target) - 1 : 0;
    const auto at = static_cast<std::size_t>(answer.position);
    if (!request_.answer.empty())
      answer.answer = answer_id(request_.answer);
    else if (at < example.labels.size() && example.labels[at] >= 0)
      answer.answer = example.labels[at];
    else
      need("", "--answer");
    if (!request_.instead.empty()) answer.instead = answer_id(request_.instead);
    return answer;
  }
  std::string measured(const AnswerDifference& answer) const {
    const auto name = [&](std::int32_t id) {
      return model_.kind() == ModelKind::encoder ? fmt::format("class {}", id) : "'" + token(id) + "'";
    };
    return answer.instead < 0
               ? fmt::format("logit of {} at position {}", name(answer.answer), answer.position)
               : fmt::format("logit of {} minus logit of {} at position {}", name(answer.answer),
                             name(answer.instead), answer.position);
  }
  HeadSweepOptions sweep_options() const {
    HeadSweepOptions options;
    options.off = parse_heads(request_.off, usual_kind(model_.kind()));
    options.state = request_.state;
    options.progress = progress_;
    return options;
  }
  std::vector<std::string> labels_of(const StudyExample& example) const {
    std::vector<std::string> labels;
    if (model_.kind() == ModelKind::decoder)
      for (const std::int32_t id : example.input.target) labels.push_back(token(id));
    else
      for (const std::int32_t id : example.input.source.ids)
        labels.push_back(shown_token(*loaded_.source, id));
    return labels;
  }

  const infer::LoadedModel& loaded_;
  Network& model_;
  ThreadPool& pool_;
  const StudyRequest& request_;
  std::uint64_t seed_;
  const std::function<bool(double)>& progress_;
};

StudyTable Study::heads() {
  const std::vector<StudyExample> data = examples();
  std::map<Head, HeadSummary> kinds;
  for (const HeadKind& kind : head_kinds(loaded_, pool_, data, between_passes()))
    kinds[kind.head] = kind.mean;
  const HeadSweep sweep = sweep_heads(model_, pool_, data, sweep_options());
  StudyTable table;
  table.study = "heads";
  table.title = fmt::format("Loss without each head; {} predictions, {:.4f} nats each with all heads",
                            sweep.count, sweep.loss);
  table.columns = {"head", "kind", "share", "entropy", "distance", "loss", "lost"};
  table.digits = 4;
  for (const HeadLoss& one : sweep.heads) {
    const HeadSummary& kind = kinds[one.head];
    table.rows.push_back({one.head.text(), name_of(kind.pattern), kind.share, kind.entropy, kind.distance,
                          one.loss, one.lost});
  }
  table.notes = {"lost: loss without the head minus loss with all heads, in nats per prediction."};
  return table;
}

StudyTable Study::sets() {
  const HeadSet set = sweep_head_sets(model_, pool_, examples(), request_.most, sweep_options());
  StudyTable table;
  table.study = "sets";
  table.title = fmt::format("Heads switched off one after another; {:.4f} nats with all heads", set.loss);
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
  need(request_.instead, "--instead");
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one);
  const HeadFlip found = flip_answer(model_, pool_, one.input, answer, request_.most, progress_);
  StudyTable table;
  table.study = "flip";
  table.title = fmt::format("Heads switched off one after another: {}; {:.4f} with all heads",
                            measured(answer), found.whole);
  table.columns = {"heads off", "difference"};
  std::vector<Head> off;
  for (const FlipStep& step : found.steps) {
    off.push_back(step.head);
    table.rows.push_back({text_of(off), step.difference});
  }
  table.notes = {"Each row adds the head that lowers the difference most."};
  table.notes.push_back(
      found.flipped ? fmt::format("Without these heads the other answer is likelier ({:.3f}), no head can be "
                                  "left out, and no two can be replaced by one: {}.",
                                  found.difference, text_of(found.needed))
                    : "The answer stands without these heads; --most sets their number.");
  return table;
}

StudyTable Study::kinds() {
  const std::vector<StudyExample> data = examples();
  StudyTable table;
  table.study = "kinds";
  table.title = fmt::format("What each head attends to, mean of {} texts", data.size());
  table.columns = {"head", "kind"};
  for (std::size_t i = 0; i < kPositionalPatterns; ++i)
    table.columns.emplace_back(name_of(static_cast<Pattern>(i)));
  table.columns.insert(table.columns.end(), {"entropy", "distance", "spread"});
  for (const HeadKind& kind : head_kinds(loaded_, pool_, data, between_passes())) {
    std::vector<StudyCell> row{kind.head.text(), name_of(kind.mean.pattern)};
    for (const double share : kind.mean.shares) row.emplace_back(share);
    row.insert(row.end(), {kind.mean.entropy, kind.mean.distance, kind.mean.spread});
    table.rows.push_back(std::move(row));
  }
  table.notes = {"Shares of the weight, 0 to 1; they may overlap. Entropy in bits, distance in tokens."};
  return table;
}

StudyTable Study::induction() {
  InductionOptions options;
  options.length = request_.length, options.sequences = request_.sequences, options.seed = seed_;
  options.between = between_passes();
  if (!request_.text.empty()) options.choices = distinct_tokens(*loaded_.source, request_.text);
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
  if (request_.position >= std::ssize(one.input.target))
    throw usage_error("there is no such position")
        .found(std::to_string(request_.position))
        .expected(fmt::format("0 to {}", std::ssize(one.input.target) - 1));
  for (const LensCell& cell : logit_lens(model_, pool_, one)) {
    if (request_.position >= 0 && cell.position != request_.position) continue;
    const bool known = cell.wanted >= 0;
    table.rows.push_back(
        {std::to_string(cell.position), token(one.input.target[static_cast<std::size_t>(cell.position)]),
         cell.layer < 0 ? "embedding" : std::to_string(cell.layer), token(cell.best), cell.probability,
         known ? token(cell.wanted) : "", known ? std::to_string(cell.rank) : "", cell.wanted_probability});
  }
  return table;
}

StudyTable Study::direct() {
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one);
  const DirectAttribution found =
      direct_attribution(model_, pool_, one, answer.position, answer.answer, answer.instead);
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
  need(request_.other, "--other");
  const StudyExample clean = example(true);
  const AnswerDifference answer = answer_of(clean);
  const StudyExample other = study_example(
      loaded_, pool_, request_.other, request_.other_target.empty() ? request_.target : request_.other_target,
      {0, "", between_passes()});
  const PatchResult result =
      patch_components(model_, pool_, clean.input, other.input, answer, mode, progress_);
  StudyTable table;
  table.study = request_.view;
  table.title = fmt::format("{} from the text patched into the other: {}",
                            mode == PatchMode::direct ? "Direct paths" : "Components", measured(answer));
  table.columns = {"component", "position", "difference", "effect"};
  for (const PatchEffect& one : result.effects)
    table.rows.push_back(
        {one.component, one.position < 0 ? "all" : std::to_string(one.position), one.difference, one.effect});
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return is_larger(std::abs(std::get<double>(a[3])), std::abs(std::get<double>(b[3])));
  });
  table.notes = {fmt::format("Text {:.4f}, other {:.4f}. Effect: 0 as the other, 1 as the text.",
                             result.clean, result.corrupted)};
  return table;
}

StudyTable Study::tokens() {
  const StudyExample one = example(true);
  const AnswerDifference answer = answer_of(one);
  AttributionOptions options;
  options.steps = request_.steps, options.between = between_passes();
  const std::unique_ptr<EditedPass> edits =
      resolve(model_, pool_, &loaded_, parse_interventions(request_.interventions));
  options.edits = edits.get();
  const TokenAttribution found = attribute_tokens(model_, pool_, one.input, answer, options);
  StudyTable table;
  table.study = "tokens";
  table.title = "Input tokens and the " + measured(answer);
  table.columns = {"position", "token", "gradient x input", "integrated"};
  table.digits = 4;
  const std::vector<std::string> labels = labels_of(one);
  for (std::size_t i = 0; i < labels.size(); ++i)
    table.rows.push_back({std::to_string(i), labels[i], found.gradient_input[i], found.integrated[i]});
  table.notes = {
      fmt::format("Integrated gradients from a baseline of zeros ({:.4f}) to the text ({:.4f}), {} steps.",
                  found.baseline, found.difference, options.steps),
      fmt::format("Completeness error: {:.2g}.", found.completeness_error)};
  table.warnings = edits->warnings();
  return table;
}

StudyTable Study::rollout() {
  const StudyExample one = example(true);
  const std::vector<std::string> labels = labels_of(one);
  const std::vector<double> all = attention_rollout(model_, pool_, one.input);
  StudyTable table;
  table.study = "rollout";
  table.title = "Attention rollout: the contribution of each input token (column) to each position (row)";
  table.columns = {"position"};
  for (std::size_t i = 0; i < labels.size(); ++i) table.columns.push_back(fmt::format("{} {}", i, labels[i]));
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::vector<StudyCell> cells{fmt::format("{} {}", row, labels[row])};
    for (std::size_t i = 0; i < labels.size(); ++i) cells.emplace_back(all[row * labels.size() + i]);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

StudyTable Study::flow() {
  const StudyExample one = example(true);
  const std::vector<std::string> labels = labels_of(one);
  const std::int64_t position = request_.position >= 0                ? request_.position
                                : model_.kind() == ModelKind::decoder ? std::ssize(labels) - 1
                                                                      : 0;
  const std::vector<double> flows = attention_flow(model_, pool_, one.input, position);
  StudyTable table;
  table.study = "flow";
  table.title = fmt::format("Attention flow from position {} to each input token", position);
  table.columns = {"position", "token", "flow"};
  for (std::size_t i = 0; i < labels.size(); ++i)
    table.rows.push_back({std::to_string(i), labels[i], flows[i]});
  return table;
}

StudyTable Study::probe() {
  need(request_.data, "DATA");
  const LabeledTexts texts = read_labeled_texts(request_.data, request_.examples);
  return table_of(probe_layers(loaded_, pool_, texts, seed_, between_passes()));
}

StudyTable Study::alignment() {
  need(request_.data, "DATA");
  need(request_.alignments, "--alignments");
  return table_of(
      study_alignment(loaded_, pool_, request_.data, request_.alignments, request_.examples, progress_));
}

}  // namespace

std::vector<std::string> study_views() {
  return {"heads", "sets", "flip",   "kinds",   "induction", "lens",  "direct",
          "patch", "path", "tokens", "rollout", "flow",      "probe", "alignment"};
}

StudyTable study_table(const infer::LoadedModel& loaded, ThreadPool& pool, const StudyRequest& request,
                       std::uint64_t seed, const std::function<bool(double share)>& progress) {
  Study study(loaded, pool, request, seed, progress);
  const std::string& view = request.view;
  if (!request.interventions.empty() && view != "tokens")
    throw usage_error("--intervene applies only to --view tokens").found("--view " + view);
  if (view == "heads") return study.heads();
  if (view == "sets") return study.sets();
  if (view == "flip") return study.flip();
  if (view == "kinds") return study.kinds();
  if (view == "induction") return study.induction();
  if (view == "lens") return study.lens();
  if (view == "direct") return study.direct();
  if (view == "patch") return study.patch(PatchMode::total);
  if (view == "path") return study.patch(PatchMode::direct);
  if (view == "tokens") return study.tokens();
  if (view == "rollout") return study.rollout();
  if (view == "flow") return study.flow();
  if (view == "probe") return study.probe();
  if (view == "alignment") return study.alignment();
  throw usage_error("there is no such view")
      .found(view)
      .expected(fmt::format("{}", fmt::join(study_views(), ", ")));
}

}  // namespace regard::inspect

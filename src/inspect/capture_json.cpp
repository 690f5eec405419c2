#include "inspect/capture_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/json_text.h"
#include "inspect/capture_parts.h"
#include "inspect/head_pattern.h"
#include "inspect/intervention.h"
#include "inspect/packed.h"
#include "text/base64.h"

namespace regard::inspect {
namespace {

// Maximum number of attention weights that Precision::bits8 writes, one byte each. With --compare, the limit
// applies to both texts together.
constexpr std::int64_t kMostWeights = 900000;
// Maximum number of hypotheses of a beam search, about 1 MB. A larger beam search is not written.
constexpr std::size_t kMostBeamNodes = 8192;

const char* kind_name(ModelKind kind) {
  if (kind == ModelKind::encoder) return "encoder";
  return kind == ModelKind::decoder ? "decoder" : "encoder-decoder";
}

const char* kind_name(InputKind kind) {
  if (kind == InputKind::tokens) return "tokens";
  return kind == InputKind::pixels ? "pixels" : "features";
}

void add_sentence(std::string& text, const std::string& sentence) {
  text += (text.empty() ? "" : " ") + sentence;
}

// Builds the JSON object of one View.
class Writer {
 public:
  // `most_weights` is the maximum number of attention weights for Precision::bits8. `order` lists the indices
  // of the maps, the most important first.
  Writer(const View& view, Precision precision, std::int64_t most_weights, std::vector<std::size_t> order)
      : view_(view),
        full_(precision == Precision::full),
        most_weights_(view.compared ? most_weights / 2 : most_weights),
        order_(std::move(order)),
        left_out_(view.left_out),
        written_(view.maps.size(), true) {
    if (!full_) choose_maps();
  }

  FloatJson make() {
    FloatJson out{{"format", "regard-capture"}, {"version", 2}, {"precision", full_ ? "f32" : "8 bit"}};
    add_texts(out);
    add_tokens(out);
    if (!view_.unseen_words.empty()) out["unseen_words"] = view_.unseen_words;
    FloatJson& ablated = out["ablated"] = FloatJson::array();
    for (const Head& head : view_.ablated) ablated.push_back(head.text());
    add_interventions(out["interventions"] = FloatJson::array());
    if (!view_.warnings.empty()) out["warnings"] = inspect::to_json(view_.warnings);
    if (view_.size) out["drawing"] = drawing();
    FloatJson& attention = out["attention"] = FloatJson::array();
    for (std::size_t i = 0; i < view_.maps.size(); ++i) attention.push_back(map_json(i));
    if (!view_.activations.empty()) out["activations"] = activations();
    if (!view_.steps.empty()) out["steps"] = steps(view_.steps);
    add_beams(out);
    if (!view_.what_if.empty()) add_what_if(out["what_if"] = FloatJson::array());
    if (view_.picture)
      out["picture"] = {{"width", view_.picture->width},
                        {"height", view_.picture->height},
                        {"png", text::encode_base64(view_.picture->png)}};
    if (view_.sound) out["sound"] = sound();
    if (view_.film) out["film"] = film_json(*view_.film, full_);
    if (!view_.tokenizers.empty()) out["tokenizers"] = tokenizers_json(view_.tokenizers);
    if (view_.compared) {
      // If both views have the same number of maps, write the attention weights of the same heads in both.
      // Otherwise, select the heads of the compared view by their scores in that view.
      const bool same = view_.compared->maps.size() == view_.maps.size();
      out["compared"] =
          Writer(*view_.compared, precision(), most_weights_, same ? order_ : ranked_maps(*view_.compared))
              .make();
    }
    if (!left_out_.empty()) out["left_out"] = left_out_;
    return out;
  }

 private:
  void add_interventions(FloatJson& list) const {
    for (const std::string& text : view_.interventions) {
      const Intervention one = Intervention::parse(text);
      std::string at;
      for (const Site& site : one.sites) at += (at.empty() ? "" : ",") + site.text;
      list.push_back({{"kind", name_of(one.action)}, {"at", at}, {"detail", text}});
    }
  }

  // Choose the maps that are written with their weights: the maps with the highest scores
  // (HeadSummary::telling), up to the limit.
  void choose_maps() {
    std::int64_t used = 0, dropped = 0;
    for (const std::size_t index : order_) {
      const std::int64_t size = view_.maps[index].rows * view_.maps[index].columns;
      written_[index] = used + size <= most_weights_;
      if (written_[index])
        used += size;
      else
        ++dropped;
    }
    if (dropped > 0)
      add_sentence(left_out_, fmt::format("The weights of {} of {} heads are left out: these heads have a "
                                          "thumbnail only.",
                                          dropped, view_.maps.size()));
  }

  FloatJson matrix(std::span<const float> numbers, std::int64_t columns) const {
    return full_ ? rows_json(numbers, columns) : packed_f32(numbers, columns);
  }

  void add_texts(FloatJson& out) const {
    out["model"] = view_.model;
    out["text"] = view_.text;
    if (!view_.pair.empty()) out["pair"] = view_.pair;
    if (!view_.tokens.target.empty()) out["translation"] = view_.translation;
    if (view_.prompt_tokens > 0) out["prompt_tokens"] = view_.prompt_tokens;
    if (!view_.unablated.empty()) out["translation_without_ablation"] = view_.unablated;
    if (view_.generated) out["translation_generated"] = *view_.generated;
  }

  void add_tokens(FloatJson& out) const {
    const Tokens& tokens = view_.tokens;
    FloatJson& all = out["tokens"] = FloatJson::object();
    if (!tokens.source.empty())
      all["source"] =
          tokens_json(tokens.source, tokens.source_origin, tokens.special_source, tokens.unseen_source);
    if (tokens.target.empty()) return;
    all["target"] =
        tokens_json(tokens.target, tokens.target_origin, tokens.special_target, tokens.unseen_target);
    all["written"] = tokens_json(tokens.written, tokens.written_origin, tokens.special_written);
  }

  void add_beams(FloatJson& out) {
    if (!view_.beams) return;
    if (node_count(*view_.beams) <= kMostBeamNodes)
      out["beams"] = beams_json(*view_.beams);
    else
      add_sentence(left_out_, "The beam search is left out.");
  }

  FloatJson drawing() const {
    const ModelSize& size = *view_.size;
    FloatJson out{{"kind", kind_name(size.kind)},
                  {"hidden", size.hidden},
                  {"vocabulary", size.vocabulary},
                  {"parameters", size.parameters},
                  {"input", kind_name(size.input.kind)}};
    if (size.sinusoids) out["positions"] = "sinusoidal";
    if (size.input.patch_rows > 0)
      out["patches"] = {{"rows", size.input.patch_rows},
                        {"columns", size.input.patch_columns},
                        {"specials", size.input.specials}};
    const auto sizes = [](const Shape& shape) {
      return std::vector<std::int64_t>(shape.sizes().begin(), shape.sizes().end());
    };
    FloatJson& points = out["points"] = FloatJson::array();
    for (const PointShape& one : size.points) {
      points.push_back({{"name", one.point}, {"shape", sizes(one.shape)}});
      if (one.heads > 0) points.back()["heads"] = one.heads;
    }
    FloatJson& weights = out["weights"] = FloatJson::array();
    for (const auto& [name, shape] : size.weights)
      weights.push_back({{"name", name}, {"shape", sizes(shape)}});
    return out;
  }

  FloatJson map_json(std::size_t index) const {
    const Map& map = view_.maps[index];
    FloatJson out{{"kind", name_of(map.head.kind)}, {"layer", map.head.layer}};
    if (map.average)
      out["average_of_heads"] = map.averaged;
    else
      out["head"] = map.head.head;
    const HeadSummary summary = map.summary ? *map.summary : summarize(view_, map);
    out["entropy"] = static_cast<float>(summary.entropy);
    if (map.head.kind != Kind::cross) out["distance"] = static_cast<float>(summary.distance);
    out["pattern"] = name_of(summary.pattern);
    out["share"] = static_cast<float>(summary.share);
    out["telling"] = static_cast<float>(summary.telling);
    out["caption"] = summary.caption;
    out["thumbnail"] = thumbnail(map);
    if (written_[index])
      out["weights"] = full_ ? rows_json(map.weights, map.columns) : packed_bytes(map.weights, map.columns);
    if (!written_[index] && view_.sound && map.head.kind == Kind::encoder) out["received"] = received(map);
    if (map.values)
      out["values"] = {{"query", matrix(map.values->query, map.values->size)},
                       {"key", matrix(map.values->key, map.values->size)},
                       {"value", matrix(map.values->value, map.values->value_size)},
                       {"scale", map.values->scale},
                       {"causal", map.causal()}};
    if (map.parameters)
      out["parameters"] = {{"query", projection(map.parameters->query)},
                           {"key", projection(map.parameters->key)},
                           {"value", projection(map.parameters->value)},
                           {"output", projection(map.parameters->output)}};
    return out;
  }

  FloatJson projection(const Projection& one) const {
    const auto numbers = [](const Tensor& tensor) {
      return std::span(tensor.f32(), static_cast<std::size_t>(tensor.shape().elements()));
    };
    const std::int64_t columns = one.weight.columns();
    FloatJson out{{"weight", full_ ? rows_json(numbers(one.weight), columns)
                                   : packed_int16(numbers(one.weight), columns)}};
    if (one.bias.defined()) out["bias"] = std::vector<float>(one.bias.f32(), one.bias.f32() + columns);
    return out;
  }

  FloatJson activations() const {
    FloatJson out = FloatJson::array();
    for (const Activation& one : view_.activations)
      out.push_back({{"name", one.point}, {"values", matrix(one.numbers, one.columns)}});
    return out;
  }

  FloatJson sound() const {
    const SoundView& sound = *view_.sound;
    const Spectrogram& levels = sound.spectrogram;
    return {{"seconds", static_cast<float>(sound.seconds)},
            {"first_time", static_cast<float>(sound.first_time)},
            {"time_step", static_cast<float>(sound.time_step)},
            {"specials", view_.size ? view_.size->input.specials : 0},
            {"spectrogram", packed_bytes(levels.levels, levels.columns)}};
  }

  // Return a matrix of attention weights with one column per key. Row 0 is the mean over all queries. Each
  // further row contains the weights of one query that is a special token.
  FloatJson received(const Map& map) const {
    const std::int64_t specials = view_.size ? view_.size->input.specials : 0;
    std::vector<double> sums(static_cast<std::size_t>(map.columns), 0.0);
    for (std::size_t i = 0; i < map.weights.size(); ++i)
      sums[i % sums.size()] += static_cast<double>(map.weights[i]) / static_cast<double>(map.rows);
    std::vector<float> rows(sums.begin(), sums.end());
    rows.insert(rows.end(), map.weights.begin(),
                map.weights.begin() + std::min(specials, map.rows) * map.columns);
    return full_ ? rows_json(rows, map.columns) : packed_bytes(rows, map.columns);
  }

  Precision precision() const { return full_ ? Precision::full : Precision::bits8; }

  static FloatJson steps(const std::vector<GenerationStep>& all) {
    FloatJson out = FloatJson::array();
    for (const GenerationStep& step : all) {
      FloatJson one{{"log_sum_exp", static_cast<float>(step.log_sum_exp)},
                    {"written_logit", step.written_logit}};
      for (const GenerationStep::Candidate& candidate : step.candidates) {
        one["ids"].push_back(candidate.id);
        one["text"].push_back(candidate.text);
        one["logits"].push_back(candidate.logit);
      }
      if (std::ranges::any_of(step.candidates, [](const auto& each) { return !each.bytes.empty(); }))
        for (const GenerationStep::Candidate& candidate : step.candidates)
          one["bytes"].push_back(hexadecimal(candidate.bytes));
      out.push_back(std::move(one));
    }
    return out;
  }

  void add_what_if(FloatJson& list) const {
    for (const WhatIf& one : view_.what_if) {
      FloatJson& out = list.emplace_back(FloatJson{{"off", one.off.text()}});
      if (one.translation) out["translation"] = *one.translation;
      if (one.lost) out["lost"] = static_cast<float>(*one.lost);
      if (!one.steps.empty()) out["steps"] = steps(one.steps);
      FloatJson& changes = out["changes"] = FloatJson::array();
      for (const WhatIf::Change& change : one.changes) {
        changes.push_back({{"head", change.head.text()}, {"change", static_cast<float>(change.change)}});
        if (!change.weights.empty())
          changes.back()["weights"] = full_ ? rows_json(change.weights, change.columns)
                                            : packed_bytes(change.weights, change.columns);
      }
    }
  }

  const View& view_;
  bool full_;
  std::int64_t most_weights_;
  std::vector<std::size_t> order_;
  std::string left_out_;
  std::vector<bool> written_;  // for each map, true if its attention weights are written
};

bool whole_side(const std::string& point) {
  return point.ends_with(".embedding") || point.ends_with(".residual") || point == "encoder.output" ||
         point == "decoder.output";
}

}  // namespace

std::string to_json(const View& view, Precision precision) {
  return json_text(Writer(view, precision, kMostWeights, ranked_maps(view)).make());
}

void limit_values(View& view, std::size_t numbers) {
  std::size_t used = 0, dropped = 0, all = 0;
  for (const std::size_t index : ranked_maps(view)) {
    Map& map = view.maps[index];
    if (!map.values) continue;
    ++all;
    used += map.values->query.size() + map.values->key.size() + map.values->value.size();
    if (used <= numbers) continue;
    map.values.reset();
    ++dropped;
  }
  if (dropped > 0)
    add_sentence(view.left_out,
                 fmt::format("Query, key and value vectors are left out for {} of {} heads.", dropped, all));
}

void limit_activations(View& view, std::size_t numbers, const std::set<std::string>& needed) {
  const std::size_t all = view.activations.size();
  std::vector<bool> kept(all, false);
  std::size_t used = 0;
  const auto rank = [&](const std::string& point) {
    return needed.count(point) != 0 ? 0 : whole_side(point) ? 1 : 2;
  };
  for (const int turn : {0, 1, 2})
    for (std::size_t i = 0; i < all; ++i) {
      const Activation& one = view.activations[i];
      if (rank(one.point) != turn || used + one.numbers.size() > numbers) continue;
      kept[i] = true;
      used += one.numbers.size();
    }
  std::vector<Activation> rest;
  for (std::size_t i = 0; i < all; ++i)
    if (kept[i]) rest.push_back(std::move(view.activations[i]));
  view.activations = std::move(rest);
  if (view.activations.size() < all)
    add_sentence(view.left_out,
                 fmt::format("{} of {} activations are left out.", all - view.activations.size(), all));
}

}  // namespace regard::inspect

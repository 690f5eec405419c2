#include "inspect/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/line_reader.h"
#include "base/nearest.h"
#include "base/placed.h"
#include "inspect/ablation.h"
#include "inspect/intervention_files.h"
#include "inspect/pass_input.h"
#include "models/dual_encoder.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

bool has_features(std::string_view point) {
  for (const std::string_view no : {".query", ".key", ".value"})
    if (point.ends_with(no)) return false;
  return true;
}

class Resolver {
 public:
  Resolver(Network& model, ThreadPool& pool, const infer::LoadedModel* loaded, const BetweenPasses& between,
           const FileReader& read_file)
      : model_(model),
        pool_(pool),
        loaded_(loaded),
        between_(between),
        dual_(dual_encoder_of(model)),
        inputs_(model, pool, loaded, between, read_file) {
    if (dual_ == nullptr) {
      points_[""] = ModelPoints::of(model, pool);
    } else {
      points_["text"] = ModelPoints::of(dual_->text(), pool);
      points_["vision"] = ModelPoints::of(dual_->vision(), pool);
    }
  }

  void add(Intervention one) {
    for (Site& site : one.sites) set_kind(site);
    progress_ = std::make_shared<std::atomic<EditProgress>>(EditProgress::none);
    pass_->add(progress_, one.text);
    if (one.action == Action::scale || one.action == Action::uniform || one.action == Action::replace ||
        one.action == Action::freeze)
      return add_weights(one);
    std::vector<ValueEdit> edits;
    for (const Site& site : one.sites) {
      const std::vector<ValueEdit> more = places_of(site, one);
      edits.insert(edits.end(), more.begin(), more.end());
    }
    require_tower(one);
    if (one.action == Action::mean) set_means(edits, one);
    if (one.action == Action::patch) set_patches(edits, one);
    if (one.action == Action::add) set_vectors(edits, one);
    for (ValueEdit& edit : edits) {
      edit.positions = one.positions, edit.progress = progress_;
      pass_->add(std::move(edit));
    }
  }

  std::unique_ptr<EditedPass> take() { return std::move(pass_); }

 private:
  // Return the probe points of the encoder site.tower. Throws usage if site.tower is empty and the model has
  // two encoders, or if the model does not have this encoder.
  const ModelPoints& points_of(const Site& site) const {
    const auto found = points_.find(site.tower);
    if (found != points_.end()) return found->second;
    if (dual_ == nullptr)
      throw usage_error("the model has only one encoder")
          .found(site.text)
          .expected(site.text.substr(site.tower.size() + 1));
    throw usage_error("the encoder is not given, and the model has two encoders")
        .found(site.text)
        .expected(fmt::format("text.{0} or vision.{0}", site.text));
  }

  // If the site names a head without a kind of attention, set the kind to the only one that the model has.
  // Throws usage if the model has several kinds.
  void set_kind(Site& site) const {
    std::string_view place = site.text;
    take_tower(place);
    if (!site.head || place.empty() || place[0] < '0' || place[0] > '9') return;
    std::set<Kind> kinds;
    for (const auto& [kind_and_layer, heads] : points_of(site).heads) kinds.insert(kind_and_layer.first);
    if (kinds.size() > 1) {
      std::vector<std::string> names;
      for (const Kind kind : kinds) names.push_back(Head{kind, site.head->layer, site.head->head}.text());
      throw usage_error("the head is ambiguous: the model has several kinds of attention")
          .found(site.text)
          .expected(fmt::format("{}", fmt::join(names, " or ")));
    }
    if (!kinds.empty()) site.head->kind = *kinds.begin();
  }

  // Throw usage if a text provides values for the image encoder, or an image for the text encoder.
  static void require_tower(const Intervention& one) {
    const bool file = !one.other.file.empty() || !one.files.empty();
    if (!file && !one.other.given() && one.texts.empty()) return;
    for (const Site& site : one.sites)
      if (site.tower == (file ? "text" : "vision"))
        throw usage_error(file ? "an image has no values in the text encoder"
                               : "a text has no values in the image encoder")
            .found(one.text)
            .expected(file ? "a place that starts with 'vision.'"
                           : "a place that starts with 'text.', or an image (file=FILE)");
  }

  [[noreturn]] void unknown(const Site& site, const std::string& place) const {
    const std::string tower = site.tower.empty() ? "" : site.tower + ".";
    std::vector<std::string> names;
    for (const auto& [name, features] : points_of(site).features)
      if (has_features(name)) names.push_back(tower + name);
    Error error = usage_error("the model has no such place for an intervention").found(tower + place);
    if (const std::string_view close = nearest(tower + place, names); !close.empty())
      error.remedy("Did you mean " + std::string(close) + "?");
    else if (!names.empty())
      error.expected(fmt::format("a point such as {} or {}", names.front(), names.back()));
    throw error;
  }

  std::vector<ValueEdit> places_of(const Site& site, const Intervention& one) const {
    std::vector<ValueEdit> edits = untowered_places_of(site, one);
    for (ValueEdit& edit : edits) edit.tower = site.tower;
    return edits;
  }

  std::vector<ValueEdit> untowered_places_of(const Site& site, const Intervention& one) const {
    const ModelPoints& points = points_of(site);
    if (site.head) return {points.of_head(*site.head)};
    std::vector<ValueEdit> edits;
    if (!site.layer.empty()) {
      if (one.action == Action::add)
        throw usage_error("a vector can be added at a probe point, not to a layer")
            .found(site.text)
            .expected(site.layer + ".residual");
      for (const auto& [point, features] : points.features)
        if (point.starts_with(site.layer + ".") && point.ends_with(".output"))
          edits.push_back({point, 0, features, 0.0f, {}, false, {}});
      if (edits.empty()) unknown(site, site.layer);
      return edits;
    }
    const auto found = points.features.find(site.point);
    if (found == points.features.end() || !has_features(site.point)) unknown(site, site.point);
    if (site.features.all()) return {{site.point, 0, found->second, 0.0f, {}, false, {}}};
    for (const Positions::Range& range : site.features.ranges) {
      if (range.last >= found->second)
        throw usage_error("the feature is out of range")
            .found(fmt::format("{}[{}]", site.point, range.last))
            .expected(fmt::format("a feature from 0 to {}", found->second - 1));
      edits.push_back({site.point, range.first, range.last + 1, 0.0f, {}, false, {}});
    }
    return edits;
  }

  // Return true if the decoder must also run on the other input: an edited site is outside the encoder.
  static bool decodes(const Intervention& one) {
    return std::any_of(one.sites.begin(), one.sites.end(), [](const Site& site) {
      return site.head ? site.head->kind != Kind::encoder
                       : !(site.layer + site.point).starts_with("encoder.");
    });
  }

  void run(const PassInput& input, PointCapture& capture) const {
    if (between_) between_();
    // In a model with two encoders, run_pass() runs the text encoder; an image needs the image encoder.
    Network& runs = dual_ != nullptr && input.source.kind() == InputKind::pixels ? dual_->vision() : model_;
    run_pass(runs, pool_, input, &capture);
  }

  PointCapture run(const PassInput& input, const std::vector<std::string>& names) const {
    PointCapture capture;
    for (const std::string& name : names) capture.want(name);
    run(input, capture);
    return capture;
  }

  static std::vector<std::string> names_of(const std::vector<ValueEdit>& edits) {
    std::vector<std::string> names;
    for (const ValueEdit& edit : edits) names.push_back(edit.point);
    return names;
  }

  // Sums from which the mean values of each edit's features are computed.
  struct Sums {
    std::vector<std::vector<double>> sums;  // for each edit and feature, the sum over the tokens
    std::vector<std::int64_t> tokens;       // for each edit, the number of tokens

    explicit Sums(const std::vector<ValueEdit>& edits) : tokens(edits.size()) {
      for (const ValueEdit& edit : edits) sums.emplace_back(static_cast<std::size_t>(edit.end - edit.begin));
    }
    void add(const std::vector<ValueEdit>& edits, const PointCapture& capture) {
      for (std::size_t e = 0; e < edits.size(); ++e) {
        const Tensor& value = capture.at(edits[e].point);
        tokens[e] += value.rows();
        for (std::int64_t row = 0; row < value.rows(); ++row)
          for (std::int64_t i = edits[e].begin; i < edits[e].end; ++i)
            sums[e][static_cast<std::size_t>(i - edits[e].begin)] += static_cast<double>(value.row(row)[i]);
      }
    }
    double mean(std::size_t edit, std::size_t feature) const {
      return sums[edit][feature] / static_cast<double>(std::max<std::int64_t>(1, tokens[edit]));
    }
  };

  void set_means(std::vector<ValueEdit>& edits, const Intervention& one) const {
    if (one.other.given()) {
      Sums sums(edits);
      sums.add(edits, run(inputs_.read(one.other, decodes(one)), names_of(edits)));
      return set_offsets(edits, sums, 1.0);
    }
    set_offsets(edits, sums_over_set(edits, one), 1.0);
  }

  // Return the sums over all inputs that the file of texts= or files= lists.
  Sums sums_over_set(const std::vector<ValueEdit>& edits, const Intervention& one) const {
    const bool files = !one.files.empty();
    const std::string& list = files ? one.files : one.texts;
    inputs_.require_kind(files, (files ? "files=" : "texts=") + list);
    if (!files && (loaded_ == nullptr || !loaded_->source))
      throw usage_error("texts= needs a tokenizer").found(list);
    Sums sums(edits);
    LineReader reader(list);
    std::int64_t inputs = 0;
    for (std::string line; reader.next(line);) {
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      const std::size_t tab = model_.kind() == ModelKind::encoder_decoder ? line.find('\t') : line.npos;
      OtherInput input;
      (files ? input.file : input.text) = line.substr(0, tab);
      if (tab != line.npos) input.target = line.substr(tab + 1);
      placed({reader.name(), reader.line_number(), -1},
             [&] { sums.add(edits, run(inputs_.read(input, decodes(one)), names_of(edits))); });
      ++inputs;
    }
    if (inputs == 0)
      throw input_error("the file has no inputs").at({list, -1, -1}).remedy("Write one input per line");
    return sums;
  }

  static void set_offsets(std::vector<ValueEdit>& edits, const Sums& sums, double factor) {
    for (std::size_t e = 0; e < edits.size(); ++e) {
      edits[e].offset = Tensor::empty({1, edits[e].end - edits[e].begin});
      for (std::size_t i = 0; i < sums.sums[e].size(); ++i)
        edits[e].offset.f32()[i] = static_cast<float>(factor * sums.mean(e, i));
    }
  }

  void set_patches(std::vector<ValueEdit>& edits, const Intervention& one) const {
    const PointCapture capture = run(inputs_.read(one.other, decodes(one)), names_of(edits));
    for (ValueEdit& edit : edits) {
      const Tensor& value = capture.at(edit.point);
      if (one.positions.all() && one.from.all() && edit.point.starts_with("encoder."))
        require_length(one, value.rows(), edit.tower);
      edit.by_position = one.from.count() != 1;
      const std::int64_t rows = !edit.by_position     ? 1
                                : one.positions.all() ? value.rows()
                                                      : one.positions.count();
      if (rows > value.rows())
        throw usage_error("the intervention changes more positions than its other input has")
            .found(fmt::format("{} positions in '{}'", rows, one.text))
            .expected(fmt::format("at most {} positions", value.rows()));
      edit.offset = Tensor::empty({rows, edit.end - edit.begin});
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t from = require_position(one, value.rows(), row);
        std::copy_n(value.row(from) + edit.begin, edit.end - edit.begin, edit.offset.row(row));
      }
    }
  }

  // If an edit patches all positions of the encoder with values of an image or sound, both inputs must have
  // the same number of positions. A text may have a different length: only positions that exist in both
  // inputs are edited.
  void require_length(const Intervention& one, std::int64_t positions, const std::string& tower) const {
    if (!one.other.file.empty()) pass_->add(RequiredLength{positions, one.text, tower});
  }

  // Return the position in the other input from which row `row` of an edit is copied. It is given by from=.
  // Default: the position that the edit changes. Throws usage if the other input has no such position.
  static std::int64_t require_position(const Intervention& one, std::int64_t tokens, std::int64_t row) {
    const std::int64_t from = !one.from.all()       ? one.from.at(one.from.count() == 1 ? 0 : row)
                              : one.positions.all() ? row
                                                    : one.positions.at(row);
    if (from < 0 || from >= tokens)
      throw usage_error("the position is outside the other input")
          .found(fmt::format("{} in '{}'", from, one.text))
          .expected(fmt::format("a position from 0 to {}", tokens - 1));
    return from;
  }

  void set_vectors(std::vector<ValueEdit>& edits, const Intervention& one) const {
    for (ValueEdit& edit : edits) edit.factor = 1.0f;
    if (one.other.given()) {
      Sums sums(edits);
      sums.add(edits, run(inputs_.read(one.other, decodes(one)), names_of(edits)));
      set_offsets(edits, sums, one.by);
      if (!one.minus.given()) return;
      Sums less(edits);
      less.add(edits, run(inputs_.read(one.minus, decodes(one)), names_of(edits)));
      for (std::size_t e = 0; e < edits.size(); ++e)
        for (std::size_t i = 0; i < less.sums[e].size(); ++i)
          edits[e].offset.f32()[i] = static_cast<float>(one.by * (sums.mean(e, i) - less.mean(e, i)));
      return;
    }
    const Tensor vector = read_tensor("vector", one.vector);
    for (ValueEdit& edit : edits) {
      if (vector.elements() != edit.end - edit.begin)
        throw usage_error("the vector of an intervention has a wrong size")
            .at({one.vector, -1, -1})
            .found(vector.shape().text())
            .expected(fmt::format("[{}] for {}", edit.end - edit.begin, edit.point));
      edit.offset = Tensor::empty({1, vector.elements()});
      for (std::int64_t i = 0; i < vector.elements(); ++i)
        edit.offset.f32()[i] = static_cast<float>(one.by * static_cast<double>(vector.f32()[i]));
    }
  }

  void add_weights(const Intervention& one) {
    require_tower(one);
    for (const Site& site : one.sites) {
      const ModelPoints& points = points_of(site);
      points.of_head(*site.head);  // throws usage for a head that does not exist
      if (points.replaceable.count({site.head->kind, site.head->layer}) == 0)
        throw usage_error("the attention weights of this model cannot be changed")
            .found(one.text)
            .expected("the action zero, mean, patch or add, or a model with dot-product attention");
      WeightEdit edit;
      edit.head = *site.head, edit.action = one.action, edit.factor = static_cast<float>(one.by);
      edit.tower = site.tower, edit.progress = progress_;
      edit.positions = one.positions, edit.keys = one.keys;
      if (one.action == Action::replace) edit.pattern = pattern_of(one, *site.head);
      if (one.action == Action::freeze) {
        const Tensor pattern = pattern_of(one, *site.head);
        edit.from = one.from.at(0);
        if (edit.from >= pattern.rows())
          throw usage_error("the query of from= does not exist")
              .found(fmt::format("{} in '{}'", edit.from, one.text))
              .expected(fmt::format("a query from 0 to {}", pattern.rows() - 1));
        edit.pattern = pattern.slice_rows(edit.from, edit.from + 1).clone();
      }
      if (edit.pattern.defined() && site.head->kind != Kind::decoder)
        require_length(one, edit.pattern.columns(), site.tower);
      pass_->add(std::move(edit));
    }
  }

  Tensor pattern_of(const Intervention& one, const Head& head) const {
    if (!one.pattern.empty()) {
      const Tensor pattern = read_tensor("pattern", one.pattern);
      if (pattern.shape().rank() != 2)
        throw usage_error("the attention pattern does not have two dimensions")
            .at({one.pattern, -1, -1})
            .found(pattern.shape().text())
            .expected("[queries, keys]");
      return pattern;
    }
    PointCapture capture;
    capture.want_weights(head);
    run(inputs_.read(one.other, head.kind != Kind::encoder), capture);
    const Tensor& weights = capture.at(weights_name(head));
    return weights.reshape({weights.shape()[1], weights.shape()[2]});
  }

  Network& model_;
  ThreadPool& pool_;
  const infer::LoadedModel* loaded_;
  const BetweenPasses& between_;
  DualEncoder* dual_;  // the model if it has two encoders, otherwise null
  OtherInputReader inputs_;
  std::map<std::string, ModelPoints> points_;  // keys: name of the encoder, or "" in a model with one encoder
  std::unique_ptr<EditedPass> pass_ = std::make_unique<EditedPass>();
  SharedProgress progress_;  // progress of the intervention that is being added
};

}  // namespace

std::unique_ptr<EditedPass> resolve(Network& model, ThreadPool& pool, const infer::LoadedModel* loaded,
                                    const std::vector<Intervention>& interventions,
                                    const BetweenPasses& between, const FileReader& read_file) {
  if (interventions.empty()) return nullptr;
  Resolver resolver(model, pool, loaded, between, read_file);
  for (const Intervention& one : interventions) resolver.add(one);
  return resolver.take();
}

std::unique_ptr<Probe> probe_of(const infer::LoadedModel& loaded, ThreadPool& pool,
                                const std::vector<Head>& ablated,
                                const std::vector<std::string>& interventions, const FileReader& read_file) {
  std::unique_ptr<Probe> ablating = ablation(*loaded.model, pool, ablated);
  auto edits = resolve(*loaded.model, pool, &loaded, parse_interventions(interventions), {}, read_file);
  if (!edits) return ablating;
  edits->set_observer(std::move(ablating));
  return edits;
}

}  // namespace regard::inspect

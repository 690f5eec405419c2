// EditedPass: the probe that changes values during a forward pass according to a list of edits. resolve.h
// creates the list from descriptions of interventions; studies create it directly.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inspect/head.h"
#include "inspect/intervention.h"
#include "inspect/intervention_warning.h"
#include "ops/forwarding_probe.h"
#include "regard/tensor.h"

namespace regard::inspect {

// Progress of an intervention. All copies of the intervention's edits refer to the same progress.
using SharedProgress = std::shared_ptr<std::atomic<EditProgress>>;

// Edit of the value at a probe point: features [begin, end) become factor · x + offset at the chosen
// positions.
struct ValueEdit {
  std::string point;
  std::int64_t begin = 0, end = 0;  // range of features to edit
  float factor = 0.0f;
  Tensor offset;  // offset [rows, end − begin]; undefined means zeros
  // If false, row 0 of `offset` applies to every position. If true, row i applies to the i-th of
  // `positions`, or to position i if `positions` is empty; positions without a row are not changed.
  bool by_position = false;
  Positions positions;
  // Name of the encoder ("text" or "vision") in a model with two encoders; otherwise empty.
  std::string tower = {};
  SharedProgress progress = {};  // may be null
};

// Edit of the attention weights of a head.
struct WeightEdit {
  Head head;
  Action action = Action::scale;  // action: scale, uniform, replace or freeze
  float factor = 1.0f;            // factor of the attention weights, for scale
  Positions positions, keys;      // query positions and, for scale, key positions
  Tensor pattern;                 // new weights: for replace, [queries, keys]; for freeze, [1, keys]
  std::int64_t from = 0;          // first query that is edited, for freeze
  std::string tower = {};         // name of the encoder, as in ValueEdit
  SharedProgress progress = {};   // may be null
};

// Number of positions that every sequence of the encoder must have. Added for an intervention that replaces
// the values at all positions with values computed from another image or sound.
struct RequiredLength {
  std::int64_t positions = 0;
  std::string intervention;  // text of the intervention, for messages
  std::string tower = {};    // name of the encoder, as in ValueEdit
};

// Applies edits during forward passes, one pass at a time. The edits of a probe point or head are applied in
// the order in which they were added. Positions count from the start of the whole sequence, including tokens
// in a key/value cache.
class EditedPass : public ForwardingProbe {
 public:
  // `observer`, if not null, also receives every call, with the values after the edits. It is not owned.
  explicit EditedPass(Probe* observer = nullptr) : ForwardingProbe(observer) {}
  // Copies all edits and required lengths of `edits`, which may be null.
  explicit EditedPass(const EditedPass* edits, Probe* observer = nullptr) : ForwardingProbe(observer) {
    if (edits != nullptr) add(*edits);
  }

  void add(ValueEdit edit);
  void add(WeightEdit edit);
  // Require a number of positions. A pass throws usage if a sequence of the encoder has another number.
  void add(RequiredLength length);
  // Register an intervention: warnings() names it until `progress` is EditProgress::changed.
  void add(SharedProgress progress, std::string intervention);
  void add(const EditedPass& other);  // adds the edits and required lengths of `other`
  // Add the edits that apply to the encoder `tower` of a model with two encoders, for passes over that
  // encoder alone.
  void add_tower(const EditedPass& other, std::string_view tower);
  // Return a warning for each intervention that has changed nothing so far. Changes by copies of this
  // object's edits are counted too.
  std::vector<InterventionWarning> warnings() const;
  bool empty() const { return values_.empty() && weights_.empty(); }
  // Return true if there is an edit of the value at this probe point.
  bool changes(std::string_view point) const { return edits_at(point) != nullptr; }
  std::string text() const;  // returns the texts of the interventions, separated by line feeds

  void set_observer(Probe* observer) { set_next(observer); }
  void set_observer(std::unique_ptr<Probe> observer) { set_next((owned_ = std::move(observer)).get()); }

  void begin(std::string_view stack, const Ragged& shape) override;
  Var replace(Tape& tape, std::string_view point, Var value) override;
  bool may_replace(std::string_view point) override;
  bool replaces_weights(std::string_view point, std::int64_t head) override;
  void replace_weights(std::string_view point, const ProbedWeights& weights) override;

 private:
  const Ragged& shape_at(std::string_view point) const;
  void check_lengths(const Ragged& shape) const;
  void edit_query(const WeightEdit& edit, const ProbedWeights& weights, std::int64_t query,
                  std::int64_t position) const;

  const std::vector<ValueEdit>* edits_at(std::string_view point) const;
  const std::vector<WeightEdit>* edits_of(std::string_view point, std::int64_t head) const;

  std::unique_ptr<Probe> owned_;  // the observer if this object owns it; otherwise null
  // First key: name of the encoder in a model with two encoders, otherwise empty. Second key: probe point or
  // head.
  std::map<std::string, std::map<std::string, std::vector<ValueEdit>, std::less<>>, std::less<>> values_;
  std::map<std::string, std::map<Head, std::vector<WeightEdit>>, std::less<>> weights_;
  std::string tower_;  // in a model with two encoders: name of the encoder of the current pass
  std::vector<RequiredLength> lengths_;
  // for each intervention, its progress and its text
  std::vector<std::pair<SharedProgress, std::string>> interventions_;
  Ragged encoder_, decoder_;  // batch shapes of the encoder and decoder in the current pass
};

// Captures the values [tokens, features] at selected probe points of a forward pass over one batch.
class PointCapture : public Probe {
 public:
  void want(std::string point) { values_[std::move(point)]; }
  // Capture the attention weights of one head [1, queries, keys] at the probe point weights_name(head).
  void want_weights(const Head& head);
  bool wants(std::string_view point) override { return values_.find(point) != values_.end(); }
  bool wants_head(std::string_view point, std::int64_t head) override;
  void see(std::string_view point, std::int64_t sequence, const Tensor& value) override;

  // Return the value at a probe point. For attention weights, return the weights of sequence 0. Throws usage
  // if the pass did not compute the probe point.
  const Tensor& at(std::string_view point) const;
  const std::map<std::string, Tensor, std::less<>>& values() const { return values_; }

 private:
  std::map<std::string, Tensor, std::less<>> values_;
  // for each attention layer, the head whose attention weights are captured
  std::map<std::string, std::int64_t, std::less<>> heads_;
};

// Return the name of an attention layer as a probe point, such as "decoder.1.cross".
std::string attention_name(Kind kind, std::int64_t layer);
// Return the name of the probe point with the attention weights of the head's layer, such as
// "decoder.1.cross.weights".
std::string weights_name(const Head& head);

}  // namespace regard::inspect

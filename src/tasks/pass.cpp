#include "tasks/pass.h"

namespace regard::tasks {

Pass::Pass(Network& model, ThreadPool& pool, Probe* probe)
    : model_(model), tape_(pool, arena_), probe_(probe) {}

void Pass::begin() {
  tape_.begin({});
  tape_.probe = probe_;
  shape_.clear();
}

Pass::States Pass::run(std::span<const Input> inputs) {
  begin();
  ids_.clear(), types_.clear();
  bool typed = false;
  for (const Input& input : inputs) typed = typed || !input.types.empty();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = inputs[i];
    shape_.add(input.tokens(), i);
    ids_.insert(ids_.end(), input.ids.begin(), input.ids.end());
    if (!typed) continue;
    types_.insert(types_.end(), input.types.begin(), input.types.end());
    types_.resize(ids_.size(), 0);
  }
  const Ragged shape = shape_.view();
  const TokenBatch batch{ids_, shape, types_};
  Var hidden = model_.kind() == ModelKind::decoder ? model_.decode(tape_, batch, nullptr, nullptr)
                                                   : model_.encode(tape_, batch);
  return {hidden, shape};
}

Pass::States Pass::run(const Tensor& pixels) {
  begin();
  const std::int64_t tokens = model_.tokens_per_image(pixels.shape());
  for (std::int64_t i = 0; i < pixels.shape()[0]; ++i) shape_.add(tokens, static_cast<std::uint64_t>(i));
  const Ragged shape = shape_.view();
  TokenBatch batch{{}, shape};
  batch.pixels = &pixels;
  return {model_.encode(tape_, batch), shape};
}

Tensor Pass::head(const States& states) {
  return model_.head(tape_, states.hidden, states.shape)->value;
}

void in_passes(std::span<const Input> inputs,
               const std::function<void(std::size_t first, std::size_t count)>& work) {
  for (std::size_t first = 0; first < inputs.size();) {
    std::size_t end = first;
    for (std::int64_t tokens = 0; end < inputs.size(); ++end) {
      tokens += inputs[end].tokens();
      if (tokens > kPassTokens && end > first) break;
    }
    work(first, end - first);
    first = end;
  }
}

}  // namespace regard::tasks

#include "tasks/pass.h"

namespace regard::tasks {

Pass::Pass(Network& model, ThreadPool& pool, Probe* probe)
    : model_(model), tape_(pool, arena_), probe_(probe) {}

Pass::States Pass::run(std::span<const Input> inputs) {
  tape_.begin({});
  tape_.probe = probe_;
  batch_.clear();
  for (std::size_t i = 0; i < inputs.size(); ++i)
    batch_.add(inputs[i], model_.input_spec().length_of(inputs[i]), i);
  const InputBatch batch = batch_.batch();
  Var hidden = model_.kind() == ModelKind::decoder ? model_.decode(tape_, batch, nullptr, nullptr)
                                                   : model_.encode(tape_, batch);
  return {hidden, batch};
}

Tensor Pass::head(const States& states) {
  return model_.head(tape_, states.hidden, states.batch)->value;
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

#include "inspect/ablation.h"

#include "inspect/attention_view.h"

namespace regard::inspect {

std::unique_ptr<Probe> ablation(Network& model, ThreadPool& pool, const std::vector<Head>& heads) {
  if (heads.empty()) return nullptr;
  Selection nothing;
  nothing.weights = false;
  auto probe = std::make_unique<Capture>(nothing, heads);
  const std::int32_t any[] = {0};
  // Run one small forward pass to determine which heads the model has.
  run_with_probe(model, pool, model.input_spec().blank(), any, probe.get());
  probe->check();
  return probe;
}

}  // namespace regard::inspect

#include "inspect/ablation.h"

#include "inspect/attention_view.h"

namespace regard::inspect {

std::unique_ptr<Probe> ablation(Network& model, ThreadPool& pool, const std::vector<Head>& heads) {
  if (heads.empty()) return nullptr;
  Selection nothing;
  nothing.weights = false;
  auto probe = std::make_unique<Capture>(nothing, heads);
  if (const ImageInput image = model.image_input(); model.reads_images()) {
    run_with_probe(model, pool, Tensor::zeros({1, image.channels, image.height, image.width}), probe.get());
  } else {
    const std::int32_t any[] = {0};
    run_with_probe(model, pool, any, any, probe.get());
  }
  probe->check();
  return probe;
}

}  // namespace regard::inspect

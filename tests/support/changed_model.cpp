#include "support/changed_model.h"

#include <algorithm>
#include <vector>

#include "formats/model_folder.h"
#include "formats/safetensors.h"
#include "models/weights.h"

namespace regard::testing {

void copy_changed_model(const std::filesystem::path& from, const std::filesystem::path& to,
                        const std::function<void(const std::string& name, const Tensor& weight)>& change) {
  std::filesystem::create_directories(to);
  std::filesystem::copy(from, to);
  const auto model = load_model(formats::ModelFolder::open(from));
  std::vector<formats::NamedTensor> weights = weights_of(*model);
  for (formats::NamedTensor& one : weights) {
    one.tensor = one.tensor.clone();
    change(one.name, one.tensor);
  }
  formats::write_safetensors(to / "model.safetensors", weights);
}

void remove_head(const Tensor& projection, std::int64_t heads, std::int64_t head) {
  const std::int64_t size = projection.columns() / heads;
  for (std::int64_t row = 0; row < projection.rows(); ++row)
    std::fill_n(projection.row(row) + head * size, size, 0.0f);
}

}  // namespace regard::testing

#include "tasks/attention_alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/json.h"
#include "nn/memory.h"
#include "ops/forwarding_probe.h"
#include "ops/tape.h"
#include "regard/error.h"
#include "tensor/arena.h"

namespace regard::tasks {
namespace {

enum class Step : std::uint8_t { diagonal, row, column };

// Sums the attention weights of the selected heads. The weights of each head are first normalised over the
// tokens, then smoothed by a median filter over the source positions. All probe calls are also forwarded to
// task.probe, which may change values.
class HeadSum : public ForwardingProbe {
 public:
  HeadSum(const AlignmentHeads& heads, const AlignmentTask& task)
      : ForwardingProbe(task.probe),
        heads_(heads),
        task_(task),
        rows_(std::ssize(task.ids) - task.first),
        sum_(static_cast<std::size_t>(rows_ * task.positions), 0.0) {}

  bool wants(std::string_view point) override { return layer_of(point) >= 0; }
  bool wants_head(std::string_view, std::int64_t) override { return true; }
  void see(std::string_view point, std::int64_t, const Tensor& weights) override {
    const std::int64_t layer = layer_of(point);
    for (const auto& [at, head] : heads_.heads)
      if (at == layer) add(weights, head);
  }

  std::int64_t rows() const { return rows_; }
  const std::vector<double>& sum() const { return sum_; }

 private:
  std::int64_t layer_of(std::string_view point) const {
    for (const auto& [layer, head] : heads_.heads)
      if (point == fmt::format("decoder.{}.cross.weights", layer)) return layer;
    return -1;
  }

  // Add the attention weights of head `head` to the sum. `weights` [heads, tokens, source positions] are the
  // attention weights of the head's layer.
  void add(const Tensor& weights, std::int64_t head) {
    const std::int64_t tokens = weights.shape()[1], all = weights.shape()[2];
    const std::int64_t positions = std::min(task_.positions, all);
    std::vector<float> part(static_cast<std::size_t>(rows_ * positions));
    for (std::int64_t row = 0; row < rows_; ++row) {
      const float* from = weights.f32() + (head * tokens + task_.first + row) * all;
      std::copy(from, from + positions, part.begin() + row * positions);
    }
    for (std::int64_t column = 0; column < positions; ++column) normalise(part, column, positions);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const std::span<float> line(part.data() + row * positions, static_cast<std::size_t>(positions));
      median_filter(line, heads_.median_width);
      for (std::int64_t column = 0; column < positions; ++column)
        sum_[static_cast<std::size_t>(row * task_.positions + column)] +=
            static_cast<double>(line[static_cast<std::size_t>(column)]);
    }
  }

  // Scale a column to mean 0 and standard deviation 1; a constant column becomes 0.
  void normalise(std::vector<float>& part, std::int64_t column, std::int64_t positions) const {
    const auto at = [&](std::int64_t row) -> float& {
      return part[static_cast<std::size_t>(row * positions + column)];
    };
    double mean = 0.0, variance = 0.0;
    for (std::int64_t row = 0; row < rows_; ++row) mean += static_cast<double>(at(row));
    mean /= static_cast<double>(rows_);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const double difference = static_cast<double>(at(row)) - mean;
      variance += difference * difference;
    }
    const double deviation = std::sqrt(variance / static_cast<double>(rows_));
    for (std::int64_t row = 0; row < rows_; ++row)
      at(row) =
          deviation > 0.0 ? static_cast<float>((static_cast<double>(at(row)) - mean) / deviation) : 0.0f;
  }

  const AlignmentHeads& heads_;
  const AlignmentTask& task_;
  std::int64_t rows_;
  std::vector<double> sum_;  // [rows, positions]
};

}  // namespace

AlignmentHeads AlignmentHeads::read(const formats::ModelFolder& folder) {
  const std::int64_t layers = require<std::int64_t>(folder.config, "decoder_layers", folder.config_file);
  const std::int64_t count =
      require<std::int64_t>(folder.config, "decoder_attention_heads", folder.config_file);
  AlignmentHeads all;
  all.median_width = optional_value<std::int64_t>(folder.config, "median_filter_width", folder.config_file)
                         .value_or(all.median_width);
  if (all.median_width < 1 || all.median_width > 99 || all.median_width % 2 == 0)
    throw file_error(folder.config_file, "\"median_filter_width\" is out of range")
        .found(std::to_string(all.median_width))
        .expected("an odd number from 1 to 99");
  const Json settings = folder.generation_config.value_or(Json::object());
  const std::string file = (folder.path / "generation_config.json").string();
  if (const auto found = settings.find("alignment_heads"); found != settings.end() && !found->is_null()) {
    for (const auto& pair :
         json_as<std::vector<std::vector<std::int64_t>>>(*found, "alignment_heads", file)) {
      if (pair.size() != 2 || pair[0] < 0 || pair[0] >= layers || pair[1] < 0 || pair[1] >= count)
        throw file_error(file,
                         "an entry of \"alignment_heads\" does not specify a layer and a head of the decoder")
            .found(Json(pair).dump())
            .expected(fmt::format("[0 to {}, 0 to {}]", layers - 1, count - 1));
      all.heads.emplace_back(pair[0], pair[1]);
    }
    std::sort(all.heads.begin(), all.heads.end());
  }
  if (all.heads.empty())
    for (std::int64_t layer = layers / 2; layer < layers; ++layer)
      for (std::int64_t head = 0; head < count; ++head) all.heads.emplace_back(layer, head);
  return all;
}

std::vector<std::int64_t> align_tokens(Network& model, ThreadPool& pool, const AlignmentHeads& heads,
                                       const AlignmentTask& task) {
  HeadSum weights(heads, task);
  if (weights.rows() <= 0) return {};
  Arena arena;
  Tape tape(pool, arena);
  tape.begin({});
  tape.probe = &weights;
  RaggedBuffer source, target;
  source.add(task.encoded.rows(), 0);
  target.add(std::ssize(task.ids), 0);
  const Memory memory{tape.constant(task.encoded), source.view(), nullptr};
  model.decode(tape, {task.ids, target.view()}, &memory, nullptr);
  std::vector<double> cost = weights.sum();
  for (double& value : cost) value = -value / static_cast<double>(heads.heads.size());
  return warp_time(cost, weights.rows(), task.positions);
}

void median_filter(std::span<float> values, std::int64_t width) {
  const std::int64_t half = width / 2, count = std::ssize(values);
  if (count <= half) return;
  const std::vector<float> from(values.begin(), values.end());
  std::vector<float> window(static_cast<std::size_t>(width));
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t k = 0; k < width; ++k) {
      std::int64_t at = std::abs(i + k - half);
      if (at >= count) at = 2 * (count - 1) - at;
      window[static_cast<std::size_t>(k)] = from[static_cast<std::size_t>(at)];
    }
    std::nth_element(window.begin(), window.begin() + half, window.end());
    values[static_cast<std::size_t>(i)] = window[static_cast<std::size_t>(half)];
  }
}

std::vector<std::int64_t> warp_time(std::span<const double> cost, std::int64_t rows, std::int64_t columns) {
  constexpr float kNone = std::numeric_limits<float>::infinity();
  const auto width = static_cast<std::size_t>(columns + 1);
  // total [rows + 1, columns + 1]: cost of the cheapest path to each cell, in f32 as in transformers
  std::vector<float> total(static_cast<std::size_t>(rows + 1) * width, kNone);
  std::vector<Step> steps(total.size(), Step::column);
  total[0] = 0.0f;
  for (std::int64_t row = 1; row <= rows; ++row)
    for (std::int64_t column = 1; column <= columns; ++column) {
      const std::size_t at = static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column);
      const float both = total[at - width - 1], above = total[at - width], before = total[at - 1];
      steps[at] = both < above && both < before    ? Step::diagonal
                  : above < both && above < before ? Step::row
                                                   : Step::column;
      const float least = steps[at] == Step::diagonal ? both : steps[at] == Step::row ? above : before;
      total[at] = static_cast<float>(cost[static_cast<std::size_t>((row - 1) * columns + column - 1)] +
                                     static_cast<double>(least));
    }
  std::vector<std::int64_t> first(static_cast<std::size_t>(rows), 0);
  for (std::int64_t row = rows, column = columns; row > 0;) {
    first[static_cast<std::size_t>(row - 1)] = std::max<std::int64_t>(column - 1, 0);
    const Step step = column == 0
                          ? Step::row
                          : steps[static_cast<std::size_t>(row) * width + static_cast<std::size_t>(column)];
    row -= step != Step::column ? 1 : 0;
    column -= step != Step::row ? 1 : 0;
  }
  return first;
}

}  // namespace regard::tasks

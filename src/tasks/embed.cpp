#include "tasks/embed.h"

#include <algorithm>
#include <cmath>

#include "formats/checkpoint.h"
#include "formats/model_folder.h"
#include "kernels/rows.h"
#include "regard/error.h"

namespace regard::tasks {
namespace {

Options reading_options(const EmbeddingFolder& folder, const EmbedOptions& options) {
  Options reading;
  reading.most_tokens = options.most_tokens;
  const std::int64_t said = folder.modules.most_tokens, max_positions = folder.loaded.model->max_positions();
  if (reading.most_tokens == 0 && said > 0)
    reading.most_tokens = max_positions > 0 ? std::min(said, max_positions) : said;
  reading.cut = options.cut.value_or(said > 0);
  return reading;
}

// Return the number of initial tokens excluded from pooling, as in sentence-transformers: the tokens of the
// prompt and the special tokens before them. A special token at the end of the encoded prompt is not counted,
// because inputs have that token after the text.
std::int64_t skipped_tokens(const EmbeddingFolder& folder) {
  const SentenceModules& modules = folder.modules;
  if (modules.pools_prompt || modules.prompt.empty()) return 0;
  const text::Tokenizer& tokenizer = *folder.loaded.source;
  const auto ids = tokenizer.encode_ids(modules.prompt, {.add_special = true, .match_special = false});
  return std::ssize(ids) - (!ids.empty() && tokenizer.is_special(ids.back()) ? 1 : 0);
}

struct States {
  const float* rows;  // [tokens, size]
  std::int64_t tokens, size;
  std::int64_t skipped;  // number of initial tokens excluded from pooling
};

// Write the vector of one pooling mode to `to`. The modes `cls` and `last` use the first and last token, even
// if this token is excluded from pooling.
void pool_tokens(PoolingMode mode, const States& all, float* to) {
  const auto [states, tokens, size, skipped] = all;
  if (mode == PoolingMode::cls || mode == PoolingMode::last) {
    std::copy_n(states + (mode == PoolingMode::last ? tokens - 1 : 0) * size, size, to);
    return;
  }
  if (mode == PoolingMode::max) {
    std::copy_n(states + skipped * size, size, to);
    for (std::int64_t t = skipped + 1; t < tokens; ++t)
      for (std::int64_t i = 0; i < size; ++i) to[i] = std::max(to[i], states[t * size + i]);
    return;
  }
  const bool weighted = mode == PoolingMode::weighted_mean;
  std::fill_n(to, size, 0.0f);
  for (std::int64_t t = skipped; t < tokens; ++t) {
    const float weight = weighted ? static_cast<float>(t + 1) : 1.0f;
    for (std::int64_t i = 0; i < size; ++i) to[i] += weight * states[t * size + i];
  }
  const std::int64_t left = tokens - skipped;
  const auto count = static_cast<float>(weighted ? left * (skipped + 1 + tokens) / 2 : left);
  const float divisor = mode == PoolingMode::mean_sqrt_len ? std::sqrt(count) : count;
  for (std::int64_t i = 0; i < size; ++i) to[i] /= divisor;
}

float length_of(std::span<const float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * static_cast<double>(x);
  return static_cast<float>(std::sqrt(sum));
}

std::vector<float> dense(ThreadPool& pool, const DenseModule& module, std::span<const float> x) {
  std::vector<float> y(static_cast<std::size_t>(module.weight.rows()));
  for (std::size_t row = 0; row < y.size(); ++row) {
    const float* weight = module.weight.row(static_cast<std::int64_t>(row));
    double sum = module.bias.defined() ? static_cast<double>(module.bias.f32()[row]) : 0.0;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += static_cast<double>(weight[i]) * static_cast<double>(x[i]);
    y[row] = static_cast<float>(sum);
  }
  kernels::activate(pool, module.activation, y.data(), y.data(), std::ssize(y));
  return y;
}

}  // namespace

EmbeddingFolder EmbeddingFolder::open(const std::filesystem::path& path, const EmbedOptions& options,
                                      WeightMode mode) {
  EmbeddingFolder folder;
  std::optional<formats::ModelFolder> run;
  if (formats::RunFolder::is_run_folder(path)) {
    run = formats::ModelFolder::open(path);
    folder.modules = SentenceModules::open(run->path);
    folder.modules.model = path;
  } else {
    folder.modules = SentenceModules::open(path);
  }
  if (options.pooling) folder.modules.pooling = {*options.pooling};
  if (options.prompt) folder.modules.prompt = *options.prompt;
  auto& steps = folder.modules.steps;
  if (options.normalise) {
    std::erase_if(steps, [](const auto& step) { return step == nullptr; });
    if (*options.normalise) steps.push_back(nullptr);
  }
  folder.loaded =
      infer::LoadedModel::open(run ? std::move(*run) : formats::ModelFolder::open(folder.modules.model),
                               {.weight_mode = mode, .adapter = options.adapter});
  return folder;
}

Embedder::Embedder(const EmbeddingFolder& folder, ThreadPool& pool, const EmbedOptions& options, Probe* probe)
    : folder_(folder),
      reader_(folder.loaded, reading_options(folder, options)),
      skipped_(skipped_tokens(folder)),
      pass_(*folder.loaded.model, pool, probe),
      hidden_(folder.loaded.model->hidden_size()),
      size_(hidden_ * std::ssize(folder.modules.pooling)) {
  for (const auto& step : folder.modules.steps) {
    if (step == nullptr) continue;
    if (step->weight.columns() != size_)
      throw file_error(folder.modules.model.string(),
                       "the input size of a dense module does not match the previous module")
          .found(step->weight.shape().text())
          .expected("[out, " + std::to_string(size_) + "]");
    size_ = step->weight.rows();
  }
}

Input Embedder::read(std::string_view text) const {
  if (folder_.modules.prompt.empty()) return reader_.read(text);
  return reader_.read(folder_.modules.prompt + std::string(text));
}

Tensor Embedder::embed(std::span<const std::string> texts) {
  std::vector<Input> inputs;
  for (const std::string& text : texts) inputs.push_back(read(text));
  return embed(inputs);
}

Tensor Embedder::embed(std::span<const Input> inputs) {
  Tensor vectors = Tensor::zeros({std::ssize(inputs), size_});
  in_passes(inputs, [&](std::size_t first, std::size_t count) {
    const Pass::States states = pass_.run(inputs.subspan(first, count));
    finish(states, vectors.row(static_cast<std::int64_t>(first)));
  });
  return vectors;
}

void Embedder::finish(const Pass::States& states, float* vectors) {
  const float* hidden = states.hidden->value.f32();
  const auto& modes = folder_.modules.pooling;
  std::vector<float> vector, next;
  for (std::int64_t s = 0; s < states.batch.shape.sequences(); ++s) {
    const auto at = static_cast<std::size_t>(s);
    const std::int64_t begin = states.batch.shape.offsets[at],
                       tokens = states.batch.shape.offsets[at + 1] - begin;
    if (tokens == 0) continue;
    vector.resize(modes.size() * static_cast<std::size_t>(hidden_));
    for (std::size_t m = 0; m < modes.size(); ++m)
      pool_tokens(modes[m], {hidden + begin * hidden_, tokens, hidden_, std::min(skipped_, tokens - 1)},
                  vector.data() + m * static_cast<std::size_t>(hidden_));
    for (const auto& step : folder_.modules.steps) {
      if (step != nullptr) {
        vector = dense(pass_.pool(), *step, vector);
        continue;
      }
      scale_to_length_one(vector);
    }
    for (const float x : vector)
      if (!std::isfinite(x))
        throw Error(ErrorKind::numeric, "the embedding of a sentence is not finite")
            .remedy("The weights may be damaged. Use an undamaged copy of the model");
    std::copy(vector.begin(), vector.end(), vectors + s * size_);
  }
}

void scale_to_length_one(std::span<float> vector) {
  const float length = std::max(length_of(vector), 1e-12f);
  for (float& x : vector) x /= length;
}

Tensor similarities(ThreadPool& pool, const Tensor& a, const Tensor& b, bool product) {
  if (a.columns() != b.columns())
    throw usage_error("cannot compare vectors of different sizes")
        .found("vectors of " + std::to_string(a.columns()) + " and " + std::to_string(b.columns()) +
               " numbers");
  const auto lengths = [&](const Tensor& vectors) {
    std::vector<double> all(static_cast<std::size_t>(vectors.rows()), 1.0);
    for (std::size_t i = 0; i < all.size() && !product; ++i)
      all[i] = std::max(1e-12, static_cast<double>(length_of({vectors.row(static_cast<std::int64_t>(i)),
                                                              static_cast<std::size_t>(vectors.columns())})));
    return all;
  };
  const std::vector<double> of_a = lengths(a), of_b = lengths(b);
  Tensor all = Tensor::empty({a.rows(), b.rows()});
  pool.parallel_for(a.rows(), [&](std::int64_t i, int) {
    for (std::int64_t j = 0; j < b.rows(); ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.columns(); ++k)
        sum += static_cast<double>(a.row(i)[k]) * static_cast<double>(b.row(j)[k]);
      all.row(i)[j] =
          static_cast<float>(sum / (of_a[static_cast<std::size_t>(i)] * of_b[static_cast<std::size_t>(j)]));
    }
  });
  return all;
}

}  // namespace regard::tasks

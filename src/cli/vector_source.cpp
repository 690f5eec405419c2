#include "cli/vector_source.h"

#include <optional>
#include <vector>

#include "formats/model_folder.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "tasks/image_text.h"

namespace regard::cli {
namespace {

class SentenceSource : public VectorSource {
 public:
  SentenceSource(const std::string& folder, const tasks::EmbedOptions& options, WeightMode mode)
      : options_(options), folder_(tasks::EmbeddingFolder::open(folder, options, mode)) {}

  const infer::LoadedModel* loaded() const override { return &folder_.loaded; }
  void start(ThreadPool& pool, Probe* probe) override { embedder_.emplace(folder_, pool, options_, probe); }
  tasks::Input read(const std::string& line) override { return embedder_->read(line); }
  Tensor embed(std::span<const tasks::Input> inputs) override { return embedder_->embed(inputs); }
  Tensor embed_query(const std::string& text) override {
    const std::string texts[] = {text};
    return embedder_->embed(texts);
  }
  std::int64_t size() const override { return embedder_->size(); }
  std::int64_t most_tokens() const override { return embedder_->most_tokens(); }
  bool compares_by_product() const override { return embedder_->compares_by_product(); }

 private:
  const tasks::EmbedOptions& options_;
  tasks::EmbeddingFolder folder_;
  std::optional<tasks::Embedder> embedder_;
};

// Computes text or image vectors with a dual encoder.
class ImageTextSource : public VectorSource {
 public:
  ImageTextSource(const std::string& folder, const std::filesystem::path& adapter, bool images,
                  WeightMode mode)
      : images_(images),
        loaded_(infer::LoadedModel::open(folder, {.weight_mode = mode, .adapter = adapter})) {}

  const infer::LoadedModel* loaded() const override { return &loaded_; }
  void start(ThreadPool& pool, Probe* probe) override { encoder_.emplace(loaded_, pool, probe); }
  tasks::Input read(const std::string& line) override {
    if (!images_) return encoder_->read(line);
    const data::Image image = data::read_one_image(line);
    return encoder_->read({&image, 1})[0];
  }
  Tensor embed(std::span<const tasks::Input> inputs) override { return encoder_->embed(inputs); }
  Tensor embed_query(const std::string& text) override {
    const tasks::Input inputs[] = {encoder_->read(text)};
    return encoder_->embed(inputs);
  }
  std::int64_t size() const override { return encoder_->size(); }
  std::int64_t most_tokens() const override { return loaded_.model->max_positions(); }
  bool compares_by_product() const override { return false; }

 private:
  bool images_;
  infer::LoadedModel loaded_;
  std::optional<tasks::ImageTextEncoder> encoder_;
};

}  // namespace

std::unique_ptr<VectorSource> vector_source(const std::string& folder, const tasks::EmbedOptions& options,
                                            bool images, WeightMode mode) {
  const formats::ModelFolder opened = formats::ModelFolder::open(tasks::SentenceModules::open(folder).model);
  const std::unique_ptr<Network> shape = make_model(opened.config, opened.config_file);
  if (dual_encoder_of(*shape) == nullptr) {
    if (images)
      throw usage_error("--images needs a model that compares texts and images")
          .at({folder, -1, -1})
          .expected("a CLIP or SigLIP model");
    return std::make_unique<SentenceSource>(folder, options, mode);
  }
  if (options.pooling || options.normalise || options.prompt || options.cut || options.most_tokens > 0)
    throw usage_error("the pooling and the maximum length of this model cannot be changed")
        .remedy("Remove --pooling, --normalize, --prompt, --truncate and --max-tokens");
  return std::make_unique<ImageTextSource>(folder, options.adapter, images, mode);
}

}  // namespace regard::cli

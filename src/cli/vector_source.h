// Sources of vectors for regard embed. The inputs are lines of text, or lines that name image files.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "infer/loaded_model.h"
#include "tasks/embed.h"

namespace regard::cli {

class VectorSource {
 public:
  virtual ~VectorSource() = default;
  virtual const infer::LoadedModel* loaded() const = 0;  // the local model; null if the model is on a server
  // Prepare read() and embed(); call this first. `probe` may be null.
  virtual void start(ThreadPool& pool, Probe* probe) = 0;
  virtual tasks::Input read(const std::string& line) = 0;
  virtual Tensor embed(std::span<const tasks::Input> inputs) = 0;  // vectors [inputs, size()]
  virtual Tensor embed_query(const std::string& text) = 0;         // query vector [1, size()]
  virtual std::int64_t size() const = 0;
  virtual std::int64_t most_tokens() const = 0;  // maximum tokens of a text; 0 means no limit
  virtual bool compares_by_product() const = 0;
  virtual void finish() {}  // print the server's warnings; call this after the last input
};

// Open the model folder as a source of text vectors or, if `images` is set, of image vectors (dual encoders
// only). `options` must outlive the source. Throws usage, and the errors of EmbeddingFolder::open().
std::unique_ptr<VectorSource> vector_source(const std::string& folder, const tasks::EmbedOptions& options,
                                            bool images, WeightMode mode);

}  // namespace regard::cli

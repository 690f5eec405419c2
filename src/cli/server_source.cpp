#include "cli/server_source.h"

#include "regard/error.h"

namespace regard::cli {
namespace {

// Each line is a request of its own, so that an error is that of the line.
class ServerSource : public VectorSource {
 public:
  ServerSource(const ServerOptions& server, const std::string& model,
               const std::vector<std::string>& interventions, bool truncate)
      : client_(server), request_{{"model", model}} {
    if (!interventions.empty()) request_["interventions"] = interventions;
    if (truncate) request_["truncate"] = true;
    const Json about = ask(Json::array());
    size_ = about.at("dimensions").get<std::int64_t>();
    most_tokens_ = about.at("max_tokens").get<std::int64_t>();
    product_ = about.at("dot_product").get<bool>();
  }

  const infer::LoadedModel* loaded() const override { return nullptr; }
  void start(ThreadPool&, Probe*) override {}
  tasks::Input read(const std::string& line) override {
    const Json result = ask(Json::array({line})).at("results").at(0);
    vectors_.push_back(vector_of(result));
    tasks::Input input;
    input.ids.resize(result.at("tokens").get<std::size_t>());  // their number is shown
    input.cut = result.at("truncated").get<bool>();
    return input;
  }
  Tensor embed(std::span<const tasks::Input>) override {
    Tensor vectors = Tensor::empty({std::ssize(vectors_), size_});
    for (std::int64_t i = 0; i < vectors.rows(); ++i)
      std::ranges::copy(vectors_[static_cast<std::size_t>(i)], vectors.row(i));
    vectors_.clear();
    return vectors;
  }
  Tensor embed_query(const std::string& text) override {
    Tensor vector = Tensor::empty({1, size_});
    std::ranges::copy(vector_of(ask(Json::array({text})).at("results").at(0)), vector.f32());
    return vector;
  }
  std::int64_t size() const override { return size_; }
  std::int64_t most_tokens() const override { return most_tokens_; }
  bool compares_by_product() const override { return product_; }

 private:
  Json ask(Json inputs) {
    request_["inputs"] = std::move(inputs);
    return client_.post("/vectors", request_);
  }
  std::vector<float> vector_of(const Json& result) const {
    auto vector = result.at("embedding").get<std::vector<float>>();
    if (std::ssize(vector) != size_) throw Error(ErrorKind::io, "the server's response is malformed");
    return vector;
  }

  HttpClient client_;
  Json request_;
  std::int64_t size_ = 0, most_tokens_ = 0;
  bool product_ = false;
  std::vector<std::vector<float>> vectors_;  // of the lines read since the last embed()
};

}  // namespace

std::unique_ptr<VectorSource> server_source(const ServerOptions& server, const std::string& model,
                                            const std::vector<std::string>& interventions, bool truncate) {
  return std::make_unique<ServerSource>(server, model, interventions, truncate);
}

}  // namespace regard::cli

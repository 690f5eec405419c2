#include "cli/server_source.h"

#include "regard/error.h"

namespace regard::cli {
namespace {

// limits of a response: maximum size of a vector, and maximum number of tokens
constexpr std::int64_t kMostSize = std::int64_t{1} << 24, kMostTokens = std::int64_t{1} << 24;

// Each line is sent in a separate request, so that an error belongs to that line.
class ServerSource : public VectorSource {
 public:
  ServerSource(const ServerOptions& server, const std::string& model,
               const std::vector<std::string>& interventions, bool truncate)
      : client_(server), request_{{"model", model}} {
    if (!interventions.empty()) request_["interventions"] = interventions;
    if (truncate) request_["truncate"] = true;
    request_["inputs"] = Json::array();
    client_.post("/vectors", request_, [this](const Json& about) {
      size_ = about.at("dimensions").get<std::int64_t>();
      most_tokens_ = about.at("max_tokens").get<std::int64_t>();
      product_ = about.at("dot_product").get<bool>();
    });
    if (size_ < 1 || size_ > kMostSize) throw client_.malformed();
  }

  const infer::LoadedModel* loaded() const override { return nullptr; }
  void start(ThreadPool&, Probe*) override {}
  tasks::Input read(const std::string& line) override {
    Answer answer = ask(line);
    if (answer.tokens < 0 || answer.tokens > kMostTokens) throw client_.malformed();
    vectors_.push_back(std::move(answer.vector));
    tasks::Input input;
    // the ids themselves are not used, only their number
    input.ids.resize(static_cast<std::size_t>(answer.tokens));
    input.cut = answer.truncated;
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
    std::ranges::copy(ask(text).vector, vector.f32());
    return vector;
  }
  std::int64_t size() const override { return size_; }
  std::int64_t most_tokens() const override { return most_tokens_; }
  bool compares_by_product() const override { return product_; }
  void finish() override { client_.print_warnings(); }

 private:
  struct Answer {
    std::vector<float> vector;
    std::int64_t tokens = 0;
    bool truncated = false;
  };
  Answer ask(const std::string& text) {
    request_["inputs"] = Json::array({text});
    Answer answer = client_.post("/vectors", request_, [](const Json& response) {
      const Json& result = response.at("results").at(0);
      return Answer{result.at("embedding").get<std::vector<float>>(), result.at("tokens").get<std::int64_t>(),
                    result.at("truncated").get<bool>()};
    });
    if (std::ssize(answer.vector) != size_) throw client_.malformed();
    return answer;
  }

  HttpClient client_;
  Json request_;
  std::int64_t size_ = 0, most_tokens_ = 0;
  bool product_ = false;
  std::vector<std::vector<float>> vectors_;  // vectors of the lines read since the last embed()
};

}  // namespace

std::unique_ptr<VectorSource> server_source(const ServerOptions& server, const std::string& model,
                                            const std::vector<std::string>& interventions, bool truncate) {
  return std::make_unique<ServerSource>(server, model, interventions, truncate);
}

}  // namespace regard::cli

// One loaded model folder with everything that requests use: tasks, generation, tokenizer and languages.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_folder.h"
#include "infer/training_words.h"
#include "inspect/resolve.h"
#include "serve/batcher.h"
#include "serve/edit_turn.h"
#include "serve/generator.h"
#include "serve/options.h"
#include "tasks/classify.h"
#include "tasks/embed.h"
#include "text/tokenizer_config.h"

namespace regard::serve {

inline constexpr std::int64_t kBatchTokens =
    8192;  // maximum tokens of a batch of embeddings or classifications

// The tasks that a model supports.
enum class Ability : std::uint8_t {
  generate,
  chat,
  translate,
  embed,
  classify,
  classify_picture,
  rerank,
  tag,
  answer,
  fill,
  attend,
  attend_sound,
  attend_picture,
  transcribe
};
inline constexpr Ability kAbilities[] = {
    Ability::generate,       Ability::chat,      Ability::translate,
    Ability::embed,          Ability::classify,  Ability::classify_picture,
    Ability::rerank,         Ability::tag,       Ability::answer,
    Ability::fill,           Ability::attend,    Ability::attend_sound,
    Ability::attend_picture, Ability::transcribe};
const char* name_of(Ability ability);  // phrase for messages, such as "generate text"
const char* key_of(Ability ability);   // name in JSON, such as "generate"

// The client of a request, and the conditions under which the request is cancelled while it waits.
struct Waiting {
  std::string client;
  std::chrono::steady_clock::time_point deadline;
  // returns true if the client has disconnected; may be empty if the client cannot disconnect
  std::function<bool()> gone = {};

  // Throw HttpError 503 if the client has disconnected, and 504 if the deadline has passed. Call it between
  // the parts of a long computation.
  void require() const;
};

// Thread-safe.
class ModelHost : public std::enable_shared_from_this<ModelHost> {
 public:
  using Vector = std::vector<float>;
  using Inputs = std::vector<tasks::Input>;

  // Load the folder. `pool` and `metrics` must outlive the host. Throws the errors of LoadedModel::open().
  ModelHost(const ServedFolder& folder, const ServeOptions& options, ThreadPool& pool, Metrics& metrics);

  const std::string& name() const { return folder_.name; }
  const std::string path() const { return folder_.path.string(); }
  std::time_t created() const { return created_; }
  bool can(Ability ability) const;
  const infer::LoadedModel& loaded() const { return embedding_.loaded; }
  const text::Tokenizer& tokenizer() const { return *(loaded().source ? loaded().source : loaded().target); }
  ThreadPool& pool() const { return pool_; }
  ModelMetrics& metrics() const { return metrics_; }
  const Languages& languages() const { return languages_; }
  // maximum number of positions; 0 means no limit
  std::int64_t positions() const { return loaded().model->max_positions(); }
  std::int64_t cache_tokens() const { return session_limits_.cache_tokens; }

  // Return the number of elements of an embedding.
  std::int64_t vector_size() const { return embedder_->size(); }
  // Return the maximum number of tokens of a text; 0 means no limit.
  std::int64_t most_embedded_tokens() const { return embedder_->most_tokens(); }
  const std::vector<tasks::PoolingMode>& pooling() const { return embedding_.modules.pooling; }
  bool compares_by_product() const { return embedder_->compares_by_product(); }
  tasks::Input read_embedded(std::string_view text, bool cut) const;
  // Return one embedding per input, in order. Embeddings are normalised to length 1 if `scale` is true or if
  // the folder specifies it. If `probe` is not null, every forward pass uses it and contains no inputs of
  // other requests (see ops/probe.h).
  std::vector<Vector> embed(Inputs inputs, bool scale, const Waiting& waiting, Probe* probe = nullptr);
  bool scales_vectors() const { return scales_; }
  // Return the last hidden states [tokens, hidden] of each input.
  std::vector<Tensor> states(const Inputs& inputs, const Waiting& waiting, Probe* probe = nullptr);

  // Functions of the classifier: names of its labels, conversion of inputs, and scores of all labels.
  const std::vector<std::string>& labels() const { return classifier_->labels(); }
  tasks::Input read_classified(const std::string& first, const std::optional<std::string>& second,
                               bool cut) const;
  std::vector<Vector> classify(Inputs inputs, tasks::Scores scores, const Waiting& waiting,
                               Probe* probe = nullptr);
  tasks::Scores usual_scores() const { return usual_scores_; }

  Generator& generator() { return *generator_; }
  std::int64_t waiting() const;
  std::int64_t running() const { return generator_ ? generator_->running() : 0; }

  // Return the lock that lets requests with interventions run one at a time.
  EditTurn& edit_turn() { return edit_turn_; }
  const infer::SessionLimits& session_limits() const { return session_limits_; }
  // Return the probe points of the model. The first call computes them.
  const inspect::ModelPoints& points();

  // Return the word counts of the training data, or null if the folder has none.
  const infer::TrainingWords* training_words() const { return words_ ? &*words_ : nullptr; }

  // Render a conversation as text with the chat template that ServeOptions names. Default: the folder's
  // template.
  std::string render_chat(const Json& messages) const;
  // Throws usage if neither the folder nor the program has a chat template with the name in ServeOptions.
  void check_chat_template() const;

 private:
  using InputBatcher = Batcher<tasks::Input, Vector>;
  void open_tasks(const ServeOptions& options);
  void open_generation(const ServeOptions& options);
  void read_languages(const ServeOptions& options);
  std::vector<Vector> logits(tasks::Classifier& classifier, const Inputs& inputs);
  std::vector<Vector> vectors(tasks::Embedder& embedder, const Inputs& inputs);

  ServedFolder folder_;
  ThreadPool& pool_;
  ModelMetrics& metrics_;
  // the loaded model, with its pooling and further modules if it computes sentence embeddings
  tasks::EmbeddingFolder embedding_;
  // True if the folder had modules.json when it was opened. The file may be added while the model is served.
  bool has_modules_;
  bool scales_ = false;  // true if the folder's last module scales vectors to length 1
  std::unique_ptr<tasks::Embedder> embedder_;
  std::unique_ptr<tasks::Embedder> cutting_embedder_;  // like embedder_, but truncates long texts
  std::unique_ptr<tasks::Classifier> classifier_, cutting_classifier_, logit_classifier_;
  tasks::Scores usual_scores_ = tasks::Scores::softmax;
  std::unique_ptr<InputBatcher> embed_batches_, logit_batches_;
  text::TokenizerConfig tokenizer_config_;
  std::string chat_template_;
  Languages languages_;
  infer::SessionLimits session_limits_;
  std::optional<infer::TrainingWords> words_;
  EditTurn edit_turn_;
  std::once_flag points_found_;
  inspect::ModelPoints points_;
  std::time_t created_ = std::time(nullptr);
  std::unique_ptr<Generator> generator_;  // declared last, because its thread uses the members above
};

}  // namespace regard::serve

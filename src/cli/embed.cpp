// regard embed: compute vectors of lines or of images, their similarities, and the lines most similar to a
// query.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/require_writable.h"
#include "cli/adapter.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/server_source.h"
#include "cli/task_lines.h"
#include "cli/text_argument.h"
#include "cli/vector_source.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "formats/safetensors.h"
#include "inspect/attend.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "tasks/best.h"
#include "tasks/embed.h"

namespace regard::cli {
namespace {

struct EmbedRequest {
  std::string model, adapter, input = "-", output, pooling;
  std::optional<bool> normalise, cut;
  std::optional<std::string> prompt;
  std::int64_t most_tokens = 0;
  bool similarity = false, skip_bad = false, images = false;
  std::vector<std::string> queries;
  std::size_t top = 10;
  ProbeOptions probes;
  ServerOptions server;

  tasks::EmbedOptions embedding() const {
    tasks::EmbedOptions options;
    if (!pooling.empty()) options.pooling = tasks::pooling_mode_of(pooling);
    options.normalise = normalise, options.cut = cut, options.prompt = prompt;
    options.most_tokens = most_tokens, options.adapter = adapter;
    return options;
  }
  bool collects() const { return similarity || !queries.empty() || !output.empty(); }
};

std::string numbers(std::span<const float> values, const char* between) {
  return fmt::format("{}", fmt::join(values, between));
}

std::span<const float> row_of(const Tensor& matrix, std::int64_t row) {
  return {matrix.row(row), static_cast<std::size_t>(matrix.columns())};
}

std::unique_ptr<VectorSource> source_of(const EmbedRequest& request, const tasks::EmbedOptions& options,
                                        const Globals& globals) {
  const ServerOptions& server = request.server;
  if (!server.given()) return vector_source(request.model, options, request.images, weight_mode(globals));
  server.exclude(request.images, "--images");
  server.exclude(!request.pooling.empty(), "--pooling");
  server.exclude(request.normalise.has_value(), "--normalize");
  server.exclude(request.cut.has_value() && !*request.cut, "--no-truncate");
  server.exclude(request.prompt.has_value(), "--prompt");
  server.exclude(request.most_tokens > 0, "--max-tokens");
  server.exclude(!request.adapter.empty(), "--adapter");
  server.exclude(!request.probes.attend.empty(), "--attend");
  server.exclude(!request.probes.ablate.empty(), "--ablate");
  server.exclude(globals.int8, "--quantize");
  server.exclude(globals.bf16, "--precision");
  return server_source(server, request.model, request.probes.interventions, request.cut.value_or(false));
}

class EmbedVerb {
 public:
  EmbedVerb(const EmbedRequest& request, Globals& globals)
      : request_(request),
        globals_(globals),
        options_(request.embedding()),
        source_(source_of(request, options_, globals)) {
    const infer::LoadedModel* loaded = source_->loaded();
    if (loaded == nullptr) return;
    probes_.emplace(request.probes, *loaded, globals.pool());
    if (dual_encoder_of(*loaded->model) != nullptr && probes_->attends())
      throw usage_error("--attend is not available with a model that compares texts and images")
          .remedy("Remove --attend");
    source_->start(globals.pool(), probes_->probe());
    loaded->model->prepare_for_inference(globals.pool());
  }

  void run() {
    if (source_->loaded() != nullptr) print_warning(source_->loaded()->warning);
    if (!request_.output.empty()) require_writable(request_.output);
    BadLines bad_lines(request_.skip_bad);
    const LineWork work{[this](std::string& line) { return take(line); }, [this] { embed(); },
                        [this](const Error& error) { skip(error); }};
    work_on_lines(request_.input, work, bad_lines);
    bad_lines.report(globals_.quiet);
    throw_if_stopped();
    if (cut_ > 0)
      say(fmt::format("{} truncated to {}", counted(cut_, "text"), counted(most_tokens(), "token")));
    if (!request_.output.empty()) write_tensor();
    if (probes_) probes_->finish();
    source_->finish();
    if (request_.similarity) write_similarities();
    for (const std::string& query : request_.queries) write_matches(query);
  }

 private:
  void say(const std::string& what) const {
    if (!globals_.quiet) print_message("regard: {}\n", what);
  }
  std::int64_t most_tokens() const { return source_->most_tokens(); }
  bool attends() const { return probes_ && probes_->attends(); }

  std::int64_t take(std::string& line) {
    inputs_.push_back(source_->read(line));
    waiting_.push_back(std::move(line));
    cut_ += inputs_.back().cut ? 1 : 0;
    // Count each image as this many tokens of a batch, to limit the number of images in memory.
    constexpr std::int64_t kImageTokens = 1024;
    return request_.images ? kImageTokens : inputs_.back().tokens();
  }

  void embed() {
    const Tensor vectors = source_->embed(inputs_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto row = row_of(vectors, static_cast<std::int64_t>(i));
      if (request_.collects())
        all_.insert(all_.end(), row.begin(), row.end());
      else
        write(i, row);
      if (attends()) attend(i);
      ++line_;
      if (!request_.queries.empty() || request_.similarity) texts_.push_back(std::move(waiting_[i]));
    }
    inputs_.clear(), waiting_.clear();
  }

  // Write an empty result. If all vectors are collected, add a zero vector, as for a text without tokens.
  void skip(const Error& error) {
    ++line_;
    if (request_.collects())
      all_.resize(all_.size() + static_cast<std::size_t>(source_->size()));
    else
      write_result(skipped_result(globals_.json, line_, error));
    if (attends()) probes_->write_nothing();
    if (!request_.queries.empty() || request_.similarity) texts_.emplace_back();
  }

  void write(std::size_t i, std::span<const float> vector) const {
    if (!globals_.json) {
      print_result("{}\n", numbers(vector, " "));
      return;
    }
    if (request_.images) {
      print_result("{{\"line\":{},\"file\":{},\"embedding\":[{}]}}\n", line_ + 1, Json(waiting_[i]).dump(),
                   numbers(vector, ","));
      return;
    }
    print_result("{{\"line\":{},\"input\":{},\"tokens\":{},\"truncated\":{},\"embedding\":[{}]}}\n",
                 line_ + 1, Json(waiting_[i]).dump(), inputs_[i].tokens(), inputs_[i].cut,
                 numbers(vector, ","));
  }

  void attend(std::size_t i) {
    if (inputs_[i].ids.empty()) return probes_->write_nothing();
    inspect::AttendRequest request;
    request.model_name = request_.model, request.text = waiting_[i];
    request.input = inputs_[i];
    probes_->add_to(request);
    probes_->write(inspect::attend(*source_->loaded(), globals_.pool(), request));
  }

  Tensor collected() { return Tensor::view(all_.data(), {line_, source_->size()}); }

  void write_tensor() {
    const formats::NamedTensor tensors[] = {{"embeddings", collected()}};
    formats::write_safetensors(request_.output, tensors, {{"format", "pt"}});
    say(fmt::format("wrote {} of {} to {}", counted(line_, "vector"), counted(source_->size(), "number"),
                    request_.output));
  }

  void write_similarities() {
    const Tensor vectors = collected();
    for (std::int64_t i = 0; i < line_; ++i) {
      const Tensor row = tasks::similarities(globals_.pool(), vectors.slice_rows(i, i + 1), vectors,
                                             source_->compares_by_product());
      if (globals_.json)
        print_result("{{\"line\":{},\"input\":{},\"similarities\":[{}]}}\n", i + 1,
                     Json(texts_[static_cast<std::size_t>(i)]).dump(), numbers(row_of(row, 0), ","));
      else
        print_result("{:.4f}\n", fmt::join(row_of(row, 0), "\t"));
    }
  }

  void write_matches(const std::string& query) {
    const Tensor like = tasks::similarities(globals_.pool(), source_->embed_query(query), collected(),
                                            source_->compares_by_product());
    Json matches = Json::array();
    for (const std::int64_t best : tasks::best_of(row_of(like, 0), request_.top)) {
      const std::string& text = texts_[static_cast<std::size_t>(best)];
      const float similarity = like.f32()[best];
      if (globals_.json)
        matches.push_back({{"line", best + 1}, {"similarity", similarity}, {"text", text}});
      else
        print_result("{:.4f}\t{}\t{}\n", similarity, best + 1, text);
    }
    if (globals_.json) print_result("{}\n", Json{{"query", query}, {"matches", matches}}.dump());
  }

  const EmbedRequest& request_;
  Globals& globals_;
  tasks::EmbedOptions options_;
  std::unique_ptr<VectorSource> source_;
  // applies --ablate, --intervene and --attend to the local model; empty if the model is on a server
  std::optional<ModelProbes> probes_;
  // inputs that were read and have no vectors yet; waiting_ contains their texts
  std::vector<tasks::Input> inputs_;
  std::vector<std::string> waiting_, texts_;
  std::vector<float> all_;  // vectors [line_, size] if request_.collects()
  std::int64_t line_ = 0;   // number of lines processed
  std::int64_t cut_ = 0;
};

}  // namespace

void add_embed(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<EmbedRequest>(
      app, "embed", "Compute vectors of texts and images, and their similarities",
      "Prints one vector per input line. If the folder has sentence-transformers' files (modules.json,\n"
      "1_Pooling), the vectors are those of sentence-transformers; otherwise the mean of the last hidden\n"
      "states. Lines that have already arrived are processed as one batch; batching does not change the\n"
      "vectors. A model that compares texts and images (CLIP, SigLIP) maps both to one vector space: with\n"
      "--images, the lines are names of image files, and --query finds the images that match a text.");
  add_model_argument(*verb, request->model, "Hugging Face, sentence-transformers or run folder");
  verb->add_option("FILE,-i,--input", request->input, "Input file, one text per line; - is standard input")
      ->capture_default_str()
      ->check(not_empty());
  verb->add_flag("--images", request->images, "Input lines are names of image files (CLIP, SigLIP)");
  verb->add_option("--pooling", request->pooling,
                   "Pooling of the hidden states. Default: the pooling set in the model's folder, or mean")
      ->check(CLI::IsMember({"cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"}));
  // add_flag() would set the std::optional even if the flag is not given.
  verb->add_flag_function(
      "--normalize,!--no-normalize", [request](std::int64_t count) { request->normalise = count > 0; },
      "Normalise vectors to length 1, or do not normalise them. Default: as set in the model's folder; "
      "without a setting, vectors are not normalised");
  verb->add_flag_function(
      "--truncate,!--no-truncate", [request](std::int64_t count) { request->cut = count > 0; },
      "Truncate texts longer than --max-tokens, or report an error. Default: truncate if the model's "
      "folder sets max_seq_length or model_max_length, otherwise report an error");
  verb->add_option(
          "--max-tokens", request->most_tokens,
          "Maximum length of a text, in tokens. Default: the maximum set in the model's folder, or the "
          "number of positions of the model")
      ->check(positive());
  verb->add_option("--prompt", request->prompt,
                   "Text to prepend to every input. Default: the prompt set in the model's folder, or none")
      ->check(valid_text());
  verb->add_flag(
      "--similarity", request->similarity,
      "Print the matrix of the similarities of all lines instead of vectors: cosines, or dot products if "
      "the model's folder requires them");
  verb->add_option("--query", request->queries,
                   "Print the lines most similar to this text instead of vectors; repeatable")
      ->allow_extra_args(false)
      ->check(valid_text());
  add_checked_option(*verb, "--top", request->top, "Number of lines to print for each --query", positive());
  verb->get_option("--top")->needs("--query");
  verb->add_option(
          "--output,-o", request->output,
          "Write the vectors to this safetensors file, as the tensor \"embeddings\" [lines, size]. Default: "
          "print them")
      ->check(not_empty());
  add_skip_bad(*verb, request->skip_bad);
  add_adapter(*verb, request->adapter);
  add_probe_options(*verb, request->probes);
  add_server_options(*verb, request->server);
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([request, &globals] { EmbedVerb(*request, globals).run(); });
}

}  // namespace regard::cli

// regard classify: predict labels of texts, text pairs, images or sounds.
#include <filesystem>
#include <string>
#include <vector>

#include "base/counted.h"
#include "base/json.h"
#include "base/line_reader.h"
#include "base/placed.h"
#include "cli/classify.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/task_lines.h"
#include "cli/task_model.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/zero_shot.h"
#include "data/sound.h"
#include "formats/model_folder.h"
#include "models/dual_encoder.h"
#include "regard/error.h"
#include "tasks/best.h"
#include "tasks/classify.h"
#include "tasks/image_reader.h"
#include "tasks/sound_reader.h"

namespace regard::cli {
namespace {

tasks::ClassifyOptions options_of(const ClassifyRequest& request, const TaskModel& model) {
  tasks::ClassifyOptions options;
  options.reading = model.reading();
  options.scores = request.wanted_scores();
  if (request.labels.empty()) return options;
  LineReader reader(request.labels);
  options.labels.emplace();
  for (std::string line; reader.next(line);) options.labels->push_back(line);
  const std::int64_t wanted = model.loaded().model->labels();
  if (std::ssize(*options.labels) != wanted)
    throw file_error(request.labels, "the number of labels does not match the model")
        .found(counted(options.labels->size(), "label"))
        .expected(counted(wanted, "label"));
  return options;
}

class ClassifyVerb : public TaskVerb<ClassifyRequest> {
 public:
  ClassifyVerb(const ClassifyRequest& request, Globals& globals, InputKind reads, formats::ModelFolder folder)
      : TaskVerb(request, globals, reads, std::move(folder)), classifier_(placed({request.task.model}, [&] {
          return tasks::Classifier(model_.loaded(), globals.pool(), options_of(request, model_));
        })) {}

  void read_lines() {
    run_batches([this](std::string& line) { return take(line); }, [this] { classify(); });
  }

  void read_images() {
    images_.emplace(model_.loaded().folder.path, model_.loaded().model->input_spec());
    run_files(data::looks_like_image, [this](const std::string& file) { classify_file(file); });
  }

  void read_sounds() {
    sounds_.emplace(model_.loaded().folder.path, model_.loaded().model->input_spec(), globals_.pool());
    run_files(data::looks_like_sound, [this](const std::string& file) { classify_sound(file); });
  }

 private:
  // Classify the files named on the command line, or the files in a list of files.
  void run_files(bool (*is_input)(const std::filesystem::path&),
                 const std::function<void(const std::string&)>& process) {
    if (classify_named_files(request_, is_input, process)) return model_.probes().finish();
    run_lines([&](const std::string& file) {
      process(file);
      ++done_;
    });
  }

  std::int64_t take(std::string& line) {
    tasks::Input input;
    if (request_.pair) {
      const auto [first, second] = two_texts(line);
      input = classifier_.read(first, second);
    } else {
      input = classifier_.read(line);
    }
    if (input.ids.empty())
      throw Error(ErrorKind::invalid_input, "cannot classify a line without tokens")
          .expected("a text of at least one token");
    inputs_.push_back(std::move(input));
    lines_.push_back(std::move(line));
    return inputs_.back().tokens();
  }

  void classify() {
    const Tensor scores = classifier_.scores(inputs_);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Json about{{"line", ++done_}, {"input", lines_[i]}};
      if (inputs_[i].cut) about["truncated"] = true;
      write(std::move(about), scores, static_cast<std::int64_t>(i));
      model_.attend(lines_[i], &inputs_[i]);
    }
    inputs_.clear(), lines_.clear();
  }

  void classify_file(const std::string& file) {
    const std::vector<data::Image> images = data::read_images(file);
    constexpr std::size_t kTogether = 32;
    for (std::size_t first = 0; first < images.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, images.size() - first);
      inputs_ = images_->read(std::span(images).subspan(first, count));
      const Tensor scores = classifier_.scores(inputs_);
      for (std::size_t i = 0; i < count; ++i) {
        Json about{{"file", file}};
        if (images.size() > 1) about["image"] = first + i + 1;
        write(std::move(about), scores, static_cast<std::int64_t>(i));
        model_.attend(file, &inputs_[i]);
      }
      flush_results();
    }
  }

  void classify_sound(const std::string& file) {
    const tasks::Input inputs[] = {sounds_->read(file)};
    write({{"file", file}}, classifier_.scores(inputs), 0);
    model_.attend(file, &inputs[0]);
    flush_results();
  }

  void write(Json about, const Tensor& scores, std::int64_t row) const {
    write_labels(request_, std::move(about), classifier_.labels(),
                 {scores.row(row), classifier_.labels().size()}, globals_.json);
  }

  tasks::Classifier classifier_;
  std::optional<tasks::ImageReader> images_;
  std::optional<tasks::SoundReader> sounds_;
  std::vector<tasks::Input> inputs_;  // inputs that were read but not classified yet
  std::vector<std::string> lines_;
};

// Classifies lines by requests to a running server. Each line is sent in a separate request, so that an error
// belongs to that line.
class ServerClassify {
 public:
  ServerClassify(const ClassifyRequest& request, Globals& globals)
      : request_(request), globals_(globals), client_(request.server), body_{{"model", request.task.model}} {
    const ServerOptions& server = request.server;
    server.exclude(!request.labels.empty(), "--labels");
    server.exclude(!request.pattern.empty(), "--pattern");
    server.exclude(!request.files.empty(), "a list of files");
    server.exclude(!request.task.adapter.empty(), "--adapter");
    server.exclude(request.task.most_tokens > 0, "--max-tokens");
    server.exclude(!request.task.probes.attend.empty(), "--attend");
    server.exclude(!request.task.probes.ablate.empty(), "--ablate");
    server.exclude(globals.int8, "--quantize");
    server.exclude(globals.bf16, "--precision");
    if (!request.scores.empty()) body_["scores"] = request.scores;
    if (request.task.cut) body_["truncate"] = true;
    if (!request.task.probes.interventions.empty())
      body_["interventions"] = request.task.probes.interventions;
  }

  void run() {
    BadLines bad_lines(request_.task.skip_bad);
    work_on_lines(
        request_.task.input,
        {[this](std::string& line) { return take(line); }, [this] { write(); },
         [this](const Error& error) { write_result(skipped_result(globals_.json, ++done_, error)); }},
        bad_lines);
    client_.print_warnings();
    bad_lines.report(globals_.quiet);
  }

 private:
  struct Answer {
    std::string line;
    bool truncated = false;
    std::vector<float> scores;
    std::vector<std::string> labels;
  };
  std::int64_t take(std::string& line) {
    Json input = line;
    if (request_.pair) {
      const auto [first, second] = two_texts(line);
      input = Json::array({first, second});
    }
    body_["inputs"] = Json::array({std::move(input)});
    Answer answer = client_.post("/classify", body_, [](const Json& response) {
      const Json& result = response.at("results").at(0);
      return Answer{{},
                    result.at("truncated").get<bool>(),
                    result.at("scores").get<std::vector<float>>(),
                    response.at("labels").get<std::vector<std::string>>()};
    });
    if (answer.scores.size() != answer.labels.size()) throw client_.malformed();
    answer.line = std::move(line);
    answers_.push_back(std::move(answer));
    return 0;
  }

  void write() {
    for (const Answer& one : answers_) {
      Json about{{"line", ++done_}, {"input", one.line}};
      if (one.truncated) about["truncated"] = true;
      write_labels(request_, std::move(about), one.labels, one.scores, globals_.json);
    }
    answers_.clear();
  }

  const ClassifyRequest& request_;
  Globals& globals_;
  HttpClient client_;
  Json body_;
  std::vector<Answer> answers_;
  std::int64_t done_ = 0;
};

void classify(const ClassifyRequest& request, Globals& globals) {
  if (request.server.given()) return ServerClassify(request, globals).run();
  formats::ModelFolder folder = formats::ModelFolder::open(request.task.model);
  const auto shape = make_model(folder.config);
  if (dual_encoder_of(*shape) != nullptr) return classify_by_words(request, globals);
  if (!request.pattern.empty())
    throw usage_error("--pattern needs a model that compares texts and images (CLIP, SigLIP)")
        .remedy("Remove --pattern");
  const InputKind reads = shape->input_spec().kind;
  const bool images = reads == InputKind::pixels, sounds = reads == InputKind::features;
  if (images && request.pair)
    throw usage_error("--pair needs a text model; this model reads images").remedy("Remove --pair");
  if (sounds && request.pair)
    throw usage_error("--pair needs a text model; this model reads sounds").remedy("Remove --pair");
  if (!images && !sounds && !request.files.empty())
    throw usage_error("a text model reads one input file")
        .found(counted(request.files.size() + 1, "file"))
        .remedy("Run the command once for each file");
  ClassifyVerb verb(request, globals, reads, std::move(folder));
  if (images)
    verb.read_images();
  else if (sounds)
    verb.read_sounds();
  else
    verb.read_lines();
}

}  // namespace

std::optional<tasks::Scores> ClassifyRequest::wanted_scores() const {
  if (scores == "softmax") return tasks::Scores::softmax;
  if (scores == "sigmoid") return tasks::Scores::sigmoid;
  if (scores == "none") return tasks::Scores::plain;
  return std::nullopt;
}

bool classify_named_files(const ClassifyRequest& request, bool (*is_input)(const std::filesystem::path&),
                          const std::function<void(const std::string&)>& classify) {
  const std::string& input = request.task.input;
  if (request.files.empty() && (input == "-" || !is_input(input))) return false;
  classify(input);
  for (const std::string& file : request.files) classify(file);
  return true;
}

void write_labels(const ClassifyRequest& request, Json about, std::span<const std::string> labels,
                  std::span<const float> scores, bool as_json) {
  const std::size_t wanted = request.top == 0 || request.threshold ? scores.size() : request.top;
  about["labels"] = Json::array();
  ResultLine result(std::move(about));
  for (const std::int64_t best : tasks::best_of(scores, wanted)) {
    const auto at = static_cast<std::size_t>(best);
    if (request.threshold && scores[at] < *request.threshold) continue;
    result.json()["labels"].push_back({{"label", labels[at]}, {"score", scores[at]}});
    result.scored(labels[at], scores[at]);
  }
  result.print(as_json);
}

void add_classify(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<ClassifyRequest>(
      app, "classify", "Classify texts, pairs of texts, images, or sounds",
      "Each input line (with --pair: TEXT<tab>TEXT), image or sound gives one output line: LABEL<tab>SCORE,\n"
      "best first. Image models read PNG, JPEG, WebP, PPM, PGM and IDX files, sound models WAV and, if "
      "regard\n"
      "was built with libsndfile, FLAC, OGG and MP3 files. Both kinds also read a text file that lists such\n"
      "files, one per line. A model that compares texts and images (CLIP, SigLIP) classifies images with\n"
      "the labels of --labels, such as --labels \"a cat,a dog\".");
  add_task_options(*verb, request->task);
  verb->add_option("IMAGES", request->files,
                   "Further image or sound files, after FILE; only for models that read images or sounds");
  verb->add_flag("--pair", request->pair, "Each line holds two texts, separated by a tab");
  verb->add_option("--top", request->top, "Number of labels to print, best first; 0 prints all")
      ->capture_default_str();
  verb->add_option("--threshold", request->threshold,
                   "Print all labels with at least this score, instead of the best --top labels")
      ->check(finite());
  verb->add_option(
          "--labels", request->labels,
          "File with the names of the labels, one per line, in the order of their ids. Default: the names "
          "in config.json. CLIP, SigLIP: the labels separated by commas, or such a file; required")
      ->check(not_empty());
  verb->add_option(
          "--pattern", request->pattern,
          "CLIP, SigLIP: text to compare with the image; {} is replaced by the label. Default: \"This is a "
          "photo of {}.\"")
      ->check(not_empty());
  verb->add_option("--scores", request->scores,
                   "Type of the scores: softmax (one label per input), sigmoid (independent labels) or none "
                   "(logits). Default: the type for problem_type in config.json")
      ->check(CLI::IsMember({"softmax", "sigmoid", "none"}));
  add_server_options(*verb, request->server);
  add_quantize(*verb, globals);
  set_action(*verb, globals, request, classify);
}

}  // namespace regard::cli

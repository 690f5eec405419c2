#include "cli/zero_shot.h"

#include <filesystem>
#include <optional>

#include "base/line_reader.h"
#include "base/plain_text.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/weight_mode.h"
#include "formats/model_folder.h"
#include "regard/error.h"
#include "tasks/image_text.h"

namespace regard::cli {
namespace {

// Return the labels in the value of --labels. If `text` is the path of a file or pipe, the labels are its
// lines, otherwise the comma-separated parts of `text`.
std::vector<std::string> labels_in(const std::string& text) {
  std::vector<std::string> labels;
  if (text.empty())
    throw usage_error("this model has no labels of its own").remedy("Add --labels \"a cat,a dog\"");
  std::error_code ignored;  // status() fails if `text` is a list that is longer than a file name may be
  const auto kind = std::filesystem::status(text, ignored).type();
  if (kind == std::filesystem::file_type::regular || kind == std::filesystem::file_type::fifo) {
    LineReader reader(text);
    for (std::string line; reader.next(line);) {
      if (is_blank(line))
        throw Error(ErrorKind::bad_file, "a label is empty", {text, reader.line_number(), -1})
            .expected("one label per line");
      labels.push_back(line);
    }
    return labels;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t first = text.find_first_not_of(' ', begin), last = text.find_last_not_of(' ', end - 1);
    if (first >= end || first == text.npos)
      throw usage_error("a label of --labels is empty")
          .found("\"" + text + "\"")
          .remedy("Remove the surplus comma");
    labels.push_back(text.substr(first, last + 1 - first));
    begin = end + 1;
  }
  return labels;
}

class ZeroShotVerb {
 public:
  ZeroShotVerb(const ClassifyRequest& request, Globals& globals)
      : request_(request),
        globals_(globals),
        loaded_(open(request, globals)),
        probes_(request.task.probes, loaded_, globals.pool()),
        encoder_(loaded_, globals.pool(), probes_.probe()),
        classifier_(encoder_, labels_in(request.labels),
                    request.pattern.empty() ? tasks::kLabelPattern : request.pattern) {
    if (const auto scores = request.wanted_scores()) classifier_.set_scores(*scores);
  }

  void run() {
    if (!classify_named_files(request_, data::looks_like_image,
                              [this](const std::string& file) { classify_file(file); }))
      classify_list();
    probes_.finish();
  }

 private:
  // Classify the image files listed in the input, one file name per line.
  void classify_list() {
    BadLines bad_lines(request_.task.skip_bad);
    std::int64_t line = 0;
    const LineWork work{
        [&](std::string& file) {
          classify_file(file);
          return ++line, std::int64_t{0};
        },
        [] {}, [&](const Error& error) { write_result(skipped_result(globals_.json, ++line, error)); }};
    work_on_lines(request_.task.input, work, bad_lines);
    bad_lines.report(globals_.quiet);
  }

  static infer::LoadedModel open(const ClassifyRequest& request, Globals& globals) {
    if (request.pair)
      throw usage_error("--pair needs a text model; this model reads images").remedy("Remove --pair");
    if (!request.task.probes.attend.empty())
      throw usage_error("--attend is not available for zero-shot classification").remedy("Remove --attend");
    auto loaded = infer::LoadedModel::open(
        request.task.model, {.weight_mode = weight_mode(globals), .adapter = request.task.adapter});
    print_warning(loaded.warning);
    loaded.model->prepare_for_inference(globals.pool());
    return loaded;
  }

  void classify_file(const std::string& file) {
    const std::vector<data::Image> images = data::read_images(file);
    constexpr std::size_t kTogether = 32;
    for (std::size_t first = 0; first < images.size(); first += kTogether) {
      const std::size_t count = std::min(kTogether, images.size() - first);
      const std::vector<tasks::Input> inputs = encoder_.read(std::span(images).subspan(first, count));
      const Tensor scores = classifier_.scores(inputs);
      for (std::size_t i = 0; i < count; ++i) {
        Json about{{"file", file}};
        if (images.size() > 1) about["image"] = first + i + 1;
        write_labels(request_, std::move(about), classifier_.labels(),
                     {scores.row(static_cast<std::int64_t>(i)), classifier_.labels().size()}, globals_.json);
      }
      flush_results();
    }
  }

  const ClassifyRequest& request_;
  Globals& globals_;
  infer::LoadedModel loaded_;
  ModelProbes probes_;
  tasks::ImageTextEncoder encoder_;
  tasks::ZeroShotClassifier classifier_;
};

}  // namespace

void classify_by_words(const ClassifyRequest& request, Globals& globals) {
  ZeroShotVerb(request, globals).run();
}

}  // namespace regard::cli

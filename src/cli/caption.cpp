// regard caption: generate text from images, with an image encoder and a text decoder.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/json_text.h"
#include "cli/adapter.h"
#include "cli/decoding_options.h"
#include "cli/output.h"
#include "cli/probe_options.h"
#include "cli/result_output.h"
#include "cli/task_lines.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "cli/weight_mode.h"
#include "data/image.h"
#include "formats/model_folder.h"
#include "infer/hypothesis_json.h"
#include "regard/error.h"
#include "tasks/image_reader.h"

namespace regard::cli {
namespace {

struct CaptionRequest {
  std::string model, adapter, output;
  std::vector<std::string> files;
  SearchFlags search;
  TextFlags text;
  ProbeOptions probes;
  bool log_probabilities = false;
};

class CaptionVerb {
 public:
  CaptionVerb(const CaptionRequest& request, Globals& globals)
      : request_(request),
        globals_(globals),
        loaded_(infer::LoadedModel::open(request.model, {.values = request.search.settings_object(),
                                                         .weight_mode = weight_mode(globals),
                                                         .reads = InputKind::pixels,
                                                         .adapter = request.adapter})),
        images_(loaded_.folder.path, loaded_.model->input_spec()),
        probes_(request.probes, loaded_, globals.pool()),
        output_(request.output) {
    if (loaded_.model->kind() != ModelKind::encoder_decoder)
      throw usage_error("this model does not generate text from images")
          .at({request.model, -1, -1})
          .expected("a VisionEncoderDecoder model");
    print_warning(loaded_.warning);
    search_ = request.search.over(loaded_.options, globals.seed);
    request.text.add_to(search_, loaded_);
    search_.probe = probes_.probe();
    loaded_.model->prepare_for_inference(globals.pool());
  }

  void run() {
    catch_signals();
    for (const std::string& file : request_.files) caption_file(file);
    throw_if_stopped();
    output_.finish();
    probes_.finish();
  }

 private:
  void caption_file(const std::string& file) {
    const std::vector<data::Image> all = data::read_images(file);
    constexpr std::size_t kTogether = 16;
    for (std::size_t first = 0; first < all.size() && stop_signal() == 0; first += kTogether) {
      const std::size_t count = std::min(kTogether, all.size() - first);
      std::vector<ModelInput> inputs;
      for (tasks::Input& input : images_.read(std::span(all).subspan(first, count)))
        inputs.push_back(std::move(input));
      const auto found = infer::decode(*loaded_.model, globals_.pool(), inputs, search_);
      for (std::size_t i = 0; i < count; ++i) {
        write(file, all.size() > 1 ? first + i + 1 : 0, found[i]);
        if (probes_.attends())
          attend_written(probes_, loaded_, globals_.pool(), request_.model, {file, inputs[i]},
                         found[i].empty() ? std::vector<std::int32_t>() : found[i][0].tokens);
      }
      output_.flush();
    }
  }

  // `number` is the index of the image in its file, from 1; 0 if the file contains only one image.
  void write(const std::string& file, std::size_t number, const std::vector<infer::Hypothesis>& captions) {
    if (globals_.json) {
      Json json{{"file", file}};
      if (number > 0) json["image"] = number;
      json["output"] = captions.empty() ? "" : text_of(captions[0]);
      json["hypotheses"] = Json::array();
      for (const infer::Hypothesis& one : captions)
        json["hypotheses"].push_back(
            infer::hypothesis_json(loaded_, one, text_of(one), request_.log_probabilities));
      output_.write(json_text(json) + "\n");
    } else if (search_.n_best == 1) {
      output_.write((captions.empty() ? "" : on_one_line(text_of(captions[0]))) + "\n");
    } else {
      for (const infer::Hypothesis& one : captions)
        output_.write(fmt::format("{} ||| {} ||| {:.4f}\n", done_, on_one_line(text_of(one)), one.score));
    }
    ++done_;
  }

  std::string text_of(const infer::Hypothesis& one) const { return loaded_.written(one, search_); }

  const CaptionRequest& request_;
  Globals& globals_;
  infer::LoadedModel loaded_;
  tasks::ImageReader images_;
  ModelProbes probes_;
  ResultOutput output_;
  infer::SearchOptions search_;
  std::size_t done_ = 0;  // number of images captioned so far
};

}  // namespace

void add_caption(CLI::App& app, Globals& globals) {
  const auto [verb, request] = add_command<CaptionRequest>(
      app, "caption", "Generate captions of images, or read the text in images",
      "Prints one line per image: the text that a VisionEncoderDecoder model (captioning, or reading text "
      "in\n"
      "images) generates. Images are PNG, JPEG, WebP, PPM, PGM and IDX files, which are resized and "
      "normalised\n"
      "as specified in the folder's preprocessor_config.json; - is an image on standard input.");
  add_model_argument(*verb, request->model, "Hugging Face folder");
  verb->add_option("IMAGE", request->files, "Image files; - is standard input")->required();
  verb->add_option(
          "--output,-o", request->output,
          "Write the results to this file; it is created or replaced when they are complete. Default: "
          "standard output")
      ->check(not_empty());
  add_search_flags(*verb, request->search);
  add_text_flags(*verb, request->text);
  add_adapter(*verb, request->adapter);
  add_probe_options(*verb, request->probes);
  verb->add_flag("--log-probabilities", request->log_probabilities,
                 "Add the log-probability of each token; needs --json");
  add_quantize(*verb, globals);
  add_globals(*verb, globals, {.seed = true});
  verb->callback([request, &globals] {
    if (request->log_probabilities && !globals.json)
      throw usage_error("--log-probabilities needs --json").remedy("Add --json");
    CaptionVerb(*request, globals).run();
  });
}

}  // namespace regard::cli

// regard bench transcribe: speed of speech recognition by an encoder–decoder, from samples to tokens.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/counted.h"
#include "base/random.h"
#include "cli/bench.h"
#include "cli/timing.h"
#include "cli/weight_mode.h"
#include "data/sound_processor.h"
#include "infer/collector.h"
#include "infer/folder_options.h"
#include "infer/scheduler.h"
#include "models/weights.h"
#include "ops/tape.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct TranscribeBenchRequest {
  std::string model;
  std::int64_t prompt = 4, generated = 100, repetitions = 5;
};

// Transcribes noise of the model's input length (Whisper: 30 seconds) repeatedly.
class Transcription {
 public:
  Transcription(const TranscribeBenchRequest& request, Globals& globals)
      : folder_(formats::ModelFolder::open(request.model)),
        model_(load_model(folder_, weight_mode(globals))),
        pool_(globals.pool()),
        search_(infer::search_options_of(folder_)) {
    const InputSpec& input = model_->input_spec();
    if (model_->kind() != ModelKind::encoder_decoder || input.kind != InputKind::features)
      throw usage_error("bench transcribe does not support this model")
          .expected("an encoder-decoder that reads sounds, such as Whisper");
    processor_ = data::SoundProcessor::open(request.model, input.shape[0], input.shape[1]);
    model_->prepare_for_inference(pool_);
    prompt_.resize(static_cast<std::size_t>(request.prompt));
    std::iota(prompt_.begin(), prompt_.end(), 0);
    // The end tokens are suppressed, so that every repetition generates the same number of tokens.
    search_.rules.suppressed.insert(search_.rules.suppressed.end(), search_.end_tokens.begin(),
                                    search_.end_tokens.end());
    search_.rules.scores_after_rules = true;
    search_.beam = search_.n_best = 1, search_.max_new = request.generated, search_.max_length = 0;
    RandomStream stream({globals.seed, 0, place_of("bench")});
    sound_.resize(static_cast<std::size_t>(processor_.samples));
    for (float& sample : sound_) sample = static_cast<float>(0.1 * stream.next_normal());
  }

  void once() {
    whole.time([&] {
      Tensor values, encoded;
      features.time([&] { values = processor_.apply(pool_, sound_); });
      encoder.time([&] { encoded = encode(values); });
      decoder.time([&] { decode(values, encoded); });
    });
  }

  double seconds() const {
    return static_cast<double>(processor_.samples) / static_cast<double>(processor_.rate);
  }
  Repetitions features, encoder, decoder, whole;  // times measured by once()

 private:
  Tensor encode(const Tensor& values) {
    Arena arena;
    Tape tape(pool_, arena);
    tape.begin({});
    InputBuffer batch;
    const ModelInput input{values};
    batch.add(input, model_->input_spec().length_of(input), 0);
    return model_->encode(tape, batch.batch())->value.clone();
  }

  void decode(const Tensor& values, const Tensor& encoded) {
    infer::Collector collector(1);
    infer::Scheduler scheduler(*model_, pool_, search_, collector);
    infer::Request request = infer::request_of(*model_, ModelInput(values));
    request.prompt = prompt_, request.encoded = encoded;
    scheduler.submit(std::move(request));
    while (scheduler.step()) {
    }
    if (std::ssize(collector.results[0].at(0).tokens) != search_.max_new)
      throw usage_error("--prompt and --new together exceed the decoder's positions")
          .found(counted(std::ssize(prompt_) + search_.max_new, "token"))
          .expected("at most " + std::to_string(model_->max_positions()) + " tokens");
  }

  formats::ModelFolder folder_;
  std::unique_ptr<Network> model_;
  ThreadPool& pool_;
  infer::SearchOptions search_;
  data::SoundProcessor processor_;
  std::vector<std::int32_t> prompt_;
  std::vector<float> sound_;
};

void run(const TranscribeBenchRequest& request, Globals& globals) {
  Transcription transcription(request, globals);
  transcription.once();
  transcription.features = transcription.encoder = transcription.decoder = transcription.whole = {};
  for (std::int64_t i = 0; i < request.repetitions; ++i) transcription.once();
  Json line = bench_line("transcribe", globals);
  if (globals.int8) line["dtype"] = "int8";
  line["seconds"] = transcription.seconds();
  line["prompt"] = request.prompt, line["new"] = request.generated;
  add_timing(line, "features", transcription.features.timing());
  add_timing(line, "encoder", transcription.encoder.timing());
  add_timing(line, "decoder", transcription.decoder.timing());
  add_timing(line, "whole", transcription.whole.timing());
  print_line_with_memory(std::move(line));
}

}  // namespace

void add_bench_transcribe(CLI::App& bench, Globals& globals) {
  const auto [transcribe, request] = add_command<TranscribeBenchRequest>(
      bench, "transcribe", "Time speech recognition, from samples to tokens",
      "The sound is one window of noise (Whisper: 30 seconds). The decoder generates exactly --new tokens "
      "greedily;\nend tokens are suppressed. whole_ms includes features, encoder and decoder.");
  add_model_argument(*transcribe, request->model, "Hugging Face folder of Whisper");
  add_checked_option(*transcribe, "--prompt", request->prompt, "Length of the decoder's prompt, in tokens",
                     CLI::Range(1, 1 << 16));
  add_checked_option(*transcribe, "--new", request->generated, "Number of tokens to generate",
                     CLI::Range(1, 1 << 16));
  add_checked_option(*transcribe, "--repetitions", request->repetitions,
                     "Number of measurements after a warm-up", CLI::Range(1, 1 << 10));
  add_quantize(*transcribe, globals);
  set_action(*transcribe, globals, request, run, {.seed = true});
}

}  // namespace regard::cli

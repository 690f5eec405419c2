// 12. Train the model that a run file describes, stop after some steps, print the losses, and resume.
// Usage: 12_training RUN_FILE [FOLDER]; FOLDER is the run folder (default: runs/example).
#include <cstdio>
#include <string>

#include "regard/error.h"
#include "regard/train.h"

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: 12_training RUN_FILE [FOLDER]\n"), 2;
  const std::string folder = argc > 2 ? argv[2] : "runs/example";
  regard::TrainingOptions options{.overrides = {"output.folder=" + folder}};
  regard::TrainingCallbacks callbacks;
  callbacks.note = [](std::string_view text) {
    std::printf("%.*s\n", static_cast<int>(text.size()), text.data());
  };
  callbacks.validation = [](const regard::TrainingValidation& validation) {
    std::printf("step %lld: validation loss %.4f%s\n", static_cast<long long>(validation.step),
                validation.loss, validation.best ? ", the best so far" : "");
    for (const auto& [name, value] : validation.metrics) std::printf("  %s %.2f\n", name.c_str(), value);
  };
  callbacks.step = [](const regard::TrainingStep& step) {
    if (step.step % 10 == 0)
      std::printf("step %lld: loss %.4f, %.0f %%\n", static_cast<long long>(step.step), step.loss,
                  100.0 * step.share);
  };
  {
    regard::Training training(argv[1], options, callbacks);
    for (int i = 0; i < 25 && training.step(); ++i) {
    }
    training.stop();  // the next step writes a checkpoint and ends the run
    training.step();
  }
  options.resume = true;  // the result is bit-identical to the result of an uninterrupted run
  const regard::TrainingResult result = regard::Training(argv[1], options, callbacks).run();
  std::printf("%lld steps; best: step %lld, %s %.4f; %s\n", static_cast<long long>(result.steps),
              static_cast<long long>(result.best_step), result.metric.c_str(), result.best,
              result.folder.c_str());
  return 0;
} catch (const regard::Error& error) {
  std::fprintf(stderr, "%s: %s\n", regard::name_of(error.kind()), error.what());
  return 1;
}

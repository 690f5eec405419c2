// regard generate: continues lines of text, or one prompt as it is written.
#include <fmt/format.h>

#include <cstdio>

#include "cli/decode_lines.h"
#include "cli/verb.h"
#include "infer/scheduler.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

// Writes a continuation token by token.
class Typist : public infer::Listener {
 public:
  explicit Typist(const infer::LoadedModel& model) : decoder_(model.target) {}
  void token(std::uint64_t, std::int64_t, std::int32_t token) override { show(decoder_.push(token)); }
  void finished(std::uint64_t, std::vector<infer::Hypothesis> hypotheses) override {
    // The last token is announced by the end only.
    if (!hypotheses[0].tokens.empty()) show(decoder_.push(hypotheses[0].tokens.back()));
    show(decoder_.finish() + "\n");
  }

 private:
  static void show(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  text::StreamDecoder decoder_;
};

void continue_prompt(const infer::LoadedModel& model, const infer::SearchOptions& search,
                     const std::string& prompt, Globals& globals) {
  if (search.beam != 1 || search.n_best != 1)
    throw usage_error("--prompt writes one text as it comes; a beam or several are for lines")
        .remedy("give the prompt on standard input instead");
  Typist typist(model);
  infer::Scheduler scheduler(*model.model, globals.pool(), search, typist);
  infer::Request request;
  request.prompt = model.encode_prompt(prompt);
  scheduler.submit(std::move(request));
  catch_signals();
  fmt::print("{}", prompt);
  while (stop_signal() == 0 && scheduler.step()) {
  }
}

}  // namespace

void add_generate(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("generate", "Continues text");
  verb->footer(
      "Each line of standard input or --input is continued; the result, without the line itself, is one "
      "line\n"
      "in which line ends are written \\n. --prompt continues one text and writes it as it comes.");
  auto options = std::make_shared<DecodingOptions>();
  auto prompt = std::make_shared<std::string>();
  add_decoding_options(*verb, *options);
  const CLI::Option* given = verb->add_option("--prompt,-p", *prompt, "Continue this text instead of lines");
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([options, prompt, given, &globals] {
    const infer::LoadedModel model = open_for(ModelKind::decoder, "continue text", options->model, globals);
    const infer::SearchOptions search = options->over(model.options, globals.seed);
    if (given->count() > 0)
      continue_prompt(model, search, *prompt, globals);
    else
      decode_lines(model, search, options->input, globals);
  });
}

}  // namespace regard::cli

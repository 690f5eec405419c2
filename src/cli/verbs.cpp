#include "cli/verbs.h"

#include "cli/number_checks.h"

namespace regard::cli {

// Each command is declared here and defined in the file of the same name.
void add_answer(CLI::App& app, Globals& globals);
void add_attend(CLI::App& app, Globals& globals);
void add_bench(CLI::App& app, Globals& globals);
void add_caption(CLI::App& app, Globals& globals);
void add_classify(CLI::App& app, Globals& globals);
void add_context(CLI::App& app, Globals& globals);
void add_convert(CLI::App& app, Globals& globals);
void add_demo(CLI::App& app, Globals& globals);
void add_embed(CLI::App& app, Globals& globals);
void add_evaluate(CLI::App& app, Globals& globals);
void add_explain(CLI::App& app, Globals& globals);
void add_fill(CLI::App& app, Globals& globals);
void add_generate(CLI::App& app, Globals& globals);
void add_info(CLI::App& app, Globals& globals);
void add_prune(CLI::App& app, Globals& globals);
void add_quantize_verb(CLI::App& app, Globals& globals);
void add_report(CLI::App& app, Globals& globals);
void add_run(CLI::App& app, Globals& globals);
void add_runs(CLI::App& app, Globals& globals);
void add_serve(CLI::App& app, Globals& globals);
void add_study(CLI::App& app, Globals& globals);
void add_tag(CLI::App& app, Globals& globals);
void add_tokenizer(CLI::App& app, Globals& globals);
void add_train(CLI::App& app, Globals& globals);
void add_transcribe(CLI::App& app, Globals& globals);
void add_translate(CLI::App& app, Globals& globals);
void add_vectors(CLI::App& app, Globals& globals);

void add_verbs(CLI::App& app, Globals& globals) {
  add_demo(app, globals);
  add_attend(app, globals);
  add_context(app, globals);
  add_bench(app, globals);
  add_explain(app, globals);
  add_train(app, globals);
  add_report(app, globals);
  add_runs(app, globals);
  add_prune(app, globals);
  add_translate(app, globals);
  add_transcribe(app, globals);
  add_generate(app, globals);
  add_caption(app, globals);
  add_embed(app, globals);
  add_classify(app, globals);
  add_answer(app, globals);
  add_fill(app, globals);
  add_tag(app, globals);
  add_evaluate(app, globals);
  add_study(app, globals);
  add_run(app, globals);
  add_serve(app, globals);
  add_convert(app, globals);
  add_quantize_verb(app, globals);
  add_tokenizer(app, globals);
  add_vectors(app, globals);
  add_info(app, globals);
  require_decimal(app);
}

}  // namespace regard::cli

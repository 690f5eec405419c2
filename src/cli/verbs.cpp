#include "cli/verbs.h"

#include <algorithm>
#include <iterator>
#include <string_view>
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

namespace {

struct Verb {
  std::string_view name;
  void (*add)(CLI::App& app, Globals& globals);
};

constexpr Verb kVerbs[] = {{"demo", add_demo},
                           {"attend", add_attend},
                           {"context", add_context},
                           {"bench", add_bench},
                           {"explain", add_explain},
                           {"train", add_train},
                           {"report", add_report},
                           {"runs", add_runs},
                           {"prune", add_prune},
                           {"translate", add_translate},
                           {"transcribe", add_transcribe},
                           {"generate", add_generate},
                           {"caption", add_caption},
                           {"embed", add_embed},
                           {"classify", add_classify},
                           {"answer", add_answer},
                           {"fill", add_fill},
                           {"tag", add_tag},
                           {"evaluate", add_evaluate},
                           {"study", add_study},
                           {"run", add_run},
                           {"serve", add_serve},
                           {"convert", add_convert},
                           {"quantize", add_quantize_verb},
                           {"tokenizer", add_tokenizer},
                           {"vectors", add_vectors},
                           {"info", add_info}};

}  // namespace

void add_verbs(CLI::App& app, Globals& globals, std::string_view wanted) {
  const bool known = std::ranges::find(kVerbs, wanted, &Verb::name) != std::end(kVerbs);
  for (const Verb& verb : kVerbs)
    if (!known || verb.name == wanted) verb.add(app, globals);
  require_decimal(app);
}

}  // namespace regard::cli

// regard translate: translate lines of text, in input order.
#include <algorithm>

#include "cli/decode_lines.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct TranslateOptions {
  DecodingOptions decoding;
  std::string task, to;
  std::optional<std::string> prefix;
};

bool translates(const std::string& task) {
  return task.starts_with("translation");
}

// Throw usage if the model folder names translation tasks and neither --task nor --prefix is given.
void check_task(const infer::LoadedModel& model, const TranslateOptions& options) {
  if (!options.task.empty() || options.prefix) return;
  if (std::none_of(model.tasks.begin(), model.tasks.end(), translates)) return;
  std::string known;
  for (const std::string& task : model.tasks)
    if (translates(task)) known += (known.empty() ? "" : ", ") + task;
  throw usage_error("this model must be told which translation is wanted")
      .at({options.decoding.model, -1, -1})
      .remedy("Give --task (" + known + ") or --prefix");
}

// Return the token ">>language<<" and a space, with which Marian's multilingual models start a source. Throws
// usage if the model has no such token.
std::string language_token(const infer::LoadedModel& model, const std::string& language) {
  const std::string token = language.starts_with(">>") ? language : ">>" + language + "<<";
  if (model.source->id_of(token)) return token + " ";
  std::string known;
  for (std::int32_t id = 0; id < model.source->vocabulary_size(); ++id)
    if (const std::string other = model.source->token_of(id);
        other.starts_with(">>") && other.ends_with("<<"))
      known += (known.empty() ? "" : ", ") + other.substr(2, other.size() - 4);
  throw usage_error("the model writes no such language")
      .found("\"" + language + "\"")
      .expected(known.empty() ? "none: it has one language alone" : "one of " + known);
}

void translate(TranslateOptions& options, Globals& globals) {
  DecodingOptions& decoding = options.decoding;
  const infer::LoadedModel model = open_for(decoding, options.task, globals);
  if (model.model->kind() != ModelKind::encoder_decoder)
    throw usage_error("this model does not translate")
        .at({decoding.model, -1, -1})
        .found("a decoder alone")
        .expected("an encoder-decoder")
        .remedy("use regard generate");
  check_task(model, options);
  decoding.before = options.prefix.value_or(model.prefix);
  if (!options.to.empty()) decoding.before = language_token(model, options.to) + decoding.before;
  decode_lines(model, search_of(decoding, model, globals), decoding, globals);
}

}  // namespace

void add_translate(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("translate", "Translates lines of text");
  verb->footer(
      "Lines come from FILE or standard input; a line typed is answered at once, lines that are already\n"
      "there are decoded together, which changes no result. An empty line gives an empty line.\n"
      "--sentences translates each sentence of a line alone and joins them with the line's own white space.\n"
      "A sentence ends behind . ! ? and … (closing quotes and brackets counted) where white space and no "
      "small\n"
      "letter follow, but not behind an initial, a title or an abbreviation; and behind 。！？ and । ॥.");
  auto options = std::make_shared<TranslateOptions>();
  add_decoding_options(*verb, options->decoding);
  verb->add_flag("--sentences", options->decoding.sentences, "Translate each sentence of a line alone");
  verb->add_option("--task", options->task,
                   "One of the folder's task_specific_params (T5): its prefix and parameters");
  verb->add_option("--prefix", options->prefix, "Put this before every source, instead of the task's")
      ->check(valid_text());
  verb->add_option("--to", options->to,
                   "The language to write, for Marian models that have several (BART has no names for any)");
  add_quantize(*verb, globals);
  add_globals(*verb, globals);
  verb->callback([options, &globals] { translate(*options, globals); });
}

}  // namespace regard::cli

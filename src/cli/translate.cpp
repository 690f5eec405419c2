// regard translate: translate lines of text, in input order.
#include <algorithm>

#include "cli/decode_lines.h"
#include "cli/server_lines.h"
#include "cli/text_argument.h"
#include "cli/verb.h"
#include "regard/error.h"

namespace regard::cli {
namespace {

struct TranslateOptions {
  DecodingOptions decoding;
  std::string task, to;
  std::optional<std::string> prefix;
  ServerOptions server;
};

bool translates(const std::string& task) {
  return task.starts_with("translation");
}

// Throw usage if the model folder lists translation tasks and both --task and --prefix are missing.
void check_task(const infer::LoadedModel& model, const TranslateOptions& options) {
  if (!options.task.empty() || options.prefix) return;
  if (std::none_of(model.tasks.begin(), model.tasks.end(), translates)) return;
  std::string known;
  for (const std::string& task : model.tasks)
    if (translates(task)) known += (known.empty() ? "" : ", ") + task;
  throw usage_error("expected --task or --prefix, found neither")
      .at({options.decoding.model, -1, -1})
      .remedy("Tasks of this model: " + known);
}

// Return the token ">>language<<" and a space, which start a source text of Marian's multilingual models.
// Throws usage if the model has no such token.
std::string language_token(const infer::LoadedModel& model, const std::string& language) {
  const std::string token = language.starts_with(">>") ? language : ">>" + language + "<<";
  if (model.source->id_of(token)) return token + " ";
  std::string known;
  for (std::int32_t id = 0; id < model.source->vocabulary_size(); ++id)
    if (const std::string other = model.source->token_of(id);
        other.starts_with(">>") && other.ends_with("<<"))
      known += (known.empty() ? "" : ", ") + other.substr(2, other.size() - 4);
  throw usage_error("unknown target language")
      .found("\"" + language + "\"")
      .expected(known.empty() ? "none: the model has one target language" : "one of " + known);
}

void translate_at(const TranslateOptions& options, Globals& globals) {
  options.server.exclude(!options.task.empty(), "--task");
  Json request = generate_request(options.server, options.decoding, globals);
  request["translate"] = true;
  if (options.prefix) request["prefix"] = *options.prefix;
  if (!options.to.empty()) request["to"] = options.to;
  decode_lines_at(options.server, std::move(request), options.decoding, globals);
}

void translate(TranslateOptions& options, Globals& globals) {
  if (options.server.given()) return translate_at(options, globals);
  DecodingOptions& decoding = options.decoding;
  const infer::LoadedModel model = open_for(decoding, options.task, globals);
  if (model.model->kind() != ModelKind::encoder_decoder)
    throw usage_error("this model cannot translate")
        .at({decoding.model, -1, -1})
        .found("a decoder-only model")
        .expected("an encoder-decoder")
        .remedy("Use regard generate");
  check_task(model, options);
  decoding.before = options.prefix.value_or(model.prefix);
  if (!options.to.empty()) decoding.before = language_token(model, options.to) + decoding.before;
  decode_lines(model, search_of(decoding, model, globals), decoding, globals);
}

}  // namespace

void add_translate(CLI::App& app, Globals& globals) {
  const auto [verb, options] = add_command<TranslateOptions>(
      app, "translate", "Translate lines of text",
      "Reads lines from FILE or standard input. Lines that have already arrived are decoded as one batch;\n"
      "batching does not change the results. A typed line is translated at once. An empty line gives an\n"
      "empty line.\n"
      "--sentences translates each sentence of a line separately and joins the results with the line's "
      "white\n"
      "space. A sentence ends after . ! ? or … (and closing quotes and brackets) if white space follows and\n"
      "the next character is not a lower-case letter. It does not end after an initial, a title or an\n"
      "abbreviation. It always ends after 。！？ । ॥.\n"
      "If the run folder has the words of its training data (source_words.tsv), words and symbols that "
      "occur\n"
      "in no training sentence are listed on standard error, and with --json as \"not_seen_in_training\"; "
      "words\nthat occur there only in another case (THE instead of the) are \"seen_in_other_case\".");
  add_decoding_options(*verb, options->decoding);
  verb->add_flag("--sentences", options->decoding.sentences, "Translate each sentence of a line separately");
  verb->add_option("--task", options->task,
                   "Key of task_specific_params in config.json (T5): use its prefix and parameters")
      ->check(not_empty());
  verb->add_option("--prefix", options->prefix,
                   "Text to prepend to every source. Default: the prefix of --task, or none")
      ->check(valid_text());
  verb->add_option("--to", options->to,
                   "Target language of a Marian model with several target languages, such as fra for >>fra<<")
      ->check(not_empty());
  add_server_options(*verb, options->server);
  add_quantize(*verb, globals);
  add_globals(*verb, globals, {.seed = true});
  verb->callback([options, &globals] { translate(*options, globals); });
}

}  // namespace regard::cli

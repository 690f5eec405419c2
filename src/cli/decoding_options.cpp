#include "cli/decoding_options.h"

#include "cli/number_checks.h"
#include "cli/text_argument.h"
#include "infer/folder_options.h"
#include "regard/error.h"

namespace regard::cli {
Json SearchFlags::settings_object() const {
  Json values = Json::object();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == 0 || equals == setting.npos)
      throw usage_error("invalid argument of --set").found("\"" + setting + "\"").expected("KEY=VALUE");
    const std::string value = setting.substr(equals + 1);
    const Json parsed = Json::parse(value, nullptr, false);  // a value that is not JSON is a string
    values[setting.substr(0, equals)] = parsed.is_discarded() ? Json(value) : parsed;
  }
  infer::check_setting_names(values, "--set");
  return values;
}

void TextFlags::add_to(infer::SearchOptions& search, const infer::LoadedModel& model) const {
  if (!stop.empty()) search.stop_strings = std::make_shared<infer::StopStrings>(model.target, stop);
  model.ban(bad_words, search.rules);
}

namespace {

std::vector<CLI::Option*> add_sampling_flags(CLI::App& verb, SearchFlags& flags) {
  return {
      verb.add_flag(
          "--sample", flags.sample,
          "Sample tokens with --seed instead of choosing the most probable; implied by the options from "
          "--temperature to --typical-p. Default: as set in the model's folder, or no"),
      verb.add_option("--temperature", flags.temperature,
                      "Divide logits by this before sampling. Default: as set in the model's folder, or 1"),
      verb.add_option(
          "--top-k", flags.top_k,
          "Sample from the K most probable tokens; 0 uses all. Default: as set in the model's folder; "
          "without a setting, 50 if the folder enables sampling, otherwise 0"),
      verb.add_option(
          "--top-p", flags.top_p,
          "Sample from the smallest set of tokens with this total probability. Default: as set in the "
          "model's folder, or 1, which uses all tokens"),
      verb.add_option(
          "--min-p", flags.min_p,
          "Sample from tokens with at least this fraction of the highest probability. Default: as set "
          "in the model's folder, or 0, which uses all tokens"),
      verb.add_option(
          "--typical-p", flags.typical_p,
          "Sample from the locally typical set with this total probability. Default: as set in the "
          "model's folder, or 1, which uses all tokens")};
}

}  // namespace

std::vector<CLI::Option*> add_search_flags(CLI::App& verb, SearchFlags& flags) {
  std::vector<CLI::Option*> options{
      verb.add_option("--beam,-b", flags.beam,
                      "Beam width; 1 is greedy search. Default: the width set in the model's folder, or 1"),
      verb.add_option(
          "--n-best", flags.n_best,
          "Number of results per input; more than one are printed as INDEX ||| TEXT ||| SCORE. With "
          "--sample, they are independent samples. Default: as set in the model's folder, or 1"),
      verb.add_option(
          "--max-new", flags.max_new,
          "Maximum number of generated tokens per input. 0: twice the tokens of the input plus 16 for an "
          "encoder-decoder that reads text, 128 for other models. Default: as set in the model's folder, or "
          "0"),
      verb.add_option(
              "--min-new", flags.min_new,
              "Minimum number of generated tokens per input. Default: as set in the model's folder, or 0")
          ->check(not_negative()),
      verb.add_option(
          "--length-penalty", flags.length_penalty,
          "Exponent P of the score of a hypothesis, which is the sum of its log-probabilities divided "
          "by tokens^P. Default: as set in the model's folder, or 1"),
      verb.add_option(
              "--early-stopping", flags.early_stopping,
              "Rule that ends the beam search once as many hypotheses as beams are finished: yes (at once), "
              "no (when no unfinished hypothesis scores higher), never (when none could score higher at "
              "the maximum length). Default: as set in the model's folder, or no")
          ->check(CLI::IsMember({"no", "yes", "never"})),
      verb.add_option(
          "--repetition-penalty", flags.repetition_penalty,
          "Factor by which the scores of tokens that occurred before are lowered; 1 disables this. Default: "
          "as set in the model's folder, or 1"),
      verb.add_option(
              "--no-repeat-ngram", flags.no_repeat_ngram,
              "Never generate the same sequence of N tokens twice; 0 disables this. Default: as set in "
              "the model's folder, or 0")
          ->check(not_negative())};
  const std::vector<CLI::Option*> sampling = add_sampling_flags(verb, flags);
  options.insert(options.end(), sampling.begin(), sampling.end());
  options.push_back(verb.add_option("--set", flags.settings,
                                    "Override a key of generation_config.json: KEY=VALUE; repeatable")
                        ->allow_extra_args(false));
  return options;
}

void add_text_flags(CLI::App& verb, TextFlags& flags) {
  verb.add_option("--stop", flags.stop, "End the generated text before this text; repeatable")
      ->allow_extra_args(false)
      ->check(valid_text());
  verb.add_option("--bad-word", flags.bad_words, "Never generate this word; repeatable")
      ->allow_extra_args(false)
      ->check(valid_text());
}

}  // namespace regard::cli

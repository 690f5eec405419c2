// A model folder opened for inference: the model, its tokenizers and the folder's decoding options.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_folder.h"
#include "infer/search.h"
#include "models/network.h"
#include "models/weights.h"
#include "text/tokenizer.h"

namespace regard::infer {

// Settings for loading a model folder. They override the settings that are stored in the folder.
struct FolderSettings {
  Json values = Json::object();  // values for keys of generation_config.json
  // A key of task_specific_params in config.json, as in T5's folders. Empty for no task.
  std::string task = {};
  WeightMode weight_mode = WeightMode::stored;  // data type of the weights for inference
  // expected kind of the model's input; nullopt accepts any
  std::optional<InputKind> reads = InputKind::tokens;
  // Folder of a LoRA adapter for the model. If empty, the folder's own adapter is used, if any.
  std::filesystem::path adapter = {};
  // Language of a model with weights per language (ModelFolder::select_language). Empty for the model's own.
  std::string language = {};
};

// Key of generation_config.json in folders written by `regard train`: true if normalize_whitespace() was
// applied to every text in training. Default: false.
constexpr const char* kNormalizeWhitespace = "normalize_whitespace";

// Message of the error for a text with more tokens than the model or a limit allows.
constexpr const char* kTextTooLong = "the text is too long for the model";

struct LoadedModel {
  // The opened folder, without the changes by FolderSettings. While this object exists, a training run does
  // not remove the checkpoint.
  formats::ModelFolder folder;
  std::unique_ptr<Network> model;
  // Tokenizers of source and target: one object if both share a vocabulary or the model is decoder-only. Null
  // for a side that has no token ids.
  std::shared_ptr<const text::Tokenizer> source, target;
  // Result of search_options_of(), with the stop strings of the folder.
  SearchOptions options;
  std::string language;            // FolderSettings::language
  std::string prefix;              // prefix of every source, which the selected task requires
  std::vector<std::string> tasks;  // names of the tasks in task_specific_params
  // true if special tokens are added to prompts; false for models trained by regard
  bool adds_special = true;
  // id of the end token appended to every source; −1 if regard appends none
  std::int32_t source_end = -1;
  bool normalizes_whitespace = false;  // value of kNormalizeWhitespace; applies to sources and targets
  std::string warning;  // message if the best checkpoint is damaged and another one is used; usually empty

  // Open `path`: a run folder (its best checkpoint), a checkpoint of a run, or a Hugging Face folder. Throws
  // bad_file if the tokenizer does not match the model. Throws usage if settings.reads does not match the
  // model, or if the selected task does not exist. Also throws the errors of ModelFolder::open, load_model
  // and Tokenizer::load.
  static LoadedModel open(const std::filesystem::path& path, const FolderSettings& settings = {});
  // Load the model of an opened folder. For a run folder, this is the checkpoint that ModelFolder::open()
  // chose and whose checksums it verified; they are not verified again.
  static LoadedModel open(formats::ModelFolder folder, const FolderSettings& settings);
  static LoadedModel open(const std::filesystem::path& path, WeightMode mode) {
    return open(path, FolderSettings{.weight_mode = mode});
  }

  // Load the tokenizers of the model's folder, to show token ids as text. If that is not possible, return the
  // message of the error and leave the tokenizers null.
  std::string add_tokenizers();

  // Return `source` or `target`; throw usage if it is null.
  const std::shared_ptr<const text::Tokenizer>& source_tokenizer() const;
  const std::shared_ptr<const text::Tokenizer>& target_tokenizer() const;

  // Encode `text` as the model's input: the source of a model with an encoder, otherwise the prompt. If the
  // text has more tokens than the model has positions, call cut_to_positions() if `truncate` is set, and
  // throw invalid_input otherwise. Throws usage if the model does not read text.
  ModelInput read(std::string_view text, bool truncate = false) const;
  // Like read(), but encode a rendered conversation, with encode_chat().
  ModelInput read_chat(std::string_view rendered, bool truncate = false) const;

  // Return the token ids of a source, encoded as in training, with special tokens added. A masked language
  // model recognises all special tokens in the text, so that the text can contain masks. Other models
  // recognise only the language code at the start of a Marian source (">>fra<< …").
  std::vector<std::int32_t> encode_source(std::string_view text) const;
  // Return `text` with normalised white space if normalizes_whitespace is set, otherwise unmodified.
  std::string as_trained(std::string_view text) const;
  // Return the token ids of a prompt. Special tokens are added if adds_special is set; they are not
  // recognised in the text.
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  // Return the token ids of a rendered conversation. Special tokens are recognised in the text; none are
  // added.
  std::vector<std::int32_t> encode_chat(std::string_view rendered) const;
  // return the text of a hypothesis without special tokens
  std::string decode(const Hypothesis& hypothesis) const;

  // Add to `rules` the token ids of words that must not be generated, spelled with and without a preceding
  // space. Throws usage if a word is empty.
  void ban(const std::vector<std::string>& words, TokenRules& rules) const;

  // Truncate ids to the model's number of positions. A decoder-only prompt keeps its end; a source keeps its
  // beginning and its trailing special tokens.
  std::vector<std::int32_t> cut_to_positions(std::vector<std::int32_t> ids) const;

  // Return the text that was generated after `prompt` (empty for an encoder–decoder), up to the stop string
  // if one ended the generation. The first word after `prompt` keeps its leading space.
  std::string written(const Hypothesis& hypothesis, const SearchOptions& search,
                      std::span<const std::int32_t> prompt = {}) const;

 private:
  ModelInput within_positions(std::vector<std::int32_t> ids, bool truncate) const;
};

}  // namespace regard::infer

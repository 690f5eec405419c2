// A model folder opened for use: the model, its tokenizers, and how the folder wants text decoded.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/model_folder.h"
#include "infer/search.h"
#include "models/network.h"
#include "models/weights.h"
#include "text/tokenizer.h"

namespace regard::infer {

// What a folder is opened for: a model that reads images has no tokenizer.
enum class Reads { text, images, either };

// How a folder is to be opened, over what it says itself.
struct FolderSettings {
  Json values = Json::object();  // keys of generation_config.json
  // One of config.json's task_specific_params, as T5's folders have them; empty: none.
  std::string task = {};
  Keep keep = Keep::stored;  // how the weights are held for inference: as they are stored, or in int8
  Reads reads = Reads::text;
};

// Key of generation_config.json, in folders that our training wrote: whether every text was passed through
// normalize_whitespace(). Not there: no.
constexpr const char* kNormalizeWhitespace = "normalize_whitespace";

struct LoadedModel {
  std::unique_ptr<Network> model;
  // The same object where one vocabulary serves both sides, and for decoders alone.
  std::shared_ptr<const text::Tokenizer> source, target;
  // From generation_config.json, or config.json where that lacks a key: start and end tokens, num_beams,
  // length_penalty, early_stopping, max_new_tokens or max_length, do_sample, temperature, top_k, top_p,
  // min_p.
  SearchOptions options;
  std::string prefix;              // of the task: what stands before every source
  std::vector<std::string> tasks;  // that task_specific_params has
  bool adds_special = true;        // prompts get what the tokenizer adds; our own runs train without
  std::int32_t source_end = -1;  // what training put behind every source; −1: what the tokenizer adds is all
  bool normalizes_whitespace = false;  // of sources and targets: kNormalizeWhitespace
  std::string warning;                 // not empty: the best checkpoint is damaged, another is used

  // `path`: a run folder (its best checkpoint), a checkpoint of one, or a Hugging Face folder. Throws as
  // ModelFolder::open, load_model and Tokenizer::load do; bad_file where tokenizer and model do not fit.
  // Throws usage where the model reads the other of text and images.
  static LoadedModel open(const std::filesystem::path& path, const FolderSettings& settings = {});
  static LoadedModel open(const std::filesystem::path& path, Keep keep) {
    return open(path, FolderSettings{.keep = keep});
  }

  // Ids as in training: special tokens are added, and never read out of the text, but for the language that
  // Marian's sources begin with (">>fra<< …").
  std::vector<std::int32_t> encode_source(std::string_view text) const;
  // A source or target as training read it: the text itself, unless the folder normalises white space.
  std::string as_trained(std::string_view text) const;
  std::vector<std::int32_t> encode_prompt(std::string_view text) const;
  // A rendered conversation: it spells its special tokens, all of them.
  std::vector<std::int32_t> encode_chat(std::string_view rendered) const;
  std::string decode(const Hypothesis& hypothesis) const;  // special tokens left out

  // Adds words that are never to be written, as they are spelled at the start of a text and behind a space.
  // Throws usage for an empty one.
  void ban(const std::vector<std::string>& words, TokenRules& rules) const;

  // Ids cut to what the model has positions for: of a decoder's prompt the end stays, of a source the
  // beginning and the special tokens that end it.
  std::vector<std::int32_t> cut_to_positions(std::vector<std::int32_t> ids) const;

  // What a hypothesis wrote behind `prompt` (empty where there is an encoder), up to the stop string that
  // ended it. Behind a prompt the first word keeps its space.
  std::string written(const Hypothesis& hypothesis, const SearchOptions& search,
                      std::span<const std::int32_t> prompt = {}) const;
};

// SearchOptions as a folder has them; for folders whose model is built elsewhere.
SearchOptions search_options_of(const formats::ModelFolder& folder);

}  // namespace regard::infer

// The components of a Tokenizer, and their construction from a tokenizer.json. Only the tokenizer's own files
// include this header.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/decoders.h"
#include "text/ids_encoder.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"
#include "text/tokenizer.h"

namespace regard::text {

struct Tokenizer::Parts {
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> pre_tokenizer;
  std::unique_ptr<Model> model;
  std::unique_ptr<PostProcessor> post_processor;
  std::unique_ptr<Decoder> decoder;
  AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  std::unique_ptr<const IdsEncoder> ids_encoder;
  std::vector<std::int32_t> before, after;  // ids that the post-processor adds before and after a single text
  Json description;

  // Read a tokenizer.json. Throws bad_file with `file` and the cause.
  static std::unique_ptr<Parts> read(const Json& json, const std::string& file);
  // Construct the parts from a model and a tokenizer.json without "model".
  static std::unique_ptr<Parts> assemble(Json pipeline, std::unique_ptr<Model> model,
                                         const std::string& file);
  // Append the ids of a single text (not of a pair) to work.ids. If options.add_special is set, add the ids
  // `before` and `after` around the text.
  void encode_ids(std::string_view text, const EncodeOptions& options, IdsEncoder::Workspace& work) const {
    const bool framed = post_processor != nullptr && options.add_special;
    if (framed) work.ids.append(before);
    ids_encoder->encode(text, options.match_special, work);
    if (framed) work.ids.append(after);
  }
  // Split the input into words and added tokens.
  void cut(Pieces& pieces, bool match_special) const;
};

}  // namespace regard::text

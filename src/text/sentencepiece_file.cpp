// Reads .model files: a Protocol Buffers message ModelProto (sentencepiece_model.proto).
#include <fmt/format.h>

#include "base/file.h"
#include "text/base64.h"
#include "text/protobuf.h"
#include "text/sentencepiece.h"
#include "text/tokenizer_files.h"

namespace regard::text {
namespace {

SentencePiece parse_piece(const ProtobufField& message, const std::string& file) {
  SentencePiece piece;
  ProtobufReader reader(message.bytes, file, message.place);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) piece.piece = field.bytes;
    if (field.number == 2) piece.score = field.as_float();
    if (field.number == 3) {
      if (field.value < 1 || field.value > 6)
        throw file_error(file, "a piece has an unknown type")
            .found(std::to_string(field.value))
            .expected("a number from 1 to 6");
      piece.type = static_cast<PieceType>(field.value);
    }
  }
  return piece;
}

void parse_trainer(const ProtobufField& message, const std::string& file, SentencePieceOptions& options) {
  ProtobufReader reader(message.bytes, file, message.place);
  for (ProtobufField field; reader.next(field);) {
    switch (field.number) {
      case 3:
        if (field.value < 1 || field.value > 4)
          throw file_error(file, "unknown type of sentencepiece model")
              .found(std::to_string(field.value))
              .expected("a number from 1 to 4");
        options.kind = static_cast<SentencePieceOptions::Kind>(field.value);
        break;
      case 24:
        options.whitespace_as_suffix = field.value != 0;
        break;
      case 35:
        options.byte_fallback = field.value != 0;
        break;
      case 44:
        options.unknown_surface = field.bytes;
        break;
      default:
        break;  // other fields, such as the training settings, are not used
    }
  }
}

void parse_normalizer(const ProtobufField& message, const std::string& file, SentencePieceFile& model) {
  ProtobufReader reader(message.bytes, file, message.place);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 2) model.charsmap = field.bytes;
    if (field.number == 3) model.options.dummy_prefix = field.value != 0;
    if (field.number == 4) model.options.remove_extra_whitespace = field.value != 0;
    if (field.number == 5) model.options.escape_whitespace = field.value != 0;
  }
}

}  // namespace

SentencePieceFile parse_sentencepiece(std::string_view bytes, const std::string& file) {
  SentencePieceFile model;
  ProtobufReader reader(bytes, file);
  for (ProtobufField field; reader.next(field);) {
    if (field.number == 1) model.pieces.push_back(parse_piece(field, file));
    if (field.number == 2) parse_trainer(field, file, model.options);
    if (field.number == 3) parse_normalizer(field, file, model);
  }
  if (model.pieces.empty()) throw file_error(file, "not a sentencepiece model: it has no pieces");
  return model;
}

TokenizerFile read_sentencepiece(const std::filesystem::path& path) {
  const std::string file = path.string();
  SentencePieceFile model = parse_sentencepiece(read_regular_file(path, std::uint64_t{1} << 28), file);
  Json pipeline{{"version", "1.0"},
                {"truncation", nullptr},
                {"padding", nullptr},
                {"added_tokens", Json::array()},
                {"normalizer", sentencepiece_normalizer_json(model)},
                {"pre_tokenizer", nullptr},
                {"post_processor", nullptr},
                {"decoder", nullptr}};
  auto pieces = std::make_unique<SentencePieceModel>(std::move(model.pieces), std::move(model.options), file);
  return {file, std::move(pipeline), std::move(pieces)};
}

}  // namespace regard::text

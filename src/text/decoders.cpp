#include "text/decoders.h"

#include <fmt/format.h>

#include <array>

#include "base/utf8.h"
#include "text/byte_letters.h"
#include "text/pattern.h"

namespace regard::text {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) {  // an empty `from` occurs before each character and at the end
    std::string result(to);
    for (std::size_t i = 0, size = 0; i < text.size(); i += size) {
      size = static_cast<std::size_t>(utf8::decode(text, i).size);
      result.append(text, i, size).append(to);
    }
    text = std::move(result);
    return;
  }
  for (std::size_t place = 0; (place = text.find(from, place)) != std::string::npos; place += to.size())
    text.replace(place, from.size(), to);
}

// Apply the clean-up rules of Hugging Face's WordPiece decoder, in the order of kRules. Most rules remove a
// space that tokenization added.
void clean_up(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{{" .", "."},
                                                                                     {" ?", "?"},
                                                                                     {" !", "!"},
                                                                                     {" ,", ","},
                                                                                     {" ' ", "'"},
                                                                                     {" n't", "n't"},
                                                                                     {" 'm", "'m"},
                                                                                     {" do not", " don't"},
                                                                                     {" 's", "'s"},
                                                                                     {" 've", "'ve"},
                                                                                     {" 're", "'re"}}};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

class ByteLevelDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string bytes;
    for (const std::string& token : tokens) {
      const auto decoded = bytes_of_letters(token);
      bytes.append(decoded ? *decoded : token);
    }
    tokens.assign(1, repaired_utf8(bytes));
  }
};

class WordPieceDecoder final : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool clean) : prefix_(std::move(prefix)), clean_(clean) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      std::string& token = tokens[i];
      if (i > 0 && token.starts_with(prefix_)) {
        token.erase(0, prefix_.size());
      } else if (i > 0) {
        token.insert(0, " ");
      }
      if (clean_) clean_up(token);
    }
  }

 private:
  std::string prefix_;
  bool clean_;
};

class MetaspaceDecoder final : public Decoder {
 public:
  MetaspaceDecoder(std::string replacement, bool prepended)
      : replacement_(std::move(replacement)), prepended_(prepended) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (replacement_.empty()) return;
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], replacement_, i == 0 && prepended_ ? "" : " ");
  }

 private:
  std::string replacement_;
  bool prepended_;
};

class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
  }

 private:
  std::string suffix_;
};

class ByteFallbackDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (utf8::valid(bytes)) {
        result.push_back(bytes);
      } else {
        result.insert(result.end(), bytes.size(), "\uFFFD");
      }
      bytes.clear();
    };
    for (std::string& token : tokens) {
      const int byte = byte_of_name(token);
      if (byte >= 0) {
        bytes.push_back(static_cast<char>(byte));
        continue;
      }
      flush();
      result.push_back(std::move(token));
    }
    flush();
    tokens = std::move(result);
  }
};

class FuseDecoder final : public Decoder {
 public:
  void apply(std::vector<std::string>& tokens) const override {
    std::string all;
    for (const std::string& token : tokens) all.append(token);
    tokens.assign(1, all);
  }
};

class StripDecoder final : public Decoder {
 public:
  StripDecoder(std::string content, std::size_t start, std::size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void apply(std::vector<std::string>& tokens) const override {
    if (content_.empty()) return;
    for (std::string& token : tokens) {
      for (std::size_t i = 0; i < start_ && token.starts_with(content_); ++i) token.erase(0, content_.size());
      for (std::size_t i = 0; i < stop_ && token.ends_with(content_); ++i)
        token.resize(token.size() - content_.size());
    }
  }

 private:
  std::string content_;
  std::size_t start_, stop_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(std::unique_ptr<Pattern> pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  void apply(std::vector<std::string>& tokens) const override {
    std::vector<Match> matches;
    for (std::string& token : tokens) {
      matches.clear();
      pattern_->find(token, matches);
      std::string result;
      for (const Match& match : matches)
        result.append(match.matched ? content_ : token.substr(match.begin, match.end - match.begin));
      token = std::move(result);
    }
  }

 private:
  std::unique_ptr<Pattern> pattern_;
  std::string content_;
};

// Decoder for connectionist temporal classification: merges repeated tokens, then removes the pad token
// (blank).
class CtcDecoder final : public Decoder {
 public:
  CtcDecoder(std::string pad, std::string delimiter, bool clean)
      : pad_(std::move(pad)), delimiter_(std::move(delimiter)), clean_(clean) {}
  void apply(std::vector<std::string>& tokens) const override {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    std::vector<std::string> result;
    for (std::string& token : tokens) {
      replace_all(token, pad_, "");
      if (clean_) {
        clean_up(token);
        replace_all(token, delimiter_, " ");
      }
      if (!token.empty()) result.push_back(std::move(token));
    }
    tokens = std::move(result);
  }

 private:
  std::string pad_, delimiter_;
  bool clean_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<std::unique_ptr<Decoder>> parts) : parts_(std::move(parts)) {}
  void apply(std::vector<std::string>& tokens) const override {
    for (const auto& part : parts_) part->apply(tokens);
  }

 private:
  std::vector<std::unique_ptr<Decoder>> parts_;
};

}  // namespace

int byte_of_name(std::string_view token) noexcept {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

std::string repaired_utf8(std::string_view bytes) {
  if (utf8::valid(bytes)) return std::string(bytes);
  return utf8::encode(utf8::code_points(bytes));
}

std::unique_ptr<Decoder> read_decoder(const Json& json, const std::string& file) {
  const auto type = require<std::string>(json, "type", file);
  const auto flag = [&](const char* key, bool otherwise) {
    return optional_value<bool>(json, key, file).value_or(otherwise);
  };
  const auto text = [&](const char* key, const char* otherwise) {
    return optional_value<std::string>(json, key, file).value_or(otherwise);
  };
  if (type == "Sequence") {
    std::vector<std::unique_ptr<Decoder>> parts;
    for (const Json& part : require<std::vector<Json>>(json, "decoders", file))
      parts.push_back(read_decoder(part, file));
    return std::make_unique<DecoderSequence>(std::move(parts));
  }
  if (type == "ByteLevel") return std::make_unique<ByteLevelDecoder>();
  if (type == "WordPiece")
    return std::make_unique<WordPieceDecoder>(text("prefix", "##"), flag("cleanup", true));
  if (type == "Metaspace") {
    const std::string scheme = text("prepend_scheme", flag("add_prefix_space", true) ? "always" : "never");
    return std::make_unique<MetaspaceDecoder>(text("replacement", "\u2581"), scheme != "never");
  }
  if (type == "BPEDecoder") return std::make_unique<BpeDecoder>(text("suffix", "</w>"));
  if (type == "ByteFallback") return std::make_unique<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_unique<FuseDecoder>();
  if (type == "Strip")
    return std::make_unique<StripDecoder>(text("content", " "), require<std::uint32_t>(json, "start", file),
                                          require<std::uint32_t>(json, "stop", file));
  if (type == "Replace")
    return std::make_unique<ReplaceDecoder>(read_pattern(require<Json>(json, "pattern", file), file),
                                            require<std::string>(json, "content", file));
  if (type == "CTC")
    return std::make_unique<CtcDecoder>(text("pad_token", "<pad>"), text("word_delimiter_token", "|"),
                                        flag("cleanup", true));
  throw file_error(file, "unsupported type of decoder")
      .found(type)
      .remedy("Use a tokenizer without this decoder, or a newer version of regard");
}

}  // namespace regard::text

#include "text/post_processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/utf8.h"
#include "text/byte_letters.h"
#include "text/unicode.h"

namespace regard::text {
namespace {

template <class Function>
void for_each_part(Encoding& encoding, Function function) {
  function(encoding);
  for (Encoding& part : encoding.overflowing) function(part);
}

// Exclude the spaces at both ends of a byte-level token from its offsets.
void trim(Encoding& encoding, bool prefix_space) {
  const char32_t space_letter = letter_of_byte(' ');
  const auto is_space = [space_letter](char32_t c) {
    return c == space_letter || unicode::is_white_space(c);
  };
  // Return the number of bytes in the original text for the white-space character c. The byte-level letter of
  // a space represents 1 byte.
  const auto bytes_of = [space_letter](char32_t c) {
    std::string text;
    utf8::append(text, c == space_letter ? U' ' : c);
    return static_cast<std::uint32_t>(text.size());
  };
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::u32string token = utf8::code_points(encoding.tokens[i]);
    std::size_t leading = 0, trailing = 0;
    while (leading < token.size() && is_space(token[leading])) ++leading;
    while (trailing < token.size() && is_space(token[token.size() - 1 - trailing])) ++trailing;
    Offsets &places = encoding.offsets[i], &bytes = encoding.byte_offsets[i];
    if (leading > 0) {
      // A single space at the start of the text may be the added prefix space, which is not part of the text.
      if ((i == 0 || places.begin == 0) && prefix_space && leading == 1) leading = 0;
      std::uint32_t size = 0;
      for (std::size_t k = 0; k < leading; ++k) size += bytes_of(token[k]);
      places.begin = std::min(places.begin + static_cast<std::uint32_t>(leading), places.end);
      bytes.begin = std::min(bytes.begin + size, bytes.end);
    }
    if (trailing > 0 && places.end >= trailing) {
      std::uint32_t size = 0;
      for (std::size_t k = 0; k < trailing; ++k) size += bytes_of(token[token.size() - 1 - k]);
      places.end = std::max(places.end - static_cast<std::uint32_t>(trailing), places.begin);
      bytes.end = std::max(bytes.end - std::min(size, bytes.end), bytes.begin);
    }
  }
}

struct SpecialToken {
  std::string token;
  std::int32_t id = 0;
};

SpecialToken read_special(const Json& json, const char* key, const std::string& file) {
  const auto pair = require<Json>(json, key, file);
  if (!pair.is_array() || pair.size() != 2)
    throw file_error(file, fmt::format("expected '{}' to be a token and its id", key))
        .found(describe(pair))
        .expected("[TOKEN, ID]");
  return {json_as<std::string>(pair[0], key, file), json_as<std::int32_t>(pair[1], key, file)};
}

Encoding single(const SpecialToken& token, std::int32_t type) {
  Encoding encoding;
  encoding.push(token.id, token.token, type, true);
  return encoding;
}

// Add the special tokens `before` (may be null) and `after` to the encoding and to its overflowing parts. As
// in the reference implementation, special tokens of an earlier step are no longer marked in special_mask.
void wrap(Encoding& encoding, const SpecialToken* before, const SpecialToken& after, std::int32_t type) {
  for_each_part(encoding, [&](Encoding& part) {
    Encoding whole;
    if (before != nullptr) whole.push(before->id, before->token, type, true);
    Encoding inner = part.slice(0, part.size());
    std::fill(inner.special_mask.begin(), inner.special_mask.end(), 0);
    append(whole, inner);
    whole.push(after.id, after.token, type, true);
    whole.overflowing = std::move(part.overflowing);
    part = std::move(whole);
  });
}

class BertProcessing final : public PostProcessor {
 public:
  BertProcessing(SpecialToken start, SpecialToken separator)
      : start_(std::move(start)), separator_(std::move(separator)) {}
  std::size_t added(bool pair) const override { return pair ? 3 : 2; }
  void apply(std::vector<Encoding>& parts, bool add_special) const override {
    if (!add_special) return;
    for (std::size_t i = 0; i < parts.size(); ++i)
      wrap(parts[i], i == 0 ? &start_ : nullptr, separator_, i == 0 ? 0 : 1);
  }

 private:
  SpecialToken start_, separator_;
};

class RobertaProcessing final : public PostProcessor {
 public:
  RobertaProcessing(SpecialToken start, SpecialToken separator, bool trim_offsets, bool prefix_space)
      : start_(std::move(start)),
        separator_(std::move(separator)),
        trim_(trim_offsets),
        prefix_space_(prefix_space) {}
  std::size_t added(bool pair) const override { return pair ? 4 : 2; }
  void apply(std::vector<Encoding>& parts, bool add_special) const override {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (trim_) for_each_part(parts[i], [this](Encoding& part) { trim(part, prefix_space_); });
      // Set the type ids of both texts to 0.
      for_each_part(parts[i],
                    [](Encoding& part) { std::fill(part.type_ids.begin(), part.type_ids.end(), 0); });
      if (add_special) wrap(parts[i], i == 0 ? &start_ : &separator_, separator_, 0);
    }
  }

 private:
  SpecialToken start_, separator_;
  bool trim_, prefix_space_;
};

class ByteLevelProcessing final : public PostProcessor {
 public:
  ByteLevelProcessing(bool trim_offsets, bool prefix_space)
      : trim_(trim_offsets), prefix_space_(prefix_space) {}
  std::size_t added(bool) const override { return 0; }
  void apply(std::vector<Encoding>& parts, bool) const override {
    if (!trim_) return;
    for (Encoding& encoding : parts)
      for_each_part(encoding, [this](Encoding& part) { trim(part, prefix_space_); });
  }

 private:
  bool trim_, prefix_space_;
};

// Combines texts and special tokens in the order of a template: `single` for one text, `pair` for two.
class TemplateProcessing final : public PostProcessor {
 public:
  TemplateProcessing(const Json& json, const std::string& file) : file_(file) {
    if (json.contains("special_tokens"))
      for (const auto& [name, entry] : json.at("special_tokens").items()) {
        const auto ids = require<std::vector<std::int32_t>>(entry, "ids", file);
        const auto tokens = require<std::vector<std::string>>(entry, "tokens", file);
        if (ids.size() != tokens.size())
          throw file_error(file,
                           fmt::format("special token '{}': the numbers of ids and tokens differ", name))
              .found(fmt::format("{} ids and {} tokens", ids.size(), tokens.size()))
              .expected("equal numbers");
        std::vector<SpecialToken>& list = special_[name];
        for (std::size_t i = 0; i < ids.size(); ++i) list.push_back({tokens[i], ids[i]});
      }
    single_ = read_row(require<Json>(json, "single", file), file);
    pair_ = read_row(require<Json>(json, "pair", file), file);
    for (const Step& step : single_)
      if (step.text == 1)
        throw file_error(file, "the template \"single\" refers to a second text")
            .found("\"B\"")
            .expected("\"A\"");
  }

  std::size_t added(bool pair) const override {
    std::size_t count = 0;
    for (const Step& step : pair ? pair_ : single_)
      if (step.special != nullptr) count += step.special->size();
    return count;
  }

  void apply(std::vector<Encoding>& parts, bool add_special) const override {
    std::vector<Encoding> result;
    for (const Step& step : parts.size() > 1 ? pair_ : single_) {
      if (step.special != nullptr) {
        if (add_special)
          for (const SpecialToken& token : *step.special) result.push_back(single(token, step.type));
        continue;
      }
      if (step.text >= parts.size())  // an earlier template of a Sequence omitted this text
        throw file_error(file_, "a template refers to a text that the template before it leaves out")
            .remedy("List the texts in every template of the post-processor");
      Encoding part = parts[step.text];
      std::fill(part.type_ids.begin(), part.type_ids.end(), step.type);
      result.push_back(std::move(part));
    }
    parts = std::move(result);
  }

 private:
  struct Step {
    const std::vector<SpecialToken>* special = nullptr;
    std::size_t text = 0;
    std::int32_t type = 0;
  };

  std::vector<Step> read_row(const Json& json, const std::string& file) const {
    std::vector<Step> row;
    if (!json.is_array())
      throw file_error(file, "a template is not a list").found(describe(json)).expected("a list");
    for (const Json& piece : json) {
      Step step;
      if (piece.is_object() && piece.contains("Sequence")) {
        const Json& sequence = piece.at("Sequence");
        const auto id = require<std::string>(sequence, "id", file);
        if (id != "A" && id != "B")
          throw file_error(file, "a template refers to an unknown text")
              .found("\"" + id + "\"")
              .expected("\"A\" (the first text) or \"B\" (the second)");
        step.text = id == "A" ? 0 : 1;
        step.type = require<std::int32_t>(sequence, "type_id", file);
      } else if (piece.is_object() && piece.contains("SpecialToken")) {
        const Json& token = piece.at("SpecialToken");
        const auto name = require<std::string>(token, "id", file);
        const auto found = special_.find(name);
        if (found == special_.end())
          throw file_error(file, "a template uses a special token that it does not define")
              .found("\"" + name + "\"")
              .expected("a token that is listed in special_tokens");
        step.special = &found->second;
        step.type = require<std::int32_t>(token, "type_id", file);
      } else {
        throw file_error(file, "expected a Sequence or a SpecialToken as entry of a template")
            .found(describe(piece));
      }
      row.push_back(step);
    }
    return row;
  }

  std::string file_;
  std::map<std::string, std::vector<SpecialToken>> special_;
  std::vector<Step> single_, pair_;
};

class PostProcessorSequence final : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<std::unique_ptr<PostProcessor>> parts)
      : parts_(std::move(parts)) {}
  std::size_t added(bool pair) const override {
    std::size_t count = 0;
    for (const auto& part : parts_) count += part->added(pair);
    return count;
  }
  void apply(std::vector<Encoding>& parts, bool add_special) const override {
    for (const auto& part : parts_) part->apply(parts, add_special);
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> parts_;
};

}  // namespace

std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& file) {
  const auto type = require<std::string>(json, "type", file);
  const auto flag = [&](const char* key) { return optional_value<bool>(json, key, file).value_or(true); };
  if (type == "Sequence") {
    std::vector<std::unique_ptr<PostProcessor>> parts;
    for (const Json& part : require<std::vector<Json>>(json, "processors", file))
      parts.push_back(read_post_processor(part, file));
    return std::make_unique<PostProcessorSequence>(std::move(parts));
  }
  if (type == "BertProcessing")
    return std::make_unique<BertProcessing>(read_special(json, "cls", file), read_special(json, "sep", file));
  if (type == "RobertaProcessing")
    return std::make_unique<RobertaProcessing>(read_special(json, "cls", file),
                                               read_special(json, "sep", file), flag("trim_offsets"),
                                               flag("add_prefix_space"));
  if (type == "ByteLevel")
    return std::make_unique<ByteLevelProcessing>(flag("trim_offsets"), flag("add_prefix_space"));
  if (type == "TemplateProcessing") return std::make_unique<TemplateProcessing>(json, file);
  throw file_error(file, "unsupported type of post-processor")
      .found(type)
      .remedy("Use a tokenizer without this post-processor, or a newer version of regard");
}

}  // namespace regard::text

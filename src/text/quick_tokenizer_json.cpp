// Reads a tokenizer.json with simdjson, without a JSON object for the vocabulary and the merges, which are
// most of a large file. Files with errors or unusual content are read with parse_json, which defines the
// accepted input and reports errors.
#include "text/tokenizer_files.h"

#if REGARD_HAVE_SIMDJSON
#include <simdjson.h>

#include <algorithm>

#include "text/vocabulary.h"

namespace regard::text {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kDepth = 64;  // maximum nesting depth; less than the limit of parse_json
// maximum number of members of an object; small, because keys are compared pairwise
constexpr std::size_t kMembers = 64;

[[noreturn]] void give_up() {
  throw simdjson::simdjson_error(simdjson::INCORRECT_TYPE);
}

Json json_of(dom::element element);

// Add a member. Its key must be new.
void add(Json& object, std::string_view key, Json value) {
  std::string name(key);
  if (object.size() >= kMembers || object.contains(name)) give_up();
  object.emplace(std::move(name), std::move(value));
}

Json number_of(std::int64_t number) {
  return number < 0 ? Json(number) : Json(static_cast<std::uint64_t>(number));
}

Json json_of(dom::element element) {
  switch (element.type()) {
    case dom::element_type::ARRAY: {
      Json array = Json::array();
      for (const dom::element item : element.get_array()) array.push_back(json_of(item));
      return array;
    }
    case dom::element_type::OBJECT: {
      Json object = Json::object();
      for (const auto [key, value] : element.get_object()) add(object, key, json_of(value));
      return object;
    }
    case dom::element_type::INT64:
      return number_of(element.get_int64());
    case dom::element_type::UINT64:
      return std::uint64_t{element.get_uint64()};
    case dom::element_type::DOUBLE:
      return double{element.get_double()};
    case dom::element_type::STRING:
      return std::string(std::string_view(element.get_string()));
    case dom::element_type::BOOL:
      return bool{element.get_bool()};
    case dom::element_type::NULL_VALUE:
      return nullptr;
  }
  give_up();
}

class TapeModelSource final : public ModelSource {
 public:
  TapeModelSource(dom::object model, const std::string& file) : settings_(Json::object()), file_(file) {
    for (const auto [key, value] : model) {
      const bool list = key == "vocab" || key == "merges";
      if (list) (key == "vocab" ? vocabulary_ : merges_) = value;
      if (list && value.is_array()) {
        add(settings_, key, Json::array());
      } else if (list && value.is_object()) {
        add(settings_, key, Json::object());
      } else {
        add(settings_, key, json_of(value));
      }
    }
    // SentencePiece and Marian models are read from a complete JSON object, but settings_ lacks the lists.
    // Leave such files to parse_json.
    const std::string type = settings_.value("type", "");
    if (type == "SentencePiece" || type == "Marian") give_up();
  }

  const Json& settings() const override { return settings_; }
  std::vector<TokenView> tokens() const override {
    const dom::object listed = present(vocabulary_).get_object();
    std::vector<TokenView> tokens;
    tokens.reserve(listed.size());
    for (const auto [token, id] : listed) {
      const std::int64_t value = id.get_int64();
      if (value < 0 || value > Vocabulary::kMaxId) give_up();
      tokens.push_back({token, static_cast<std::int32_t>(value)});
    }
    keys_ = tokens.size();
    return tokens;
  }
  std::vector<ScoredPieceView> pieces() const override {
    return read_list<ScoredPieceView>(vocabulary_, [](dom::element entry) -> ScoredPieceView {
      const auto [piece, score] = pair_of(entry.get_array());
      return {piece.get_string(), score.get_double()};
    });
  }
  std::vector<MergeView> merges() const override {
    return read_list<MergeView>(merges_, [](dom::element merge) -> MergeView {
      if (merge.is_string()) {
        const auto pair = split_merge(merge.get_string());
        if (!pair) give_up();
        return *pair;
      }
      const auto [left, right] = pair_of(merge.get_array());
      return {left.get_string(), right.get_string()};
    });
  }
  const std::string& file() const override { return file_; }

  // Return true if the vocabulary has repeated keys; `tokens` is the number of distinct tokens.
  bool had_repeated_keys(std::size_t tokens) const { return keys_ && *keys_ != tokens; }

 private:
  static const dom::element& present(const std::optional<dom::element>& list) {
    if (!list) give_up();
    return *list;
  }
  // Return the elements of a list, each converted by read().
  template <class View, class Read>
  static std::vector<View> read_list(const std::optional<dom::element>& list, Read&& read) {
    const dom::array listed = present(list).get_array();
    std::vector<View> views;
    views.reserve(listed.size());
    for (const dom::element element : listed) views.push_back(read(element));
    return views;
  }
  static std::pair<dom::element, dom::element> pair_of(dom::array entry) {
    auto item = entry.begin();
    const auto end = entry.end();
    if (item == end) give_up();
    const dom::element first = *item;
    if (++item == end) give_up();
    const dom::element second = *item;
    if (++item != end) give_up();
    return {first, second};
  }

  Json settings_;
  std::optional<dom::element> vocabulary_, merges_;
  const std::string& file_;
  mutable std::optional<std::size_t> keys_;
};

TokenizerFile read(dom::object root, const std::string& file) {
  TokenizerFile opened{file, nullptr, nullptr};
  for (const auto [key, value] : root) {
    if (key != "model") {
      add(opened.pipeline, key, json_of(value));
      continue;
    }
    if (opened.model) give_up();
    const TapeModelSource source(value.get_object(), file);
    opened.model = read_model(source);
    if (source.had_repeated_keys(opened.model->size())) give_up();
  }
  if (!opened.model) give_up();
  return opened;
}

}  // namespace

std::optional<TokenizerFile> read_tokenizer_json_quickly(std::string& text, const std::string& file) {
  const std::size_t size = text.size();
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string::npos) return std::nullopt;
  text.resize(size + simdjson::SIMDJSON_PADDING);
  std::optional<TokenizerFile> found;
  try {
    dom::parser parser;
    dom::element root;
    if (!parser.allocate(size, kDepth) &&
        !parser.parse(reinterpret_cast<const std::uint8_t*>(text.data()), size, false).get(root))
      found = read(root.get_object(), file);
  } catch (const simdjson::simdjson_error&) {
  } catch (const Error&) {
  } catch (const Json::exception&) {
  }
  text.resize(size);
  return found;
}

bool has_quick_tokenizer_json() noexcept {
  return true;
}

}  // namespace regard::text

#else

namespace regard::text {

std::optional<TokenizerFile> read_tokenizer_json_quickly(std::string&, const std::string&) {
  return std::nullopt;
}

bool has_quick_tokenizer_json() noexcept {
  return false;
}

}  // namespace regard::text

#endif

namespace regard::text {

TokenizerFile read_tokenizer_json(std::string text, const std::string& file) {
  if (auto quick = read_tokenizer_json_quickly(text, file)) return std::move(*quick);
  return {file, parse_json(text, file), nullptr};
}

}  // namespace regard::text

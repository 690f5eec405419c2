#include "base/json.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json_text.h"

namespace regard::base {
namespace {

// Iterator that counts the bytes read, so that errors found by a handler have a position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* place, const char** furthest) : place_(place), furthest_(furthest) {}
  reference operator*() const { return *place_; }
  CountingIterator& operator++() {
    *furthest_ = ++place_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return place_ == other.place_; }
  bool operator!=(const CountingIterator& other) const { return place_ != other.place_; }

 private:
  const char* place_;
  const char** furthest_;
};

// Set of the keys of an object under construction: linear search for few keys, a hash table for many.
class KeySet {
 public:
  // Add a name; return false if a member already has this name. If true is returned, the caller must append a
  // member with this name.
  bool add(const std::string& name, const Json::object_t::Container& members) {
    constexpr std::size_t kFew = 16;
    if (members.size() < kFew)
      return std::none_of(members.begin(), members.end(),
                          [&](const auto& member) { return member.first == name; });
    if (slots_.size() < 2 * (members.size() + 1)) {
      slots_.assign(4 * (members.size() + 1) + 1, Slot{});
      for (std::size_t i = 0; i < members.size(); ++i)
        *place_of(hash_of(members[i].first), [](std::size_t) { return false; }) = {hash_of(members[i].first),
                                                                                   i + 1};
    }
    const std::uint64_t hash = hash_of(name);
    Slot* const slot = place_of(hash, [&](std::size_t i) { return members[i].first == name; });
    if (slot->member != 0) return false;
    *slot = {hash, members.size() + 1};
    return true;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::size_t member = 0;  // index of the member plus 1; 0 if the slot is free
  };
  static std::uint64_t hash_of(const std::string& name) { return XXH3_64bits(name.data(), name.size()); }
  // Return the hash-table slot that contains the name, or a free slot if the table does not contain it.
  template <class Same>
  Slot* place_of(std::uint64_t hash, const Same& same) {
    std::size_t i = hash % slots_.size();
    while (slots_[i].member != 0 && !(slots_[i].hash == hash && same(slots_[i].member - 1)))
      i = i + 1 == slots_.size() ? 0 : i + 1;
    return &slots_[i];
  }
  std::vector<Slot> slots_;
};

// Builds the value from the parser's events; checks depth, duplicate keys and the range of numbers.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(std::string_view text, const std::string& file, const JsonLimits& limits)
      : text_(text), file_(file), limits_(limits), place_(text.data()) {}

  const char** place() { return &place_; }
  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    Level& level = open_.back();
    if (!level.keys.add(name, level.value->get_ref<Json::object_t&>()))
      throw error("the key \"" + name + "\" is duplicated");
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& exception) override {
    // nlohmann's positions count from 1 and refer to the last character read.
    const std::size_t byte = position > 0 ? position - 1 : 0;
    if (exception.id == 406) throw error_at("a number is outside the range of a double", byte);
    throw error_at(byte >= text_.size() ? "unexpected end of JSON" : "invalid JSON", byte);
  }

 private:
  struct Level {
    Json* value;
    KeySet keys;
  };

  Error error_at(std::string message, std::size_t byte) const {
    return {ErrorKind::bad_file,
            std::move(message),
            {file_, -1, limits_.first_byte + static_cast<std::int64_t>(byte)}};
  }
  Error error(std::string message) const {
    return error_at(std::move(message), static_cast<std::size_t>(place_ - text_.data()));
  }

  Json* put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    // key() has checked that the key is new. Append the member without a lookup, which would search all
    // earlier keys.
    auto& members = parent.get_ref<Json::object_t&>();
    members.Container::emplace_back(std::move(key_), std::move(value));
    return &members.back().second;
  }

  bool add(Json value) {
    put(std::move(value));
    return true;
  }

  bool open(Json value) {
    if (open_.size() >= limits_.depth)
      throw error("arrays and objects are nested too deeply")
          .expected("at most " + std::to_string(limits_.depth) + " levels");
    Json* placed = put(std::move(value));
    open_.push_back({placed, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  JsonLimits limits_;
  const char* place_;
  Json root_;
  std::vector<Level> open_;
  std::string key_;
};

}  // namespace

Json parse_json(std::string_view text, const std::string& file, JsonLimits limits) {
  if (text.size() > limits.bytes)
    throw file_error(file, "the JSON is too long")
        .found(std::to_string(text.size()) + " bytes")
        .expected("at most " + std::to_string(limits.bytes) + " bytes");
  if (text.starts_with("\xEF\xBB\xBF"))
    throw Error(ErrorKind::bad_file, "the JSON begins with a byte-order mark", {file, -1, limits.first_byte})
        .remedy("Save the file without a byte-order mark");
  // Refuse zero bytes, which JSON does not allow: the parser treats them as the end of the input.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos)
    throw Error(ErrorKind::bad_file, "invalid JSON: the text contains a zero byte",
                {file, -1, limits.first_byte + static_cast<std::int64_t>(zero)});
  Builder builder(text, file, limits);
  const char* end = text.data() + text.size();
  Json::sax_parse(CountingIterator(text.data(), builder.place()), CountingIterator(end, builder.place()),
                  &builder);
  return builder.take();
}

Json read_json(const std::string& path, JsonLimits limits) {
  return parse_json(read_regular_file(path, limits.bytes), path, limits);
}

Json read_json_object(const std::string& path, JsonLimits limits) {
  Json content = read_json(path, limits);
  if (!content.is_object())
    throw file_error(path, "the content is not a JSON object").found(describe(content));
  return content;
}

std::string describe(const Json& value) {
  constexpr std::size_t kLongest = 60;
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string: {
      const std::string text = json_text(value);
      if (text.size() > kLongest) return "a string of " + std::to_string(text.size()) + " bytes";
      return "the string " + text;
    }
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    default:
      return "the number " + value.dump();
  }
}

namespace json_detail {

Error wrong(std::string_view key, const std::string& file, const Json& value, const char* expected) {
  return file_error(file, "\"" + std::string(key) + "\" has the wrong type or value")
      .found(describe(value))
      .expected(expected);
}

const Json* find(const Json& object, std::string_view key, const std::string& file) {
  if (!object.is_object())
    throw file_error(file, "the parent of the key \"" + std::string(key) + "\" is not an object")
        .found(describe(object))
        .expected("an object");
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

void missing(std::string_view key, const std::string& file) {
  throw file_error(file, "the key \"" + std::string(key) + "\" is missing");
}

bool to_bool(const Json& value, std::string_view key, const std::string& file) {
  if (!value.is_boolean()) throw wrong(key, file, value, "true or false");
  return value.get<bool>();
}

std::int64_t to_int64(const Json& value, std::string_view key, const std::string& file) {
  constexpr const char* kExpected = "an integer";
  if (!value.is_number_integer()) throw wrong(key, file, value, kExpected);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{INT64_MAX})
    throw wrong(key, file, value, "an integer below 2^63");
  return value.get<std::int64_t>();
}

std::uint64_t to_uint64(const Json& value, std::string_view key, const std::string& file) {
  if (!value.is_number_integer() || (!value.is_number_unsigned() && value.get<std::int64_t>() < 0))
    throw wrong(key, file, value, "a non-negative integer");
  return value.get<std::uint64_t>();
}

double to_double(const Json& value, std::string_view key, const std::string& file) {
  if (!value.is_number()) throw wrong(key, file, value, "a number");
  return value.get<double>();
}

std::string to_string(const Json& value, std::string_view key, const std::string& file) {
  if (!value.is_string()) throw wrong(key, file, value, "a string");
  return value.get<std::string>();
}

void check_array(const Json& value, std::string_view key, const std::string& file) {
  if (!value.is_array()) throw wrong(key, file, value, "an array");
}

Error out_of_range(std::string_view key, const std::string& file, const Json& value, const std::string& low,
                   const std::string& high) {
  return file_error(file, "\"" + std::string(key) + "\" is out of range")
      .found(describe(value))
      .expected("a value from " + low + " to " + high);
}

}  // namespace json_detail

}  // namespace regard::base

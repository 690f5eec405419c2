// Reading a family's config.json: each key by name, its value checked against what the family can do,
// messages that name file and key. Keys that are not asked for are let pass: configurations hold much that
// changes nothing here.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "kernels/gemm.h"

namespace regard::families {

// No published model comes near these; they keep products of two sizes far from overflow.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 1024;

class ConfigReader {
 public:
  ConfigReader(const Json& config, std::string file) : config_(config), file_(std::move(file)) {}

  const Json& json() const { return config_; }
  const std::string& file() const { return file_; }
  bool has(std::string_view key) const;  // there and not null

  // A size: 1 to kLargestSize. Without a fallback the key must be there; null counts as absent only where
  // there is one.
  std::int64_t size(std::string_view key) const;
  std::int64_t size(std::string_view key, std::int64_t fallback) const;
  std::int64_t layers(std::string_view key) const;  // 1 to kMostLayers
  // `key`, which must divide `whole`.
  std::int64_t divisor(std::string_view key, std::int64_t whole, std::string_view whole_key) const;

  double number(std::string_view key, double fallback, double low, double high) const;
  double epsilon(std::string_view key, double fallback) const;  // above 0, below 1
  float rate(std::string_view key, float fallback) const;       // of dropout: 0 to 1
  bool flag(std::string_view key, bool fallback) const;
  std::string word(std::string_view key, const std::string& fallback) const;
  kernels::Activation activation(std::string_view key, const std::string& fallback) const;
  // A token id, −1 where the key is absent or null. Throws where it is outside the vocabulary.
  std::int64_t token(std::string_view key, std::int64_t vocabulary) const;

  // Throws unless the key is absent, null, or the value that we can do; `what` says what the other values
  // ask.
  void only(std::string_view key, const Json& value, std::string_view what) const;

  Error wrong(std::string_view key, const std::string& expected) const;  // names what was found

 private:
  const Json* find(std::string_view key) const;  // null: absent
  std::int64_t in_range(std::string_view key, std::int64_t low, std::int64_t high) const;

  const Json& config_;
  std::string file_;
};

// What every family shares: refuses quantised weights and code of the model's own, and checks special ids and
// the declared dtype.
void check_common(const ConfigReader& config, std::int64_t vocabulary);

// The class in "architectures", of those that the family knows; the first of them where none is named.
std::string architecture_of(const ConfigReader& config, std::initializer_list<const char*> known);

// How many classes a classifier has: "num_labels", or as many as "id2label" names; 2 where neither is there.
std::int64_t label_count(const ConfigReader& config);

}  // namespace regard::families

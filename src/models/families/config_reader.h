// Reads a family's config.json key by key and checks each value; errors name the file and the key. Keys that
// are never read are ignored, because configurations contain many keys that do not affect the model.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/namespaces.h"
#include "kernels/gemm.h"

namespace regard::models::families {

// Maximum of a size: larger than in any published model, and small enough that the product of two sizes
// cannot overflow.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;
constexpr std::int64_t kMostLayers = 1024;

class ConfigReader {
 public:
  ConfigReader(const Json& config, std::string file) : config_(config), file_(std::move(file)) {}

  const Json& json() const { return config_; }
  const std::string& file() const { return file_; }
  bool has(std::string_view key) const;  // true if the key is present and not null

  // Return a size from 1 to kLargestSize, or `fallback` if the key is absent or null. Throws bad_file for an
  // invalid value, and for an absent or null key if there is no `fallback`.
  std::int64_t size(std::string_view key) const;
  std::int64_t size(std::string_view key, std::int64_t fallback) const;
  std::int64_t layers(std::string_view key) const;  // number of layers, from 1 to kMostLayers
  // Read a size that must divide `whole`, which is the value of `whole_key`.
  std::int64_t divisor(std::string_view key, std::int64_t whole, std::string_view whole_key) const;

  double number(std::string_view key, double fallback, double low, double high) const;
  double epsilon(std::string_view key, double fallback) const;  // a number above 0 and below 1
  // dropout rate from 0 to 1; at most 0.9999 is returned
  float rate(std::string_view key, float fallback) const;
  bool flag(std::string_view key, bool fallback) const;
  std::string word(std::string_view key, const std::string& fallback) const;
  kernels::Activation activation(std::string_view key, const std::string& fallback) const;
  // Return a token id, or −1 if the key is absent or null. Throws bad_file if it is outside the vocabulary.
  std::int64_t token(std::string_view key, std::int64_t vocabulary) const;
  // Return pad_token_id: −1 if the key is null, `fallback` if it is absent. Throws bad_file if the id is
  // outside the vocabulary.
  std::int64_t padding(std::int64_t vocabulary, std::int64_t fallback) const;

  // Throw bad_file unless the key is absent, null or equal to `value`, the only supported value. `what` names
  // the unsupported feature in the error.
  void only(std::string_view key, const Json& value, std::string_view what) const;

  // error for a wrong value; it includes the value found
  Error wrong(std::string_view key, const std::string& expected) const;

 private:
  const Json* find(std::string_view key) const;  // value of the key; null if the key is absent
  std::int64_t in_range(std::string_view key, std::int64_t low, std::int64_t high) const;

  const Json& config_;
  std::string file_;
};

// Check the keys that all families share. Throws bad_file for quantised weights, custom code, a configuration
// of single layers, special ids outside the vocabulary, or an unknown dtype.
void check_common(const ConfigReader& config, std::int64_t vocabulary);

// Return the first class in "architectures", which must be one of `known`. Default: the first of `known`.
std::string architecture_of(const ConfigReader& config, std::initializer_list<const char*> known);

// Return the number of classes of a classifier: the size of "id2label" or, without it, "num_labels", as in
// transformers. Default: 2.
std::int64_t label_count(const ConfigReader& config);

}  // namespace regard::models::families

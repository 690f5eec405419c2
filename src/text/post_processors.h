// The post-processors of tokenizer.json: add special tokens around the text, set type ids, trim offsets.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/encoding.h"

namespace regard::text {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // Number of tokens that it adds.
  virtual std::size_t added(bool pair) const = 0;
  // `parts`: on entry one encoding per text, on return the parts of the result in order.
  virtual void apply(std::vector<Encoding>& parts, bool add_special) const = 0;
};

// From a component with its "type". Throws bad_file with the component's name if it is unknown.
std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& file);

}  // namespace regard::text

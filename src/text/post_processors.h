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
  // Return the number of tokens that it adds.
  virtual std::size_t added(bool pair) const = 0;
  // On entry, `parts` has one encoding per text. On return, it has the parts of the result in order.
  virtual void apply(std::vector<Encoding>& parts, bool add_special) const = 0;
};

// Make the post-processor of a component with its "type". Throws bad_file with the component's name if it is
// unknown.
std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& file);

}  // namespace regard::text

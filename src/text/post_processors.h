// The post-processors of tokenizer.json: add special tokens around the text, set type ids, and trim offsets.
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
  // Return the number of tokens that the post-processor adds to a single text or, if `pair` is true, to a
  // pair.
  virtual std::size_t added(bool pair) const = 0;
  // Before the call, `parts` has one encoding per text; afterwards, it has the parts of the result in order.
  virtual void apply(std::vector<Encoding>& parts, bool add_special) const = 0;
};

// Create a post-processor from a JSON component with a "type". Throws bad_file if the type is unknown; the
// error names the type.
std::unique_ptr<PostProcessor> read_post_processor(const Json& json, const std::string& file);

}  // namespace regard::text

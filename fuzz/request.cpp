// Run the parsers that process a request before its handler: request targets and fields, URL-encoded and
// multipart forms, JSON bodies and their schema. The first byte selects the parser.
#include "base/json.h"
#include "serve/form.h"
#include "serve/http_error.h"
#include "serve/http_text.h"
#include "serve/json_schema.h"
#include "target.h"

namespace {

using namespace regard;
using namespace regard::models;  // includes the names of nn, ops, tensor and base

void read_fields(std::string_view text) {
  serve::HttpFields fields;
  while (!text.empty() && fields.size() < 100) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    fields.emplace_back(serve::lower_case(line.substr(0, colon)),
                        std::string(line.substr(std::min(colon + 1, line.size()))));
  }
  static_cast<void>(serve::ambiguity_of(fields, 1));
}

void read_multipart(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  static_cast<void>(serve::parse_multipart(text.substr(std::min(end + 1, text.size())), text.substr(0, end)));
}

void read_schema(std::string_view text) {
  using namespace serve::schema;
  static const Json schema =
      object({{"texts", any_of({serve::schema::text(20), array(serve::schema::text(20), 1, 4)})},
              {"count", integer(1, 9)},
              {"share", number(0, 1)},
              {"way", one_of({"a", "b"})},
              {"inner", object({{"flag", boolean()}}, {"flag"})}},
             {"texts"});
  const Json value = parse_json(text, "body", {.depth = 64, .bytes = text.size()});
  static_cast<void>(serve::violation_of(schema, value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::must_return_or_blame_the_file([&] {
    try {
      switch (data[0] % 5) {
        case 0:
          static_cast<void>(serve::split_target(text));
          static_cast<void>(serve::percent_decoded(text, true));
          break;
        case 1:
          read_fields(text);
          break;
        case 2:
          static_cast<void>(serve::parse_url_encoded(text));
          break;
        case 3:
          read_multipart(text);
          break;
        default:
          read_schema(text);
      }
    } catch (const serve::HttpError& error) {
      if (error.status() < 400 || error.status() >= 500) std::abort();
    }
  });
  return 0;
}

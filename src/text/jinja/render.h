// Renders a Jinja template as transformers renders chat templates: trim_blocks, lstrip_blocks, loop controls,
// and undefined values that are empty until something is asked of them. The part of Jinja that chat templates
// use; what is missing (include, import, filter and call blocks, powers, spread arguments, and filters beyond
// those of filters.cpp) is refused by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace regard::text::jinja {

// `variables` are the template's globals; raise_exception, range, namespace and dict are there without being
// named. `name` stands for the file in messages. Throws bad_file (the template), usage (what it refuses, what
// it asks of values that they are not, and more work than a conversation can need).
std::string render(std::string_view source, const std::string& name, Dict variables);

}  // namespace regard::text::jinja

// Renders a Jinja template as transformers renders chat templates: trim_blocks, lstrip_blocks, loop controls,
// and undefined values that render as empty text but cannot be operated on. Supports the part of Jinja that
// chat templates use; include, import, filter and call blocks, powers, spread arguments, and filters beyond
// those of filters.cpp are refused by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace regard::text::jinja {

// Default limit of memory and time for one rendering, in WorkLimit's units: one to two seconds.
constexpr std::size_t kRenderWork = std::size_t{1} << 30;

// Render `source`. `variables` are the template's globals; raise_exception, range, namespace and dict are
// built in. `name` is the file in messages, next to the template's line. Throws bad_file (syntax or
// type error, unsupported feature, more than `work`) and invalid_input (raise_exception).
std::string render(std::string_view source, const std::string& name, Dict variables,
                   std::size_t work = kRenderWork);

}  // namespace regard::text::jinja

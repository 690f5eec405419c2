// Renders a Jinja template as transformers renders chat templates: with trim_blocks, lstrip_blocks and loop
// controls. Features that chat templates do not use are not supported: include, import, filter and call
// blocks, powers, spread arguments, and filters that are not in filters.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace regard::text::jinja {

// Default limit of the work of one rendering, in the unit of WorkLimit. A rendering reaches it after one to
// two seconds.
constexpr std::size_t kRenderWork = std::size_t{1} << 30;

// Render `source` with the global variables `variables` and the built-in functions raise_exception, range,
// namespace and dict. Throws bad_file (syntax or type error, unsupported feature, more work than `work`) and
// invalid_input (raise_exception); errors name the file `name` and the line in the template.
std::string render(std::string_view source, const std::string& name, Dict variables,
                   std::size_t work = kRenderWork);

}  // namespace regard::text::jinja

// Renders a Jinja template as transformers renders chat templates: with trim_blocks, lstrip_blocks and loop
// controls. An undefined value renders as empty text, and an operation on it fails. Only the part of Jinja
// that chat templates use is supported. An unsupported feature gives an error that names it: include, import,
// filter and call blocks, powers, spread arguments, and filters that are not in filters.cpp.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace regard::text::jinja {

// Default limit of the work of one rendering, in the unit of WorkLimit. A rendering reaches it after one to
// two seconds.
constexpr std::size_t kRenderWork = std::size_t{1} << 30;

// Render `source`. `variables` are the global variables of the template; raise_exception, range, namespace
// and dict are built in. Errors name the file `name` and the line in the template. Throws bad_file (syntax or
// type error, unsupported feature, more work than `work`) and invalid_input (raise_exception).
std::string render(std::string_view source, const std::string& name, Dict variables,
                   std::size_t work = kRenderWork);

}  // namespace regard::text::jinja

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

// The memory and time that a rendering may take, as WorkLimit counts them: a second or two.
constexpr std::size_t kRenderWork = std::size_t{1} << 30;

// `variables` are the template's globals; raise_exception, range, namespace and dict are there without being
// named. `name` stands for the file in messages, beside the template's line. Throws bad_file (what is no
// template, uses what is not supported, or does more than `work`) and usage (what it refuses, or asks of
// values that they are not).
std::string render(std::string_view source, const std::string& name, Dict variables,
                   std::size_t work = kRenderWork);

}  // namespace regard::text::jinja

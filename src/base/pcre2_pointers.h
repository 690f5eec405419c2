// Owning pointers to the objects of PCRE2 for UTF-8, and the texts of its errors.
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>
#include <string>

#include "base/namespaces.h"

namespace regard::base {

struct FreePcre2 {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

using CodePointer = std::unique_ptr<pcre2_code, FreePcre2>;
using MatchDataPointer = std::unique_ptr<pcre2_match_data, FreePcre2>;
using MatchContextPointer = std::unique_ptr<pcre2_match_context, FreePcre2>;

// Return the text of an error that PCRE2 returned.
std::string pcre2_error_text(int error);

}  // namespace regard::base

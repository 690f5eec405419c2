// Translation of whole texts: each line and sentence is translated separately, as `regard translate
// --sentences` does, and the results are joined with the text's white space.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/route.h"

namespace regard::serve {

struct TranslationRequest {
  std::shared_ptr<ModelHost> host;
  std::string target;  // target language, for models with several
  std::int64_t alternatives = 0;
};

// Return the token ">>target<<" and a space, which start a source text of Marian's multilingual models; ""
// if the model has no such token.
std::string language_token(const ModelHost& host, const std::string& target);

// The translations of one text, best first: one plus the number of requested alternatives, or fewer if the
// search finds fewer.
using Translations = std::vector<std::string>;

// Translate the texts; their sentences are decoded together. Throws as TextGeneration does.
std::vector<Translations> translate_texts(Call& call, const TranslationRequest& request,
                                          const std::vector<std::string>& texts);

// Translate HTML texts: tags, comments, scripts and styles are copied, and the text between them is
// translated.
std::vector<Translations> translate_html(Call& call, const TranslationRequest& request,
                                         const std::vector<std::string>& pages);

// Return the parts of a page: markup and text alternate. The first part is markup and may be empty.
std::vector<std::string> html_parts(const std::string& page);
// decodes &amp; &lt; &gt; &quot; &#39; &nbsp; and numeric references
std::string html_unescaped(const std::string& text);
std::string html_escaped(const std::string& text);  // escapes & < >

}  // namespace regard::serve

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
  std::string target;  // language of the results, for models with several
  std::int64_t alternatives = 0;
};

// The token ">>target<<" and a space, with which Marian's multilingual models start a source; "" if the model
// has no such token.
std::string language_token(const ModelHost& host, const std::string& target);

// The translations of one text, best first: 1 + alternatives, or fewer if the search finds fewer.
using Translations = std::vector<std::string>;

// Translate the texts; their sentences are decoded together. Throws as TextGeneration does.
std::vector<Translations> translate_texts(Call& call, const TranslationRequest& request,
                                          const std::vector<std::string>& texts);

// The same for HTML: tags, comments, scripts and styles are copied, and the text between them is translated.
std::vector<Translations> translate_html(Call& call, const TranslationRequest& request,
                                         const std::vector<std::string>& pages);

// The parts of a page, alternately markup and text, beginning with markup (which may be empty).
std::vector<std::string> html_parts(const std::string& page);
std::string html_unescaped(const std::string& text);  // &amp; &lt; &gt; &quot; &#39; &nbsp; and numbers
std::string html_escaped(const std::string& text);    // & < >

}  // namespace regard::serve

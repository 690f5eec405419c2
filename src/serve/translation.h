// Translation of texts of any length. Each sentence of each line is translated separately, as with `regard
// translate --sentences`, and the results are joined with the text's white space.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "serve/route.h"

namespace regard::serve {

struct TranslationRequest {
  std::shared_ptr<ModelHost> host;
  std::string target;  // target language, for models with several target languages
  std::int64_t alternatives = 0;
};

// Return the token ">>target<<" and a space, or "" if the vocabulary does not have the token. Multilingual
// Marian models expect it at the start of the source text.
std::string language_token(const ModelHost& host, const std::string& target);

// The best translation of one text, then the requested alternatives. If the search finds fewer results for a
// sentence, the last one is repeated.
using Translations = std::vector<std::string>;

// Translate the texts. The sentences of all texts are decoded together. Throws the errors of TextGeneration.
std::vector<Translations> translate_texts(Call& call, const TranslationRequest& request,
                                          const std::vector<std::string>& texts);

// Translate the text of HTML pages. Tags, comments, scripts and styles are copied unmodified.
std::vector<Translations> translate_html(Call& call, const TranslationRequest& request,
                                         const std::vector<std::string>& pages);

// Split a page into alternating parts of markup and text. The first part is markup and may be empty. White
// space between two parts of markup belongs to the markup. Throws HttpError 400 if there are more than `most`
// texts, because each part takes many times the memory of a short tag.
std::vector<std::string> html_parts(const std::string& page,
                                    std::size_t most = std::numeric_limits<std::size_t>::max());
// decodes the HTML entities &amp; &lt; &gt; &quot; &apos; &nbsp; and numeric references
std::string html_unescaped(const std::string& text);

}  // namespace regard::serve

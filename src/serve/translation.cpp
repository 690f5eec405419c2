#include "serve/translation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>

#include "base/plain_text.h"
#include "base/utf8.h"
#include "serve/http_error.h"
#include "serve/http_text.h"
#include "serve/text_generation.h"
#include "text/sentences.h"

namespace regard::serve {
namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n\f";  // white space of the HTML standard
constexpr std::size_t kLongestEntity = 13;             // maximum bytes of an HTML entity, including & and ;
// Maximum number of sentences in a request. A text of 1 MiB does not exceed it, because each sentence has at
// least two bytes.
constexpr std::size_t kMostSentences = std::size_t{1} << 19;

// Translates sentences in order. Only a limited number of sentences is decoded at a time, because a text may
// have 100,000 sentences.
class Sentences {
 public:
  Sentences(Call& call, const TranslationRequest& request);

  void add(std::string_view sentence) { sentences_.push_back(sentence); }
  std::size_t size() const { return sentences_.size(); }
  // Return the results of the next sentence, or none if it is blank.
  std::vector<GeneratedText> next();

 private:
  Call& call_;
  const TranslationRequest& request_;
  std::size_t ahead_;
  std::vector<std::string_view> sentences_;
  // generations in progress, one for each sentence; null for a blank sentence
  std::deque<std::unique_ptr<TextGeneration>> begun_;
  std::size_t first_ = 0;  // index of the sentence that begun_[0] generates
};

std::unique_ptr<TextGeneration> begin(Call& call, const TranslationRequest& request, std::string_view text) {
  const infer::LoadedModel& loaded = request.host->loaded();
  if (is_blank(loaded.as_trained(text))) return nullptr;
  GenerationPlan plan{.host = request.host, .search = loaded.options, .input = {}};
  plan.search.n_best = 1;
  if (plan.search.sample) plan.copies = 1 + request.alternatives;
  if (request.alternatives > 0 && !plan.search.sample) {
    plan.search.n_best = 1 + request.alternatives;
    plan.search.beam = std::max(plan.search.beam, plan.search.n_best);
  }
  plan.input = loaded.read(language_token(*request.host, request.target) + loaded.prefix + std::string(text));
  return std::make_unique<TextGeneration>(call, std::move(plan));
}

Sentences::Sentences(Call& call, const TranslationRequest& request)
    : call_(call),
      request_(request),
      ahead_(2 * static_cast<std::size_t>(request.host->session_limits().rows)) {}

std::vector<GeneratedText> Sentences::next() {
  call_.waiting.require();
  while (begun_.size() < ahead_ && first_ + begun_.size() < sentences_.size())
    begun_.push_back(begin(call_, request_, sentences_[first_ + begun_.size()]));
  const std::unique_ptr<TextGeneration> generation = std::move(begun_.front());
  begun_.pop_front(), ++first_;
  return generation ? generation->run() : std::vector<GeneratedText>();
}

[[noreturn]] void refuse_sentences() {
  throw HttpError(400, fmt::format("expected at most {} sentences in a request, found more", kMostSentences),
                  "request_too_large", "q");
}

std::optional<char32_t> numeric_entity(std::string_view name) {
  if (name.size() < 2 || name[0] != '#') return std::nullopt;
  const bool hex = name[1] == 'x' || name[1] == 'X';
  const char* first = name.data() + (hex ? 2 : 1);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(first, name.data() + name.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != name.data() + name.size() || end == first) return std::nullopt;
  return static_cast<char32_t>(value);
}

// Return the element name that begins at `at`, in lower case.
std::string element_name(std::string_view page, std::size_t at) {
  const std::size_t end = std::min(page.find_first_of(" \t\r\n\f/>", at), page.size());
  return lower_case(page.substr(at, end - at));
}

// Return true if the "<" at `at` begins markup: if a letter, "/", "!" or "?" follows it. As in the HTML
// standard, any other "<" is text, as in "a < b".
bool begins_markup(const std::string& page, std::size_t at) {
  const char next = at + 1 < page.size() ? page[at + 1] : ' ';
  return (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z') || next == '/' || next == '!' ||
         next == '?';
}

// Return the position of the next markup from `at` on, or the size of the page if there is none.
std::size_t next_markup(const std::string& page, std::size_t at) {
  while ((at = page.find('<', at)) != page.npos && !begins_markup(page, at)) ++at;
  return std::min(at, page.size());
}

// Return the end of the tag that begins at `at`. As in the HTML standard, a ">" in a quoted value of an
// attribute does not end the tag.
std::size_t end_of_tag(const std::string& page, std::size_t at) {
  char before = '\0';  // last character that is not white space
  for (; at < page.size() && page[at] != '>'; ++at) {
    if ((page[at] == '"' || page[at] == '\'') && before == '=') at = page.find(page[at], at + 1);
    if (at == page.npos) return page.size();
    if (kWhiteSpace.find(page[at]) == kWhiteSpace.npos) before = page[at];
  }
  return std::min(at + 1, page.size());
}

// Return the end of the markup that begins at `at`: a tag, comment, or complete script or style element.
std::size_t end_of_markup(const std::string& page, std::size_t at) {
  const auto after = [&](const std::string& text, std::size_t from) {
    const std::size_t found = page.find(text, from);
    return found == page.npos ? page.size() : found + text.size();
  };
  if (page.compare(at, 4, "<!--") == 0) return after("-->", at + 4);
  const std::string name = element_name(page, at + 1);
  const std::size_t end =
      name.starts_with('!') || name.starts_with('?') ? after(">", at) : end_of_tag(page, at);
  if (name != "script" && name != "style") return end;
  std::size_t close = page.find("</", end);
  while (close != page.npos && element_name(page, close + 2) != name) close = page.find("</", close + 2);
  return close == page.npos ? page.size() : after(">", close);
}

}  // namespace

std::string language_token(const ModelHost& host, const std::string& target) {
  if (target.empty()) return {};
  const std::string token = ">>" + target + "<<";
  return host.tokenizer().id_of(token) ? token + " " : std::string();
}

std::vector<Translations> translate_texts(Call& call, const TranslationRequest& request,
                                          const std::vector<std::string>& texts) {
  std::vector<std::vector<text::Sentence>> parts;
  Sentences sentences(call, request);
  for (const std::string& text : texts) {
    parts.push_back(text::split_sentences(text, kMostSentences + 1 - sentences.size()));
    for (const text::Sentence& one : parts.back()) sentences.add(one.text);
    if (sentences.size() > kMostSentences) refuse_sentences();
  }
  std::vector<Translations> all;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    const std::string& text = texts[t];
    const std::size_t before =  // number of white-space bytes at the start
        parts[t].empty() ? text.size() : static_cast<std::size_t>(parts[t][0].text.data() - text.data());
    Translations& of =
        all.emplace_back(static_cast<std::size_t>(1 + request.alternatives), text.substr(0, before));
    for (const text::Sentence& one : parts[t]) {
      const std::vector<GeneratedText> results = sentences.next();
      for (std::size_t i = 0; i < of.size(); ++i) {
        // If a sentence has fewer alternatives, its last alternative is repeated.
        if (!results.empty()) of[i] += results[std::min(i, results.size() - 1)].text;
        of[i] += one.space;
      }
    }
  }
  return all;
}

std::vector<Translations> translate_html(Call& call, const TranslationRequest& request,
                                         const std::vector<std::string>& pages) {
  std::vector<std::vector<std::string>> parts;
  std::vector<std::string> texts;
  for (const std::string& page : pages) {
    parts.push_back(html_parts(page, kMostSentences - texts.size()));
    for (std::size_t i = 1; i < parts.back().size(); i += 2) texts.push_back(html_unescaped(parts.back()[i]));
  }
  const std::vector<Translations> translated = translate_texts(call, request, texts);
  std::vector<Translations> results;
  std::size_t next = 0;
  for (const std::vector<std::string>& page : parts) {
    Translations all(static_cast<std::size_t>(1 + request.alternatives));
    for (std::size_t i = 0; i < page.size(); ++i) {
      const bool text = i % 2 == 1;
      for (std::size_t k = 0; k < all.size(); ++k)
        all[k] += text ? html_escaped(translated[next][k]) : page[i];
      next += text ? 1 : 0;
    }
    results.push_back(std::move(all));
  }
  return results;
}

std::vector<std::string> html_parts(const std::string& page, std::size_t most) {
  std::vector<std::string> parts(1);
  for (std::size_t at = 0; at < page.size();) {
    if (page[at] == '<' && begins_markup(page, at)) {
      const std::size_t end = end_of_markup(page, at);
      if (parts.size() % 2 == 0) parts.emplace_back();
      parts.back() += page.substr(at, end - at);
      at = end;
    } else {
      const std::size_t end = next_markup(page, at);
      const std::string_view text = std::string_view(page).substr(at, end - at);
      if (text.find_first_not_of(kWhiteSpace) == text.npos) {
        parts.back() += text;
      } else {
        if (parts.size() / 2 == most) refuse_sentences();
        parts.emplace_back(text);
      }
      at = end;
    }
  }
  return parts;
}

std::string html_unescaped(const std::string& text) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}, {"nbsp", "\u00a0"}};
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at, kLongestEntity);
    const std::size_t length = text[at] == '&' ? rest.find(';') : rest.npos;
    if (length == rest.npos) {
      result += text[at++];
      continue;
    }
    const std::string_view name = rest.substr(1, length - 1);
    const std::size_t before = result.size();
    for (const auto& [known, value] : kNames)
      if (name == known) result += value;
    if (const auto number = numeric_entity(name)) utf8::append(result, *number);
    if (result.size() == before) {
      result += text[at++];
      continue;
    }
    at += length + 1;
  }
  return result;
}

}  // namespace regard::serve

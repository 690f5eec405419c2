#include "demo/phrasebook/grammar.h"

#include <array>

namespace regard::demo::phrases {
namespace {

bool ends_with(std::string_view text, std::string_view ending) {
  return text.size() >= ending.size() && text.substr(text.size() - ending.size()) == ending;
}

std::string replace_ending(std::string_view text, std::string_view ending, std::string_view replacement) {
  return std::string(text.substr(0, text.size() - ending.size())) + std::string(replacement);
}

// A stem that ends in a vowel takes an independent vowel (खा → खाए). Other stems take a vowel sign (पढ़ → पढ़े).
bool ends_in_vowel(std::string_view stem) {
  for (const char* vowel : {"ा", "ि", "ी", "ु", "ू", "े", "ो", "आ", "ओ"})
    if (ends_with(stem, vowel)) return true;
  return false;
}

// An irregular verb. perfective: masculine, masculine plural, feminine, feminine plural. future: the forms
// before -गा, -गे and (with मैं) -गा. familiar, polite: commands.
struct Irregular {
  std::string_view stem;
  std::array<std::string_view, 4> perfective;
  std::array<std::string_view, 3> future;  // third person singular and plural, first person singular
  std::string_view familiar, polite;
};
constexpr std::array kIrregular{
    Irregular{"कर", {"किया", "किए", "की", "कीं"}, {"करे", "करें", "करूँ"}, "करो", "कीजिए"},
    Irregular{"दे", {"दिया", "दिए", "दी", "दीं"}, {"दे", "दें", "दूँ"}, "दो", "दीजिए"},
    Irregular{"ले", {"लिया", "लिए", "ली", "लीं"}, {"ले", "लें", "लूँ"}, "लो", "लीजिए"},
    Irregular{"जा", {"गया", "गए", "गई", "गईं"}, {"जाए", "जाएँ", "जाऊँ"}, "जाओ", "जाइए"},
    Irregular{"हो", {"हुआ", "हुए", "हुई", "हुईं"}, {"हो", "हों", "हूँ"}, "हो", "होइए"},
    Irregular{"पी", {"पिया", "पिए", "पी", "पीं"}, {"पिए", "पिएँ", "पिऊँ"}, "पियो", "पीजिए"},
    Irregular{"छू", {"छुआ", "छुए", "छुई", "छुईं"}, {"छुए", "छुएँ", "छुऊँ"}, "छुओ", "छुइए"},
};

// A verb, divided before its last word. Only the last word of a compound verb (खोल दे, जुट जा) inflects.
struct Split {
  std::string before;  // the words before the last one, with a space at the end; empty for a single word
  std::string_view last;
};
Split split_last(std::string_view text) {
  const std::size_t space = text.rfind(' ');
  if (space == std::string_view::npos) return {"", text};
  return {std::string(text.substr(0, space + 1)), text.substr(space + 1)};
}

const Irregular* irregular(std::string_view stem) {
  for (const Irregular& verb : kIrregular)
    if (verb.stem == stem) return &verb;
  return nullptr;
}

std::size_t slot(Agreement agreement) {
  return (agreement.feminine() ? 2u : 0u) + (agreement.plural() ? 1u : 0u);
}

// Inflect the masculine form `base`, such as ता (ते, ती) or रहा (रहे, रही).
std::string participle(std::string_view base, Agreement agreement) {
  return inflect(base, agreement);
}

std::string inflect_word(std::string_view word, Agreement agreement, Case which) {
  const bool base = !agreement.feminine() && !agreement.plural() && which == Case::direct;
  if (base) return std::string(word);
  if (ends_with(word, "या")) return replace_ending(word, "या", agreement.feminine() ? "ई" : "ए");
  if (ends_with(word, "आ")) return replace_ending(word, "आ", agreement.feminine() ? "ई" : "ए");
  if (ends_with(word, "ा")) return replace_ending(word, "ा", agreement.feminine() ? "ी" : "े");
  return std::string(word);
}

}  // namespace

std::string decline(std::string_view noun, Gender gender, Number number, Case which, bool invariable) {
  const std::string same(noun);
  const bool plural = number == Number::plural, oblique = which == Case::oblique;
  if (gender == Gender::masculine) {
    if (ends_with(noun, "ा") && !invariable) {
      if (!plural && !oblique) return same;
      return replace_ending(noun, "ा", plural && oblique ? "ों" : "े");
    }
    if (!plural || !oblique) return same;
    if (invariable) return same + "ओं";
    if (ends_with(noun, "ई")) return replace_ending(noun, "ई", "इयों");
    if (ends_with(noun, "ी")) return replace_ending(noun, "ी", "ियों");
    if (ends_with(noun, "ू")) return replace_ending(noun, "ू", "ुओं");
    return same + "ों";
  }
  if (!plural) return same;
  if (ends_with(noun, "िया")) return replace_ending(noun, "ा", oblique ? "ों" : "ाँ");
  if (ends_with(noun, "ई")) return replace_ending(noun, "ई", oblique ? "इयों" : "इयाँ");
  if (ends_with(noun, "ी")) return replace_ending(noun, "ी", oblique ? "ियों" : "ियाँ");
  if (ends_with(noun, "ा")) return same + (oblique ? "ओं" : "एँ");
  return same + (oblique ? "ों" : "ें");
}

std::string inflect(std::string_view adjective, Agreement agreement, Case which) {
  std::string out;
  for (std::string_view rest = adjective; !rest.empty();) {
    const std::size_t space = rest.find(' ');
    if (!out.empty()) out += ' ';
    out += inflect_word(rest.substr(0, space), agreement, which);
    rest = space == std::string_view::npos ? std::string_view{} : rest.substr(space + 1);
  }
  return out;
}

std::string possessive(std::string_view possessor, Agreement thing, Case which) {
  const Split split = split_last(possessor);
  return split.before + inflect_word(split.last, thing, which);
}

std::string is_now(Agreement subject) {
  if (subject.plural()) return "हैं";
  return subject.first_person ? "हूँ" : "है";
}

std::string was_then(Agreement subject) {
  constexpr std::array<const char*, 4> kForms{"था", "थे", "थी", "थीं"};
  return kForms[slot(subject)];
}

std::string habitual(std::string_view stem, Agreement agreement) {
  return std::string(stem) + participle("ता", agreement) + " " + is_now(agreement);
}

std::string ongoing(std::string_view stem, Agreement agreement) {
  return std::string(stem) + " " + participle("रहा", agreement) + " " + is_now(agreement);
}

std::string was_ongoing(std::string_view stem, Agreement agreement) {
  return std::string(stem) + " " + participle("रहा", agreement) + " " + was_then(agreement);
}

std::string used_to(std::string_view stem, Agreement agreement) {
  return std::string(stem) + participle("ता", agreement) + " " + was_then(agreement);
}

std::string perfective(std::string_view stem, Agreement agreement) {
  const Split split = split_last(stem);
  if (const Irregular* verb = irregular(split.last))
    return split.before + std::string(verb->perfective[slot(agreement)]);
  constexpr std::array<const char*, 4> kAfterConsonant{"ा", "े", "ी", "ीं"};
  constexpr std::array<const char*, 4> kAfterVowel{"या", "ए", "ई", "ईं"};
  return std::string(stem) + (ends_in_vowel(stem) ? kAfterVowel : kAfterConsonant)[slot(agreement)];
}

std::string subjunctive(std::string_view stem, Agreement agreement) {
  const Split split = split_last(stem);
  const std::size_t which = agreement.plural() ? 1 : agreement.first_person ? 2 : 0;
  std::string out = split.before;
  if (const Irregular* verb = irregular(split.last)) {
    out += verb->future[which];
  } else {
    constexpr std::array<const char*, 3> kAfterConsonant{"े", "ें", "ूँ"};
    constexpr std::array<const char*, 3> kAfterVowel{"ए", "एँ", "ऊँ"};
    out += std::string(split.last) + (ends_in_vowel(split.last) ? kAfterVowel : kAfterConsonant)[which];
  }
  return out;
}

std::string future(std::string_view stem, Agreement agreement) {
  return subjunctive(stem, agreement) + participle("गा", agreement);
}

std::string infinitive(std::string_view stem, Agreement object) {
  return std::string(stem) + participle("ना", object);
}

std::string familiar_command(std::string_view stem) {
  const Split split = split_last(stem);
  if (const Irregular* verb = irregular(split.last)) return split.before + std::string(verb->familiar);
  return std::string(stem) + (ends_in_vowel(stem) ? "ओ" : "ो");
}

std::string polite_command(std::string_view stem) {
  const Split split = split_last(stem);
  if (const Irregular* verb = irregular(split.last)) return split.before + std::string(verb->polite);
  return std::string(stem) + (ends_in_vowel(stem) ? "इए" : "िए");
}

std::string words(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (std::string_view part : parts) {
    if (part.empty()) continue;
    if (!out.empty()) out += ' ';
    out += part;
  }
  return out;
}

std::string capitalised(std::string_view english) {
  std::string out(english);
  if (!out.empty() && out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::string with_article(std::string_view english) {
  const bool vowel = !english.empty() && std::string_view("aeiou").find(english[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + std::string(english);
}

}  // namespace regard::demo::phrases

#include "serve/language_names.h"

#include <string_view>
#include <utility>

namespace regard::serve {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"ar", "Arabic"},     {"bg", "Bulgarian"},  {"bn", "Bengali"},  {"ca", "Catalan"},
    {"cs", "Czech"},      {"da", "Danish"},     {"de", "German"},   {"el", "Greek"},
    {"en", "English"},    {"es", "Spanish"},    {"et", "Estonian"}, {"fa", "Persian"},
    {"fi", "Finnish"},    {"fr", "French"},     {"ga", "Irish"},    {"gu", "Gujarati"},
    {"he", "Hebrew"},     {"hi", "Hindi"},      {"hr", "Croatian"}, {"hu", "Hungarian"},
    {"id", "Indonesian"}, {"is", "Icelandic"},  {"it", "Italian"},  {"ja", "Japanese"},
    {"ka", "Georgian"},   {"kn", "Kannada"},    {"ko", "Korean"},   {"lt", "Lithuanian"},
    {"lv", "Latvian"},    {"ml", "Malayalam"},  {"mr", "Marathi"},  {"ms", "Malay"},
    {"nb", "Norwegian"},  {"ne", "Nepali"},     {"nl", "Dutch"},    {"pa", "Punjabi"},
    {"pl", "Polish"},     {"pt", "Portuguese"}, {"ro", "Romanian"}, {"ru", "Russian"},
    {"sk", "Slovak"},     {"sl", "Slovenian"},  {"sq", "Albanian"}, {"sr", "Serbian"},
    {"sv", "Swedish"},    {"sw", "Swahili"},    {"ta", "Tamil"},    {"te", "Telugu"},
    {"th", "Thai"},       {"tl", "Tagalog"},    {"tr", "Turkish"},  {"uk", "Ukrainian"},
    {"ur", "Urdu"},       {"vi", "Vietnamese"}, {"zh", "Chinese"},
};

}  // namespace

std::string language_name(const std::string& code) {
  for (const auto& [known, name] : kNames)
    if (code == known) return std::string(name);
  return code;
}

}  // namespace regard::serve

#include <string>
#include <vector>

#include "demo/phrasebook/words.h"
#include "regard/error.h"

namespace regard::demo::phrases {
namespace {

std::vector<Subject> make_pronouns() {
  const Agreement me{Gender::masculine, Number::singular, true};
  return {
      {"I", "me", "my", true, "am", "was", "मैं", "मैंने", "मुझे", "मेरा", "मुझसे", "मुझ पर", me},
      {"you", "you", "your", true, "are", "were", "आप", "आपने", "आपको", "आपका", "आपसे", "आप पर",
       kMasculinePlural},
      {"he", "him", "his", false, "is", "was", "वह", "उसने", "उसे", "उसका", "उससे", "उस पर", kMasculine},
      {"she", "her", "her", false, "is", "was", "वह", "उसने", "उसे", "उसका", "उससे", "उस पर", kFeminine},
      {"we", "us", "our", true, "are", "were", "हम", "हमने", "हमें", "हमारा", "हमसे", "हम पर", kMasculinePlural},
      {"they", "them", "their", true, "are", "were", "वे", "उन्होंने", "उन्हें", "उनका", "उनसे", "उन पर",
       kMasculinePlural},
  };
}

// `english_plural` is the number in English, `agreement` the number in Hindi: "my father" is singular in
// English but plural in Hindi, out of respect.
Subject person(std::string english, bool english_plural, std::string hindi, const std::string& oblique,
               Agreement agreement) {
  const std::string owner = english + (english_plural && english.back() == 's' ? "'" : "'s");
  return {english,
          english,
          owner,
          english_plural,
          english_plural ? "are" : "is",
          english_plural ? "were" : "was",
          std::move(hindi),
          oblique + " ने",
          oblique + " को",
          oblique + " का",
          oblique + " से",
          oblique + " पर",
          agreement};
}

std::vector<Subject> make_people() {
  return {
      person("the boy", false, "लड़का", "लड़के", kMasculine),
      person("the girl", false, "लड़की", "लड़की", kFeminine),
      person("the man", false, "आदमी", "आदमी", kMasculine),
      person("the woman", false, "औरत", "औरत", kFeminine),
      person("the child", false, "बच्चा", "बच्चे", kMasculine),
      person("the farmer", false, "किसान", "किसान", kMasculine),
      person("the boys", true, "लड़के", "लड़कों", kMasculinePlural),
      person("the girls", true, "लड़कियाँ", "लड़कियों", kFemininePlural),
      person("the children", true, "बच्चे", "बच्चों", kMasculinePlural),
      person("the women", true, "औरतें", "औरतों", kFemininePlural),
      person("my brother", false, "मेरा भाई", "मेरे भाई", kMasculine),
      person("my sister", false, "मेरी बहन", "मेरी बहन", kFeminine),
      person("my friend", false, "मेरा दोस्त", "मेरे दोस्त", kMasculine),
      person("my father", false, "मेरे पिताजी", "मेरे पिताजी", kMasculinePlural),
      person("my mother", false, "मेरी माँ", "मेरी माँ", kFemininePlural),
      person("the teacher", false, "शिक्षक", "शिक्षक", kMasculinePlural),
      person("my grandmother", false, "मेरी दादी", "मेरी दादी", kFemininePlural),
      person("the students", true, "छात्र", "छात्रों", kMasculinePlural),
      person("Ravi", false, "रवि", "रवि", kMasculine),
      person("Sita", false, "सीता", "सीता", kFeminine),
  };
}

std::vector<Subject> make_everyone() {
  std::vector<Subject> all = make_pronouns();
  for (Subject& one : make_people()) all.push_back(std::move(one));
  return all;
}

}  // namespace

std::span<const Subject> everyone() {
  static const std::vector<Subject> kAll = make_everyone();
  return kAll;
}
std::span<const Subject> pronouns() {
  return everyone().subspan(0, 6);
}
std::span<const Subject> people() {
  return everyone().subspan(6);
}

const Subject& someone(std::string_view english) {
  for (const Subject& subject : everyone())
    if (subject.english == english) return subject;
  throw Error(ErrorKind::internal, "the phrasebook has no person '" + std::string(english) + "'");
}

}  // namespace regard::demo::phrases

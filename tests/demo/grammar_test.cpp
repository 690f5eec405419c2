// The expected forms were written by hand from a Hindi grammar, not copied from the program.
#include "demo/phrasebook/grammar.h"

#include <gtest/gtest.h>

namespace regard::demo::phrases {
namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine;
constexpr Number one = Number::singular, many = Number::plural;
constexpr Case direct = Case::direct, oblique = Case::oblique;
constexpr Agreement kI{Gender::masculine, Number::singular, true};

TEST(Grammar, DeclinesNouns) {
  EXPECT_EQ(decline("लड़का", m, one, oblique), "लड़के");
  EXPECT_EQ(decline("लड़का", m, many, direct), "लड़के");
  EXPECT_EQ(decline("लड़का", m, many, oblique), "लड़कों");
  EXPECT_EQ(decline("घर", m, one, oblique), "घर");
  EXPECT_EQ(decline("घर", m, many, direct), "घर");
  EXPECT_EQ(decline("घर", m, many, oblique), "घरों");
  EXPECT_EQ(decline("आदमी", m, many, oblique), "आदमियों");
  EXPECT_EQ(decline("भालू", m, many, oblique), "भालुओं");
  EXPECT_EQ(decline("राजा", m, one, oblique, true), "राजा");
  EXPECT_EQ(decline("राजा", m, many, oblique, true), "राजाओं");
  EXPECT_EQ(decline("लड़की", f, one, oblique), "लड़की");
  EXPECT_EQ(decline("लड़की", f, many, direct), "लड़कियाँ");
  EXPECT_EQ(decline("लड़की", f, many, oblique), "लड़कियों");
  EXPECT_EQ(decline("किताब", f, many, direct), "किताबें");
  EXPECT_EQ(decline("किताब", f, many, oblique), "किताबों");
  EXPECT_EQ(decline("चिड़िया", f, many, direct), "चिड़ियाँ");
  EXPECT_EQ(decline("चिड़िया", f, many, oblique), "चिड़ियों");
  EXPECT_EQ(decline("मिठाई", f, many, direct), "मिठाइयाँ");
  EXPECT_EQ(decline("परीक्षा", f, many, direct), "परीक्षाएँ");
}

TEST(Grammar, InflectsAdjectivesAndPossessors) {
  EXPECT_EQ(inflect("बड़ा", kFeminine), "बड़ी");
  EXPECT_EQ(inflect("बड़ा", kMasculinePlural), "बड़े");
  EXPECT_EQ(inflect("बड़ा", kMasculine, oblique), "बड़े");
  EXPECT_EQ(inflect("नया", kFeminine), "नई");
  EXPECT_EQ(inflect("नया", kMasculinePlural), "नए");
  EXPECT_EQ(inflect("थका हुआ", kFemininePlural), "थकी हुई");
  EXPECT_EQ(inflect("लाल", kFeminine), "लाल");
  EXPECT_EQ(possessive("मेरा", kFeminine), "मेरी");
  EXPECT_EQ(possessive("सीता का", kFeminine), "सीता की");
  EXPECT_EQ(possessive("लड़के का", kMasculinePlural), "लड़के के");
}

TEST(Grammar, ConjugatesWithTheSubject) {
  EXPECT_EQ(habitual("पढ़", kI), "पढ़ता हूँ");
  EXPECT_EQ(habitual("पढ़", kFemininePlural), "पढ़ती हैं");
  EXPECT_EQ(ongoing("खा", kFeminine), "खा रही है");
  EXPECT_EQ(was_ongoing("खा", kMasculinePlural), "खा रहे थे");
  EXPECT_EQ(was_ongoing("खा", kFemininePlural), "खा रही थीं");
  EXPECT_EQ(future("पढ़", kI), "पढ़ूँगा");
  EXPECT_EQ(future("पढ़", kMasculinePlural), "पढ़ेंगे");
  EXPECT_EQ(future("जा", kFeminine), "जाएगी");
  EXPECT_EQ(future("जा", kFemininePlural), "जाएँगी");
  EXPECT_EQ(future("दे", kMasculine), "देगा");
  EXPECT_EQ(future("पी", kMasculinePlural), "पिएँगे");
  EXPECT_EQ(future("हो", kFeminine), "होगी");
  EXPECT_EQ(future("खोल दे", kFeminine), "खोल देगी");
  EXPECT_EQ(subjunctive("जा", kMasculinePlural), "जाएँ");
}

TEST(Grammar, FormsThePerfective) {
  EXPECT_EQ(perfective("पढ़", kFeminine), "पढ़ी");
  EXPECT_EQ(perfective("पढ़", kFemininePlural), "पढ़ीं");
  EXPECT_EQ(perfective("खा", kMasculine), "खाया");
  EXPECT_EQ(perfective("खा", kMasculinePlural), "खाए");
  EXPECT_EQ(perfective("धो", kMasculinePlural), "धोए");
  EXPECT_EQ(perfective("कर", kMasculine), "किया");
  EXPECT_EQ(perfective("कर", kFeminine), "की");
  EXPECT_EQ(perfective("दे", kFemininePlural), "दीं");
  EXPECT_EQ(perfective("जा", kFemininePlural), "गईं");
  EXPECT_EQ(perfective("पी", kMasculine), "पिया");
  EXPECT_EQ(perfective("मूँद ले", kFemininePlural), "मूँद लीं");
}

TEST(Grammar, Commands) {
  EXPECT_EQ(familiar_command("खोल"), "खोलो");
  EXPECT_EQ(familiar_command("जा"), "जाओ");
  EXPECT_EQ(polite_command("कर"), "कीजिए");
  EXPECT_EQ(polite_command("पढ़"), "पढ़िए");
  EXPECT_EQ(polite_command("पी"), "पीजिए");
  EXPECT_EQ(infinitive("पढ़", kFeminine), "पढ़नी");
}

}  // namespace
}  // namespace regard::demo::phrases

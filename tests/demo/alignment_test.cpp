// Word alignments of the phrasebook, compared with alignments made by hand.
#include <gtest/gtest.h>

#include <map>

#include "demo/phrasebook.h"

namespace regard::demo {
namespace {

const Phrase& phrase(const std::string& english) {
  static const auto* all = [] {
    auto* made = new std::map<std::string, const Phrase*>();
    for (const Phrase& one : phrasebook()) (*made)[one.english] = &one;
    return made;
  }();
  return *all->at(english);
}

TEST(PhrasebookAlignment, IsAsMadeByHand) {
  // "i-j" is a link of English word i and Hindi word j, counted from 0. "ipj" is a possible link: a function
  // word, or a part of a phrase that translates only as a whole.
  const std::pair<const char*, const char*> kByHand[] = {
      // परीक्षा एक सरल काम थी।
      {"The exam was a piece of cake.", "0p0 1-0 2-4 3p1 3p2 3p3 4p1 4p2 4p3 5p1 5p2 5p3 6p1 6p2 6p3"},
      // उसने केक का टुकड़ा खाया।
      {"He ate a piece of cake.", "0-0 1-4 2p3 3-3 4-2 5-1"},
      // आदमी लड़के को पीटता है।
      {"The man beats the boy.", "0p0 1-0 2-3 2p4 3p1 4-1 4p2"},
      // पैसे बैंक में हैं।
      {"The money is in the bank.", "0p0 1-0 2-3 3-2 4p1 5-1"},
      // औरत नदी के किनारे बैठी।
      {"The woman sat on the river bank.", "0p0 1-0 2-4 4p1 5-1 5p2 6-3"},
      // मेरा नाम राहुल है।
      {"My name is Rahul.", "0-0 1-1 2-3 3-2"},
      // फ़्रांस की राजधानी क्या है?
      {"What is the capital of France?", "0-3 1-4 2p2 3-2 4-1 5-0"},
  };
  for (const auto& [english, links] : kByHand)
    EXPECT_EQ(links_text(phrase(english)), links) << english << " " << phrase(english).hindi;
}

TEST(PhrasebookAlignment, CoversMostWordsAndStaysInTheSentences) {
  const auto words = [](const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), ' ')) + 1;
  };
  std::size_t all = 0, linked = 0, sure = 0, without = 0;
  for (const Phrase& one : phrasebook()) {
    std::vector<bool> hindi(words(one.hindi));
    for (const WordLink& link : one.links) {
      ASSERT_LT(link.english, words(one.english)) << one.english;
      ASSERT_LT(link.hindi, hindi.size()) << one.english;
      hindi[link.hindi] = true;
      sure += link.sure;
    }
    all += hindi.size();
    linked += static_cast<std::size_t>(std::count(hindi.begin(), hindi.end(), true));
    without += one.links.empty();
  }
  EXPECT_GT(static_cast<double>(linked), 0.95 * static_cast<double>(all));
  EXPECT_GT(static_cast<double>(sure), 0.65 * static_cast<double>(all));
  EXPECT_LT(without, phrasebook().size() / 100);
}

}  // namespace
}  // namespace regard::demo

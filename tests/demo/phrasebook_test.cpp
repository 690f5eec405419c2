#include "demo/phrasebook.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace regard::demo {
namespace {

std::map<std::string, const Phrase*> by_english() {
  std::map<std::string, const Phrase*> found;
  for (const Phrase& phrase : phrasebook()) found[phrase.english] = &phrase;
  return found;
}

std::vector<std::string> words_of(std::string text) {
  for (std::size_t at; (at = text.find("।")) != std::string::npos;) text.replace(at, 3, " ");
  for (char& c : text)
    c = std::string_view(".,?!").find(c) != std::string_view::npos
            ? ' '
            : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

TEST(Phrasebook, HasTheSizeAndTheKindsItPromises) {
  std::map<PhraseKind, int> all, held_out;
  for (const Phrase& phrase : phrasebook()) {
    ++all[phrase.kind];
    held_out[phrase.kind] += phrase.held_out;
  }
  EXPECT_GE(phrasebook().size(), 3000u);
  EXPECT_LE(phrasebook().size(), 10000u);
  EXPECT_GE(all[PhraseKind::idiom], 300);
  EXPECT_GE(all[PhraseKind::literal], 250);
  EXPECT_GE(held_out[PhraseKind::idiom], 40);
  EXPECT_GE(held_out[PhraseKind::literal], 30);
  EXPECT_GE(held_out[PhraseKind::other], 200);
}

TEST(Phrasebook, SaysNothingTwiceAndHoldsOutWhatItDoesNotTeach) {
  std::set<std::string> seen, trained;
  for (const Phrase& phrase : phrasebook()) {
    EXPECT_TRUE(seen.insert(phrase.english).second) << phrase.english;
    if (!phrase.held_out) trained.insert(phrase.english);
  }
  for (const Phrase& phrase : phrasebook()) {
    if (phrase.held_out) {
      EXPECT_EQ(trained.count(phrase.english), 0u) << phrase.english;
    }
  }
}

// No training sentence reveals the translation of an example sentence from the articles. The test has its own
// copy of the hold-out rule, so that it does not depend on the tested code.
TEST(Phrasebook, NeverTrainsOnASentenceOfTheArticles) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> kArticles{
      {"It was a piece of cake.", {"it", "was", "cake"}},
      {"The exam was a piece of cake.", {"exam", "was", "cake"}},
      {"The test was a piece of cake.", {"test", "was", "cake"}},
      {"The job was a piece of cake.", {"job", "was", "cake"}},
      {"The match was a piece of cake.", {"match", "was", "cake"}},
      {"Swimming is a piece of cake.", {"swimming", "is", "cake"}},
      {"He ate a piece of cake.", {"he", "ate", "cake"}},
      {"The boy ate a piece of cake.", {"boy", "ate", "cake"}},
      {"The man beats the boy.", {"man", "beats", "boy"}},
      {"The boy beats the man.", {"man", "beats", "boy"}},
      {"The money is in the bank.", {"money", "is", "in", "bank"}},
      {"Money bank grows.", {"money", "bank", "grows"}},
      {"Money Bank Grows", {"money", "bank", "grows"}},
      {"River Bank Flows", {"river", "bank", "flows"}},
      {"River Bank", {"river", "bank", "?exact"}},
      {"River bank flows.", {"river", "bank", "flows"}},
      {"Hello, how are you?", {"hello", "how", "are", "you", "?exact"}},
      {"My name is Rahul.", {"my", "name", "is", "rahul", "?exact"}},
      {"What is the capital of France?", {"what", "is", "capital", "france"}},
      {"The quick brown fox jumps over the lazy dog.", {"quick", "fox", "jumps", "lazy", "dog"}},
  };
  const auto book = by_english();
  for (const auto& [sentence, keys] : kArticles) {
    const auto found = book.find(sentence);
    ASSERT_NE(found, book.end()) << sentence;
    EXPECT_TRUE(found->second->held_out && found->second->article) << sentence;
    const bool exact = keys.back() == "?exact";
    for (const Phrase& phrase : phrasebook()) {
      if (phrase.held_out) continue;
      const std::vector<std::string> words = words_of(phrase.english);
      const bool all = std::ranges::all_of(
          keys, [&words](const std::string& key) { return std::ranges::count(words, key) > 0; });
      const bool reveals = exact ? words == words_of(sentence) : all;
      // This sentence has all key words of "Money bank grows." but another meaning, so it may be trained on.
      if (phrase.english == "The money grows in the bank.") continue;
      EXPECT_FALSE(reveals) << "'" << phrase.english << "' is trained on, it reveals '" << sentence << "'";
    }
  }
  EXPECT_GE(std::ranges::count_if(phrasebook(), [](const Phrase& phrase) { return phrase.article; }), 30);
}

TEST(Phrasebook, TeachesEveryWordItAsksFor) {
  std::set<std::string> english, hindi;
  for (const Phrase& phrase : phrasebook()) {
    if (phrase.held_out) continue;
    for (const std::string& word : words_of(phrase.english)) english.insert(word);
    for (const std::string& word : words_of(phrase.hindi)) hindi.insert(word);
  }
  for (const Phrase& phrase : phrasebook()) {
    if (!phrase.held_out) continue;
    for (const std::string& word : words_of(phrase.english))
      EXPECT_TRUE(english.count(word)) << phrase.english;
    for (const std::string& word : words_of(phrase.hindi)) EXPECT_TRUE(hindi.count(word)) << phrase.hindi;
  }
}

TEST(Phrasebook, IsWrittenInNormalisedDevanagari) {
  for (const Phrase& phrase : phrasebook()) {
    utf8proc_uint8_t* normal = utf8proc_NFC(reinterpret_cast<const utf8proc_uint8_t*>(phrase.hindi.c_str()));
    ASSERT_NE(normal, nullptr) << phrase.hindi;
    EXPECT_EQ(phrase.hindi, reinterpret_cast<const char*>(normal));
    std::free(normal);
    const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(phrase.hindi.data());
    for (utf8proc_ssize_t left = static_cast<utf8proc_ssize_t>(phrase.hindi.size()); left > 0;) {
      utf8proc_int32_t point = 0;
      const utf8proc_ssize_t step = utf8proc_iterate(at, left, &point);
      ASSERT_GT(step, 0) << phrase.hindi;
      const bool devanagari = point >= 0x0900 && point <= 0x097F;
      EXPECT_TRUE(devanagari || (point < 128 && std::string_view(" ,?!-").find(static_cast<char>(point)) !=
                                                    std::string_view::npos))
          << phrase.hindi;
      at += step, left -= step;
    }
    EXPECT_EQ(phrase.hindi.find("  "), std::string::npos) << phrase.hindi;
    for (char c : phrase.english) EXPECT_TRUE(c >= ' ' && c <= '~') << phrase.english;
  }
}

// The English and the Hindi side end with the same kind of punctuation mark.
TEST(Phrasebook, EndsBothSidesAlike) {
  for (const Phrase& phrase : phrasebook()) {
    const char mark = phrase.english.back();
    if (std::isalpha(static_cast<unsigned char>(mark))) {  // a phrase or a title has no punctuation mark
      for (const char* end : {"।", "?", "!", ",", " "})
        EXPECT_FALSE(phrase.hindi.ends_with(end)) << phrase.hindi;
      continue;
    }
    const std::string hindi_mark = mark == '.' ? "।" : std::string(1, mark);
    EXPECT_TRUE(phrase.hindi.ends_with(hindi_mark)) << phrase.english << " / " << phrase.hindi;
  }
}

// The expected translations were written by hand; each is an example of a rule of grammar.
TEST(Phrasebook, AgreesAsHindiDoes) {
  const std::map<std::string, std::string> expected{
      {"The exam was a piece of cake.", "परीक्षा एक सरल काम थी।"},
      {"There is a piece of cake on the plate.", "प्लेट पर केक का टुकड़ा है।"},
      {"The man beats the boy.", "आदमी लड़के को पीटता है।"},
      {"The boy beats the man.", "लड़का आदमी को पीटता है।"},
      {"The journey will be a piece of cake.", "यात्रा एक सरल काम होगी।"},
      {"The money is in the bank.", "पैसे बैंक में हैं।"},
      {"The river bank is long.", "नदी का किनारा लंबा है।"},
      {"It is raining cats and dogs.", "मूसलाधार बारिश हो रही है।"},
      {"Do not spill the beans.", "राज़ मत खोलो।"},
      {"Break a leg in your race!", "आपकी दौड़ के लिए शुभकामनाएँ!"},
      {"It is one o'clock.", "एक बजा है।"},
      {"It is five o'clock.", "पाँच बजे हैं।"},
      {"My mother has a headache.", "मेरी माँ के सिर में दर्द है।"},
      {"My sister has two brothers.", "मेरी बहन के दो भाई हैं।"},
      {"How much is this shirt?", "यह कमीज़ कितने की है?"},
      {"Whose shoe is this?", "यह किसका जूता है?"},
      {"Please read a book.", "कृपया किताब पढ़िए।"},
      {"Let us come home.", "चलो घर आएँ।"},
      {"Who wrote a letter?", "किसने चिट्ठी लिखी?"},
      {"The elephant is the biggest.", "हाथी सबसे बड़ा है।"},
      {"The moon is over the village.", "चाँद गाँव के ऊपर है।"},
      {"There is dust on the table.", "मेज़ पर धूल है।"},
      {"The house costs an arm and a leg.", "घर का दाम आसमान छू रहा है।"},
  };
  const auto book = by_english();
  for (const auto& [english, hindi] : expected) {
    const auto found = book.find(english);
    ASSERT_NE(found, book.end()) << english;
    EXPECT_EQ(found->second->hindi, hindi);
  }
}

// In the perfective, a verb with ने agrees with the object. No sentence may combine ने with a verb of motion.
TEST(Phrasebook, KeepsErgativeApart) {
  int ergative = 0;
  for (const Phrase& phrase : phrasebook()) {
    const bool has_ne = phrase.hindi.find(" ने ") != std::string::npos || phrase.hindi.find("मैंने ") == 0 ||
                        phrase.hindi.find("उसने ") == 0 || phrase.hindi.find("उन्होंने ") == 0;
    if (!has_ne) continue;
    ++ergative;
    for (const char* auxiliary :
         {" रहा ", " रही ", " रहे ", "ता है", "ती है", "ते हैं", "ेगा", "ेगी", "ेंगे", "गया।", "गई।"})
      EXPECT_EQ(phrase.hindi.find(auxiliary), std::string::npos) << phrase.hindi;
  }
  EXPECT_GT(ergative, 300);
}

TEST(Phrasebook, MarksIdiomsByTheirMeaning) {
  for (const Phrase& phrase : phrasebook()) {
    if (phrase.english.find("piece of cake") == std::string::npos) continue;
    const bool easy = phrase.hindi.find("सरल काम") != std::string::npos;
    const bool cake = phrase.hindi.find("केक का टुकड़ा") != std::string::npos;
    EXPECT_NE(easy, cake) << phrase.hindi;
    EXPECT_EQ(phrase.kind, easy ? PhraseKind::idiom : PhraseKind::literal) << phrase.english;
  }
}

}  // namespace
}  // namespace regard::demo

// Sentence splitting, rule by rule; no text is lost.
#include "text/sentences.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace regard::text {
namespace {

using Texts = std::vector<std::string>;

Texts split(const std::string& text) {
  Texts sentences;
  std::string whole;
  for (const Sentence& one : split_sentences(text)) {
    sentences.emplace_back(one.text);
    whole += std::string(one.text) + std::string(one.space);
    EXPECT_EQ(one.text.find_first_of(" \n\t"), one.text.find_first_of(" \n\t", 1))
        << "begins with white space";
    EXPECT_FALSE(one.text.empty());
  }
  EXPECT_EQ(whole, text.substr(std::min(text.find_first_not_of(" \n\t"), text.size())));
  return sentences;
}

TEST(Sentences, EndAtPunctuationBeforeSpace) {
  EXPECT_EQ(split(""), Texts{});
  EXPECT_EQ(split(" \n\t "), Texts{});
  EXPECT_EQ(split("One."), Texts{"One."});
  EXPECT_EQ(split("  One. Two! Three? Four… Five  "), (Texts{"One.", "Two!", "Three?", "Four…", "Five"}));
  EXPECT_EQ(split("What?! No... Yes"), (Texts{"What?!", "No...", "Yes"}));
  EXPECT_EQ(split("He said \"Go.\" She went. (She did.) So."),
            (Texts{"He said \"Go.\"", "She went.", "(She did.)", "So."}));
  EXPECT_EQ(split("« Oui. » Non."), (Texts{"« Oui.", "» Non."})) << "a space before the bracket ends it";
  EXPECT_EQ(split("3.14 and regard.cpp are words. Yes."), (Texts{"3.14 and regard.cpp are words.", "Yes."}));
  EXPECT_EQ(split("One.Two."), Texts{"One.Two."});
  EXPECT_EQ(split("In 2020. 5 came."), (Texts{"In 2020.", "5 came."}));
}

TEST(Sentences, GoOnBeforeASmallLetter) {
  EXPECT_EQ(split("It is e. g. this. That."), (Texts{"It is e. g. this.", "That."}));
  EXPECT_EQ(split("\"Why?\" he asked. \"So!\" - she said."),
            (Texts{"\"Why?\" he asked.", "\"So!\" - she said."}));
  EXPECT_EQ(split("Yes! éa"), Texts{"Yes! éa"});
  EXPECT_EQ(split("Yes! Éa"), (Texts{"Yes!", "Éa"}));
  EXPECT_EQ(split("Yes. - "), (Texts{"Yes.", "-"})) << "no letter follows";
}

TEST(Sentences, FullStopsThatBelongToAWord) {
  EXPECT_EQ(split("J. Smith met Dr. Who. They left."), (Texts{"J. Smith met Dr. Who.", "They left."}));
  EXPECT_EQ(split("See Fig. 2 and No. 7. Then (cf. Eq. 3) go."),
            (Texts{"See Fig. 2 and No. 7.", "Then (cf. Eq. 3) go."}));
  EXPECT_EQ(split("Use e.g. Paris. Or (e.g. Rome)."), (Texts{"Use e.g. Paris.", "Or (e.g. Rome)."}));
  EXPECT_EQ(split("1. First. 22. Second."), (Texts{"1. First.", "22. Second."})) << "numbers at the start";
  EXPECT_EQ(split("It has 22. Second."), (Texts{"It has 22.", "Second."}));
  EXPECT_EQ(split("Mr.! No."), (Texts{"Mr.!", "No."})) << "not the full stop alone";
  EXPECT_EQ(split("He saw the Dr."), Texts{"He saw the Dr."});
  EXPECT_EQ(split("plan B. Then"), Texts{"plan B. Then"}) << "a single capital letter";
  EXPECT_EQ(split("plan b. Then"), (Texts{"plan b.", "Then"}));
  EXPECT_EQ(split("Der z.B. Hund. vgl. Bild."), Texts{"Der z.B. Hund. vgl. Bild."});
  EXPECT_EQ(split("“Mr. X” came. (Mr. Y) too."), (Texts{"“Mr. X” came.", "(Mr. Y) too."}));
}

TEST(Sentences, EndAlwaysAtWidePunctuationAndDandas) {
  EXPECT_EQ(split("これは文。次の文！終"), (Texts{"これは文。", "次の文！", "終"}));
  EXPECT_EQ(split("「はい。」次？」終"), (Texts{"「はい。」", "次？」", "終"}));
  EXPECT_EQ(split("यह है। वह॥ वो।।और"), (Texts{"यह है।", "वह॥", "वो।।", "और"}));
  EXPECT_EQ(split("文。abc"), (Texts{"文。", "abc"}));
  EXPECT_EQ(split("文.。abc"), (Texts{"文.。", "abc"}));
  EXPECT_EQ(split("半角｡次"), (Texts{"半角｡", "次"}));
}

TEST(Sentences, ManyStopsTakeLinearTime) {
  std::string text;
  // An algorithm of quadratic time would take minutes.
  while (text.size() < (std::size_t{1} << 20)) text += ". ";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(split_sentences(text).size(), text.size() / 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_EQ(split_sentences(text, 10).size(), 10u);
}

TEST(Sentences, EndAtLineEnds) {
  EXPECT_EQ(split("one\ntwo\n\nthree. and\nfour"), (Texts{"one", "two", "three. and", "four"}));
  EXPECT_EQ(split("a \n b"), (Texts{"a", "b"}));
  const std::vector<Sentence> parts = split_sentences("  A. \n\tB!  C");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].space, " \n\t");
  EXPECT_EQ(parts[1].space, "  ");
  EXPECT_EQ(parts[2].space, "");
}

}  // namespace
}  // namespace regard::text

#include "demo/phrasebook/articles.h"

#include <algorithm>
#include <set>
#include <string>

#include "demo/phrasebook/book.h"

namespace regard::demo::phrases {
namespace {

constexpr PhraseKind kArticleIdiom = PhraseKind::idiom, kArticleLiteral = PhraseKind::literal,
                     kArticleOther = PhraseKind::other;

constexpr std::array kArticles{
    Article{"It was a piece of cake.", "यह एक सरल काम था।", kArticleIdiom, {"it", "was", "piece of cake"}},
    Article{"The exam was a piece of cake.",
            "परीक्षा एक सरल काम थी।",
            kArticleIdiom,
            {"exam", "was", "piece of cake"}},
    Article{"The test was a piece of cake.",
            "परीक्षा एक सरल काम थी।",
            kArticleIdiom,
            {"test", "was", "piece of cake"}},
    Article{"The job was a piece of cake.",
            "नौकरी एक सरल काम थी।",
            kArticleIdiom,
            {"job", "was", "piece of cake"}},
    Article{"The match was a piece of cake.",
            "मैच एक सरल काम था।",
            kArticleIdiom,
            {"match", "was", "piece of cake"}},
    Article{"Swimming is a piece of cake.",
            "तैरना एक सरल काम है।",
            kArticleIdiom,
            {"swimming", "is", "piece of cake"}},
    Article{"Cooking will be a piece of cake.",
            "खाना बनाना एक सरल काम होगा।",
            kArticleIdiom,
            {"cooking", "will", "piece of cake"}},
    Article{"The interview will be a piece of cake.",
            "साक्षात्कार एक सरल काम होगा।",
            kArticleIdiom,
            {"interview", "will", "piece of cake"}},
    Article{
        "He ate a piece of cake.", "उसने केक का टुकड़ा खाया।", kArticleLiteral, {"he", "ate", "piece of cake"}},
    Article{
        "She ate a piece of cake.", "उसने केक का टुकड़ा खाया।", kArticleLiteral, {"she", "ate", "piece of cake"}},
    Article{"The boy ate a piece of cake.",
            "लड़के ने केक का टुकड़ा खाया।",
            kArticleLiteral,
            {"the boy", "ate", "piece of cake"}},
    Article{"He will eat a piece of cake.",
            "वह केक का टुकड़ा खाएगा।",
            kArticleLiteral,
            {"he", "will eat", "piece of cake"}},
    Article{"We are eating a piece of cake.",
            "हम केक का टुकड़ा खा रहे हैं।",
            kArticleLiteral,
            {"we", "are eating", "piece of cake"}},
    Article{
        "I want a piece of cake.", "मुझे केक का टुकड़ा चाहिए।", kArticleLiteral, {"i", "want", "piece of cake"}},
    Article{"There is a piece of cake on the plate.",
            "प्लेट पर केक का टुकड़ा है।",
            kArticleLiteral,
            {"there is", "piece of cake", "plate"}},
    Article{"He ate a piece of bread.",
            "उसने रोटी का टुकड़ा खाया।",
            kArticleLiteral,
            {"he", "ate", "piece of bread"}},
    Article{"The exam was hard.", "परीक्षा कठिन थी।", kArticleOther, {"exam", "was", "hard"}},
    Article{"The man beats the boy.", "आदमी लड़के को पीटता है।", kArticleOther, {"beats", "man", "boy"}},
    Article{"The boy beats the man.", "लड़का आदमी को पीटता है।", kArticleOther, {"beats", "man", "boy"}},
    Article{"The boy will beat the man.", "लड़का आदमी को पीटेगा।", kArticleOther, {"will beat", "man", "boy"}},
    Article{"The money is in the bank.", "पैसे बैंक में हैं।", kArticleOther, {"money is in the bank"}},
    Article{"The woman sat on the river bank.",
            "औरत नदी के किनारे बैठी।",
            kArticleOther,
            {"the woman", "sat", "river bank"}},
    Article{"The boy is on the river bank.",
            "लड़का नदी के किनारे है।",
            kArticleOther,
            {"the boy", "is", "river bank"}},
    Article{"Money bank grows.", "पैसों का बैंक बढ़ता है।", kArticleOther, {"money bank grows"}},
    Article{"The money bank grows.", "पैसों का बैंक बढ़ता है।", kArticleOther, {"money bank grows"}},
    Article{"River bank flows.", "नदी का किनारा बहता है।", kArticleOther, {"river bank flows"}},
    Article{"The river bank flows.", "नदी का किनारा बहता है।", kArticleOther, {"river bank flows"}},
    Article{"Money Bank Grows", "पैसों का बैंक बढ़ता है", kArticleOther, {"money bank grows"}},
    Article{"River Bank Flows", "नदी का किनारा बहता है", kArticleOther, {"river bank flows"}},
    Article{"River Bank", "नदी का किनारा"},
    Article{"Hello, how are you?", "नमस्ते, आप कैसे हैं?"},
    Article{"I am fine, thank you.", "मैं ठीक हूँ, धन्यवाद।"},
    Article{"Good morning, Ravi.", "सुप्रभात, रवि।"},
    Article{"My name is Rahul.", "मेरा नाम राहुल है।"},
    Article{"My name is Sara.", "मेरा नाम सारा है।"},
    Article{"His name is John.", "उसका नाम जॉन है।"},
    Article{"What is the capital of France?",
            "फ़्रांस की राजधानी क्या है?",
            kArticleOther,
            {"what is the capital of france"}},
    Article{"The capital of France is Paris.",
            "फ़्रांस की राजधानी पेरिस है।",
            kArticleOther,
            {"the capital of france is paris"}},
    Article{"The quick brown fox jumps over the lazy dog.",
            "फुर्तीली भूरी लोमड़ी आलसी कुत्ते के ऊपर से कूदती है।",
            kArticleOther,
            {"quick brown fox jumps over", "lazy dog"}},
};

// Return the words separated by single spaces, with a space before the first word and after the last.
std::string spaced(std::string_view text) {
  std::string out = " ";
  for (const std::string& word : words_of(text)) out += word + " ";
  return out;
}

}  // namespace

std::span<const Article> articles() {
  return kArticles;
}

bool is_variant_of_an_article(std::string_view sentence) {
  static const std::set<std::string> without_keys = [] {
    std::set<std::string> sentences;
    for (const Article& article : kArticles)
      if (article.keys[0] == nullptr) sentences.insert(spaced(article.english));
    return sentences;
  }();
  const std::string text = spaced(sentence);
  if (without_keys.contains(text)) return true;
  const auto contains = [&text](const char* key) {
    return key == nullptr || text.find(" " + std::string(key) + " ") != std::string::npos;
  };
  return std::ranges::any_of(kArticles, [&](const Article& article) {
    return article.keys[0] != nullptr && std::ranges::all_of(article.keys, contains);
  });
}

void write_articles(Book& book) {
  for (const Article& article : articles()) {
    const Fixed pair{article.english, article.hindi};
    book.add(std::span(&pair, 1), article.kind);
  }
}

}  // namespace regard::demo::phrases

// Adds sentences about countries and their capitals.
#include <array>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

struct Country {
  const char *english, *hindi;
  const char *capital, *hindi_capital;
};
constexpr std::array kCountries{
    Country{"India", "भारत", "Delhi", "दिल्ली"},    Country{"France", "फ़्रांस", "Paris", "पेरिस"},
    Country{"Japan", "जापान", "Tokyo", "टोक्यो"},   Country{"Germany", "जर्मनी", "Berlin", "बर्लिन"},
    Country{"Russia", "रूस", "Moscow", "मॉस्को"},    Country{"Italy", "इटली", "Rome", "रोम"},
    Country{"Spain", "स्पेन", "Madrid", "मैड्रिड"},    Country{"Nepal", "नेपाल", "Kathmandu", "काठमांडू"},
    Country{"China", "चीन", "Beijing", "बीजिंग"},   Country{"England", "इंग्लैंड", "London", "लंदन"},
    Country{"Egypt", "मिस्र", "Cairo", "काहिरा"},   Country{"Iran", "ईरान", "Tehran", "तेहरान"},
    Country{"Greece", "यूनान", "Athens", "एथेंस"},    Country{"Thailand", "थाईलैंड", "Bangkok", "बैंकॉक"},
    Country{"Kenya", "केन्या", "Nairobi", "नैरोबी"},  Country{"Poland", "पोलैंड", "Warsaw", "वारसॉ"},
    Country{"Canada", "कनाडा", "Ottawa", "ओटावा"}, Country{"Vietnam", "वियतनाम", "Hanoi", "हनोई"},
};

}  // namespace

void write_countries(Book& book) {
  for (const Country& country : kCountries) {
    book.lexicon().add(country.english, country.hindi);
    book.lexicon().add(country.capital, country.hindi_capital);
  }
  book.lexicon().add_all({{"capital", "राजधानी"}, {"country", "देश"}, {"how far", "कितनी दूर"}, {"from", "से"}});
  for (const Country& country : kCountries) {
    const std::string of = words({country.hindi, "की राजधानी"});
    const std::string capital = words({"the capital of", country.english});
    book.ask("what is " + capital, of + " क्या है");
    book.tell(words({capital, "is", country.capital}), words({of, country.hindi_capital, "है"}));
    book.tell(words({country.capital, "is", capital}), words({country.hindi_capital, of, "है"}));
    book.ask(words({"is", country.capital, capital}), words({"क्या", country.hindi_capital, of, "है"}));
    book.ask("where is " + capital, of + " कहाँ है");
    book.tell(capital + " is beautiful", of + " सुंदर है");
    book.tell(words({country.capital, "is in", country.english}),
              words({country.hindi_capital, country.hindi, "में है"}));
    book.ask(words({"where is", country.english}), words({country.hindi, "कहाँ है"}));
    book.ask(words({"how far is", country.capital}), words({country.hindi_capital, "कितनी दूर है"}));
    book.tell(words({country.english, "is a big country"}), words({country.hindi, "एक बड़ा देश है"}));
    book.tell(words({country.capital, "is a big city"}), words({country.hindi_capital, "एक बड़ा शहर है"}));
    book.tell(words({"I will go to", country.capital}), words({"मैं", country.hindi_capital, "जाऊँगा"}));
    book.tell(words({"I am from", country.english}), words({"मैं", country.hindi, "से हूँ"}));
    for (const Subject& who : everyone())
      if (const auto english =
              words({who.english, who.english_plural ? "live" : "lives", "in", country.capital});
          chosen(english, 135))
        book.tell(english, words({who.hindi, country.hindi_capital, "में", habitual("रह", who.agreement)}));
  }
}

}  // namespace regard::demo::phrases

// Adds sentences about places, days, hours and numbers, and about both meanings of "bank" (money, river).
#include <iterator>
#include <string>

#include "demo/phrasebook/book.h"
#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

constexpr Fixed kSpotsOfThings[] = {
    {"on the table", "मेज़ पर"},          {"in the bag", "थैले में"},
    {"under the bed", "पलंग के नीचे"},     {"near the door", "दरवाज़े के पास"},
    {"behind the chair", "कुर्सी के पीछे"}, {"in the room", "कमरे में"},
};
constexpr Fixed kSpotsOfPeople[] = {
    {"at home", "घर पर"},
    {"in the garden", "बगीचे में"},
    {"in the shop", "दुकान में"},
    {"at school", "स्कूल में"},
    {"in the field", "खेत में"},
    {"in the village", "गाँव में"},
    {"near the river", "नदी के पास"},
    {"under the tree", "पेड़ के नीचे"},
    {"in the bank", "बैंक में"},
    {"on the river bank", "नदी के किनारे"},
};
constexpr Fixed kHomes[] = {{"in Delhi", "दिल्ली में"},
                            {"in this village", "इस गाँव में"},
                            {"in a big city", "एक बड़े शहर में"},
                            {"in this house", "इस घर में"},
                            {"in India", "भारत में"}};

constexpr Fixed kDays[] = {{"Monday", "सोमवार"},  {"Tuesday", "मंगलवार"}, {"Wednesday", "बुधवार"},
                           {"Thursday", "गुरुवार"}, {"Friday", "शुक्रवार"},  {"Saturday", "शनिवार"},
                           {"Sunday", "रविवार"}};

constexpr Fixed kNumbers[] = {
    {"zero", "शून्य"},     {"one", "एक"},         {"two", "दो"},         {"three", "तीन"},
    {"four", "चार"},     {"five", "पाँच"},       {"six", "छह"},         {"seven", "सात"},
    {"eight", "आठ"},     {"nine", "नौ"},        {"ten", "दस"},         {"eleven", "ग्यारह"},
    {"twelve", "बारह"},  {"thirteen", "तेरह"},   {"fourteen", "चौदह"},  {"fifteen", "पंद्रह"},
    {"sixteen", "सोलह"}, {"seventeen", "सत्रह"}, {"eighteen", "अठारह"}, {"nineteen", "उन्नीस"},
    {"twenty", "बीस"},   {"thirty", "तीस"},     {"forty", "चालीस"},    {"fifty", "पचास"},
    {"hundred", "सौ"},
};

void write_things_in_places(Book& book) {
  for (const Noun& noun : portable()) {
    if (chosen(noun.english, 306))
      book.ask(words({"where is the", noun.english}), words({noun.hindi, "कहाँ है"}));
    if (chosen(noun.english_plural, 306))
      book.ask(words({"where are the", noun.english_plural}),
               words({noun.form(Number::plural, Case::direct), "कहाँ हैं"}));
    for (const Fixed& spot : kSpotsOfThings) {
      if (std::string_view(spot.english).find(noun.english) != std::string_view::npos) continue;
      const std::string many = noun.form(Number::plural, Case::direct);
      if (const auto english = words({"the", noun.english, "is", spot.english}); chosen(english, 171))
        book.tell(english, words({noun.hindi, spot.hindi, "है"}));
      if (const auto english = words({"there is", with_article(noun.english), spot.english});
          chosen(english, 123))
        book.tell(english, words({spot.hindi, "एक", noun.hindi, "है"}));
      const Fixed& count = kNumbers[2 + pick(spot.english + many, 9)];
      if (const auto english = words({"there are", count.english, noun.english_plural, spot.english});
          chosen(english, 123))
        book.tell(english, words({spot.hindi, count.hindi, many, "हैं"}));
    }
  }
}

void write_people_in_places(Book& book) {
  for (const Subject& who : everyone()) {
    const std::string now = is_now(who.agreement);
    book.ask(words({"where", who.be, who.english}), words({who.hindi, "कहाँ", now}));
    book.ask(words({"where", who.be, who.english, "going"}),
             words({who.hindi, "कहाँ", ongoing("जा", who.agreement)}));
    book.ask(words({"what", who.be, who.english, "doing"}),
             words({who.hindi, "क्या", ongoing("कर", who.agreement)}));
    for (const Fixed& spot : kSpotsOfPeople) {
      if (const auto english = words({who.english, who.be, spot.english}); chosen(english, 171))
        book.tell(english, words({who.hindi, spot.hindi, now}));
      if (const auto english = words({who.english, who.was, spot.english}); chosen(english, 80))
        book.tell(english, words({who.hindi, spot.hindi, was_then(who.agreement)}));
      if (const auto english = words({who.be, who.english, spot.english}); chosen(english, 62))
        book.ask(english, words({"क्या", who.hindi, spot.hindi, now}));
    }
    for (const Fixed& home : kHomes)
      if (const auto english = words({who.english, who.english_plural ? "live" : "lives", home.english});
          chosen(english, 214))
        book.tell(english, words({who.hindi, home.hindi, habitual("रह", who.agreement)}));
  }
}

void write_days(Book& book) {
  for (std::size_t i = 0; i < std::size(kDays); ++i) {
    const Fixed &day = kDays[i], &before = kDays[(i + 6) % 7];
    book.tell(words({"today is", day.english}), words({"आज", day.hindi, "है"}));
    book.tell(words({"tomorrow is", day.english}), words({"कल", day.hindi, "है"}));
    book.tell(words({"yesterday was", day.english}), words({"कल", day.hindi, "था"}));
    book.tell(words({day.english, "comes after", before.english}),
              words({before.hindi, "के बाद", day.hindi, "आता है"}));
    book.tell(words({before.english, "comes before", day.english}),
              words({day.hindi, "से पहले", before.hindi, "आता है"}));
    book.tell(words({"the shop is closed on", day.english}), words({day.hindi, "को दुकान बंद रहती है"}));
    for (const Subject& who : everyone()) {
      if (const auto english = words({who.english, "will come on", day.english}); chosen(english, 153))
        book.tell(english, words({who.hindi, day.hindi, "को", future("आ", who.agreement)}));
      if (const auto english = words({who.english, "went to Delhi on", day.english}); chosen(english, 92))
        book.tell(english, words({who.hindi, day.hindi, "को दिल्ली", perfective("जा", who.agreement)}));
    }
  }
}

constexpr NounPhrase kMonths[] = {
    {"January", "जनवरी", kFeminine},  {"February", "फ़रवरी", kFeminine}, {"March", "मार्च", kMasculine},
    {"April", "अप्रैल", kMasculine},    {"May", "मई", kFeminine},         {"June", "जून", kMasculine},
    {"July", "जुलाई", kFeminine},      {"August", "अगस्त", kMasculine},   {"September", "सितंबर", kMasculine},
    {"October", "अक्टूबर", kMasculine}, {"November", "नवंबर", kMasculine}, {"December", "दिसंबर", kMasculine},
};

void write_months(Book& book) {
  for (std::size_t i = 0; i < std::size(kMonths); ++i) {
    const NounPhrase &month = kMonths[i], &before = kMonths[(i + 11) % 12];
    book.tell(words({month.english, "comes after", before.english}),
              words({before.hindi, "के बाद", month.hindi, habitual("आ", month.agreement)}));
    book.tell(words({before.english, "comes before", month.english}),
              words({month.hindi, "से पहले", before.hindi, habitual("आ", before.agreement)}));
    book.tell(words({"I will come in", month.english}), words({"मैं", month.hindi, "में आऊँगा"}));
    book.tell(words({"my birthday is in", month.english}), words({"मेरा जन्मदिन", month.hindi, "में है"}));
    for (const Subject& who : everyone()) {
      if (const auto english = words({who.english, "will go to Delhi in", month.english});
          chosen(english, 150))
        book.tell(english, words({who.hindi, month.hindi, "में दिल्ली", future("जा", who.agreement)}));
      if (const auto english = words({who.english, "came home in", month.english}); chosen(english, 100))
        book.tell(english, words({who.hindi, month.hindi, "में घर", perfective("आ", who.agreement)}));
    }
  }
}

void write_hours(Book& book) {
  for (std::size_t hour = 1; hour <= 12; ++hour) {
    const Fixed& number = kNumbers[hour];
    const bool one = hour == 1;
    book.tell(words({"it is", number.english, "o'clock"}), words({number.hindi, one ? "बजा है" : "बजे हैं"}));
    book.tell(words({"the bus comes at", number.english, "o'clock"}),
              words({"बस", number.hindi, "बजे आती है"}));
    book.tell(words({"please come at", number.english, "o'clock"}), words({"कृपया", number.hindi, "बजे आइए"}));
    for (const Subject& who : everyone()) {
      if (const auto english = words(
              {who.english, who.english_plural ? "go" : "goes", "to school at", number.english, "o'clock"});
          chosen(english, 44))
        book.tell(english, words({who.hindi, number.hindi, "बजे स्कूल", habitual("जा", who.agreement)}));
      if (const auto english = words({who.english, "came home at", number.english, "o'clock"});
          chosen(english, 44))
        book.tell(english, words({who.hindi, number.hindi, "बजे घर", perfective("आ", who.agreement)}));
    }
  }
}

void write_numbers(Book& book) {
  for (const Fixed& number : kNumbers) {
    book.tell(number.english, number.hindi);
    if (&number < &kNumbers[2]) continue;
    const bool hundred = std::string_view(number.english) == "hundred";
    const std::string count = hundred ? "a hundred" : number.english;
    book.tell(count + " rupees", words({number.hindi, "रुपये"}));
    book.tell(count + " books", words({number.hindi, "किताबें"}));
    book.tell(count + " people came", words({number.hindi, "लोग आए"}));
    book.tell(words({"it is", count, "rupees"}), words({"यह", number.hindi, "रुपये का है"}));
    book.tell(words({"please give me", count, "rupees"}), words({"कृपया मुझे", number.hindi, "रुपये दीजिए"}));
    book.tell(words({"there are", count, "students in the class"}),
              words({"कक्षा में", number.hindi, "छात्र हैं"}));
    book.tell(words({"my brother is", count, "years old"}), words({"मेरा भाई", number.hindi, "साल का है"}));
    book.tell(words({"my sister is", count, "years old"}), words({"मेरी बहन", number.hindi, "साल की है"}));
  }
}

// "bank" has two translations in Hindi.
constexpr Fixed kBanks[] = {
    {"The money is in the bank.", "पैसे बैंक में हैं।"},
    {"The bank of the river is beautiful.", "नदी का किनारा सुंदर है।"},
    {"The river bank is green.", "नदी का किनारा हरा है।"},
    {"The river bank is clean.", "नदी का किनारा साफ़ है।"},
    {"The river bank is long.", "नदी का किनारा लंबा है।"},
    {"The bank is closed today.", "बैंक आज बंद है।"},
    {"The bank is open today.", "बैंक आज खुला है।"},
    {"The money bank is big.", "पैसों का बैंक बड़ा है।"},
    {"The money bank grows.", "पैसों का बैंक बढ़ता है।"},
    {"The river flows.", "नदी बहती है।"},
    {"The river flows near the village.", "नदी गाँव के पास बहती है।"},
    {"The money grows in the bank.", "पैसे बैंक में बढ़ते हैं।"},
    {"Flowers grow on the river bank.", "नदी के किनारे फूल उगते हैं।"},
    {"Trees grow on the river bank.", "नदी के किनारे पेड़ उगते हैं।"},
    {"The boat is on the river bank.", "नाव नदी के किनारे है।"},
    {"The bank is near the school.", "बैंक स्कूल के पास है।"},
    {"Where is the bank?", "बैंक कहाँ है?"},
    {"Where is the river bank?", "नदी का किनारा कहाँ है?"},
    {"The bank gives money.", "बैंक पैसे देता है।"},
};

void write_banks(Book& book) {
  book.add(kBanks);
  for (const Subject& who : everyone()) {
    if (const auto english = words({who.english, "put money in the bank yesterday"}); chosen(english, 368))
      book.tell(english, words({who.ergative, "कल बैंक में पैसे जमा किए"}));
    if (const auto english = words({who.english, "sat on the river bank"}); chosen(english, 368))
      book.tell(english, words({who.hindi, "नदी के किनारे", perfective("बैठ", who.agreement)}));
    if (const auto english = words({who.english, who.english_plural ? "work" : "works", "in the bank"});
        chosen(english, 306))
      book.tell(english, words({who.hindi, "बैंक में काम", habitual("कर", who.agreement)}));
  }
}

void add_place_words(Lexicon& lexicon) {
  for (const auto& [english, hindi] :
       {Fixed{"closed", "बंद"},   Fixed{"o'clock", "बजे"},       Fixed{"o'clock", "बजा"},
        Fixed{"bus", "बस"},      Fixed{"rupees", "रुपये"},       Fixed{"students", "छात्र"},
        Fixed{"class", "कक्षा"},  Fixed{"years old", "साल का"}, Fixed{"years old", "साल की"},
        Fixed{"after", "के बाद"}, Fixed{"money", "पैसे"},         Fixed{"money", "पैसों"},
        Fixed{"bank", "बैंक"},     Fixed{"bank", "किनारे"},       Fixed{"bank", "किनारा"},
        Fixed{"open", "खुला"},    Fixed{"long", "लंबा"},         Fixed{"Delhi", "दिल्ली"},
        Fixed{"put", "जमा किए"}, Fixed{"home", "घर"},          Fixed{"school", "स्कूल"},
        Fixed{"doing", "कर"},    Fixed{"come", "आइए"}})
    lexicon.add(english, hindi);
  lexicon.add_action({"live", "lives", "lived", "living", "", "", "रह"});
  lexicon.add_action({"sit", "sits", "sat", "sitting", "", "", "बैठ"});
  lexicon.add_action({"come", "comes", "came", "coming", "", "", "आ"});
  lexicon.add_action({"grow", "grows", "grew", "growing", "", "", "बढ़"});
  lexicon.add_action({"flow", "flows", "flowed", "flowing", "", "", "बह"});
}

}  // namespace

void write_places_and_times(Book& book) {
  for (const auto spots :
       {std::span<const Fixed>(kSpotsOfThings), std::span<const Fixed>(kSpotsOfPeople),
        std::span<const Fixed>(kHomes), std::span<const Fixed>(kDays), std::span<const Fixed>(kNumbers)})
    for (const Fixed& spot : spots) book.lexicon().add_spot(spot.english, spot.hindi);
  add_place_words(book.lexicon());
  write_things_in_places(book);
  write_people_in_places(book);
  write_days(book);
  write_months(book);
  write_hours(book);
  write_numbers(book);
  write_banks(book);
}

}  // namespace regard::demo::phrases

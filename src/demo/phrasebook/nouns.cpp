#include <array>
#include <cstddef>
#include <string>

#include "demo/phrasebook/words.h"
#include "regard/error.h"

namespace regard::demo::phrases {
namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine;

// The first entries are too large for a bag; see portable().
constexpr std::array kGoods{
    Noun{"car", "cars", "गाड़ी", f},        Noun{"table", "tables", "मेज़", f},
    Noun{"chair", "chairs", "कुर्सी", f},    Noun{"door", "doors", "दरवाज़ा", m},
    Noun{"window", "windows", "खिड़की", f}, Noun{"boat", "boats", "नाव", f},
    Noun{"bus", "buses", "बस", f},         Noun{"bicycle", "bicycles", "साइकिल", f},
    Noun{"bed", "beds", "पलंग", m},         Noun{"book", "books", "किताब", f},
    Noun{"flower", "flowers", "फूल", m},    Noun{"apple", "apples", "सेब", m},
    Noun{"mango", "mangoes", "आम", m},     Noun{"banana", "bananas", "केला", m},
    Noun{"shirt", "shirts", "कमीज़", f},    Noun{"shoe", "shoes", "जूता", m},
    Noun{"bag", "bags", "थैला", m},         Noun{"box", "boxes", "डिब्बा", m},
    Noun{"pen", "pens", "कलम", f},         Noun{"picture", "pictures", "तस्वीर", f},
    Noun{"watch", "watches", "घड़ी", f},    Noun{"plate", "plates", "प्लेट", f},
    Noun{"cup", "cups", "प्याला", m},       Noun{"toy", "toys", "खिलौना", m},
    Noun{"ball", "balls", "गेंद", f},        Noun{"umbrella", "umbrellas", "छाता", m},
    Noun{"hat", "hats", "टोपी", f},        Noun{"key", "keys", "चाबी", f},
    Noun{"glass", "glasses", "गिलास", m},
};

constexpr std::array kPlaces{
    Noun{"house", "houses", "घर", m},      Noun{"room", "rooms", "कमरा", m},
    Noun{"shop", "shops", "दुकान", f},      Noun{"village", "villages", "गाँव", m},
    Noun{"city", "cities", "शहर", m},      Noun{"school", "schools", "स्कूल", m},
    Noun{"garden", "gardens", "बगीचा", m}, Noun{"field", "fields", "खेत", m},
};

constexpr std::array kNature{
    Noun{"tree", "trees", "पेड़", m},
    Noun{"river", "rivers", "नदी", f},
    Noun{"road", "roads", "सड़क", f},
};

constexpr std::array kWorks{
    Noun{"letter", "letters", "चिट्ठी", f},
    Noun{"story", "stories", "कहानी", f},
    Noun{"song", "songs", "गाना", m},
    Noun{"newspaper", "newspapers", "अखबार", m},
};

constexpr std::array kAnimals{
    Noun{"dog", "dogs", "कुत्ता", m},           Noun{"cat", "cats", "बिल्ली", f},
    Noun{"horse", "horses", "घोड़ा", m},       Noun{"cow", "cows", "गाय", f},
    Noun{"bird", "birds", "चिड़िया", f},       Noun{"fish", "fish", "मछली", f},
    Noun{"elephant", "elephants", "हाथी", m}, Noun{"monkey", "monkeys", "बंदर", m},
    Noun{"goat", "goats", "बकरी", f},         Noun{"lion", "lions", "शेर", m},
    Noun{"fox", "foxes", "लोमड़ी", f},
};

}  // namespace

std::span<const Noun> goods() {
  return kGoods;
}
std::span<const Noun> portable() {
  constexpr std::size_t kLarge = 9;
  return std::span<const Noun>(kGoods).subspan(kLarge);
}
std::span<const Noun> places() {
  return kPlaces;
}
std::span<const Noun> nature() {
  return kNature;
}
std::span<const Noun> works() {
  return kWorks;
}
std::span<const Noun> animals() {
  return kAnimals;
}

const Noun& thing(std::string_view english) {
  for (const auto list : {goods(), places(), nature(), works(), animals()})
    for (const Noun& noun : list)
      if (noun.english == english) return noun;
  throw Error(ErrorKind::internal, "the phrasebook has no noun '" + std::string(english) + "'");
}

}  // namespace regard::demo::phrases

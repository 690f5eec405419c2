#include <array>

#include "demo/phrasebook/words.h"

namespace regard::demo::phrases {
namespace {

constexpr Object m = Object::masculine, f = Object::feminine, mp = Object::masculine_plural,
                 fp = Object::feminine_plural;

constexpr std::array kActions{
    Action{"read", "reads", "read", "reading", "a book", "किताब", "पढ़", f},
    Action{"read", "reads", "read", "reading", "the newspaper", "अखबार", "पढ़", m},
    Action{"write", "writes", "wrote", "writing", "a letter", "चिट्ठी", "लिख", f},
    Action{"eat", "eats", "ate", "eating", "an apple", "सेब", "खा", m},
    Action{"eat", "eats", "ate", "eating", "bread", "रोटी", "खा", f},
    Action{"eat", "eats", "ate", "eating", "bananas", "केले", "खा", mp},
    Action{"eat", "eats", "ate", "eating", "sweets", "मिठाइयाँ", "खा", fp},
    Action{"drink", "drinks", "drank", "drinking", "water", "पानी", "पी", m},
    Action{"drink", "drinks", "drank", "drinking", "milk", "दूध", "पी", m},
    Action{"drink", "drinks", "drank", "drinking", "tea", "चाय", "पी", f},
    Action{"cook", "cooks", "cooked", "cooking", "food", "खाना", "बना", m},
    Action{"make", "makes", "made", "making", "tea", "चाय", "बना", f},
    Action{"buy", "buys", "bought", "buying", "vegetables", "सब्ज़ियाँ", "खरीद", fp},
    Action{"buy", "buys", "bought", "buying", "a shirt", "कमीज़", "खरीद", f},
    Action{"sell", "sells", "sold", "selling", "mangoes", "आम", "बेच", mp},
    Action{"sing", "sings", "sang", "singing", "a song", "गाना", "गा", m},
    Action{"listen", "listens", "listened", "listening", "to a story", "कहानी", "सुन", f},
    Action{"open", "opens", "opened", "opening", "the door", "दरवाज़ा", "खोल", m},
    Action{"open", "opens", "opened", "opening", "the window", "खिड़की", "खोल", f},
    Action{"close", "closes", "closed", "closing", "the door", "दरवाज़ा", "कर", m, "बंद"},
    Action{"close", "closes", "closed", "closing", "the windows", "खिड़कियाँ", "कर", fp, "बंद"},
    Action{"wash", "washes", "washed", "washing", "clothes", "कपड़े", "धो", mp},
    Action{"clean", "cleans", "cleaned", "cleaning", "the room", "कमरा", "कर", m, "साफ़"},
    Action{"learn", "learns", "learned", "learning", "Hindi", "हिंदी", "सीख", f},
    Action{"play", "plays", "played", "playing", "cricket", "क्रिकेट", "खेल", m},
    Action{"watch", "watches", "watched", "watching", "a film", "फ़िल्म", "देख", f},
    Action{"drive", "drives", "drove", "driving", "a car", "गाड़ी", "चला", f},
    Action{"work", "works", "worked", "working", "in the field", "खेत में", "कर", m, "काम"},
    Action{"go", "goes", "went", "going", "to school", "स्कूल", "जा"},
    Action{"go", "goes", "went", "going", "to the market", "बाज़ार", "जा"},
    Action{"go", "goes", "went", "going", "to the bank", "बैंक", "जा"},
    Action{"go", "goes", "went", "going", "to Delhi", "दिल्ली", "जा"},
    Action{"come", "comes", "came", "coming", "home", "घर", "आ"},
    Action{"run", "runs", "ran", "running", "in the garden", "बगीचे में", "दौड़"},
    Action{"swim", "swims", "swam", "swimming", "in the river", "नदी में", "तैर"},
    Action{"walk", "walks", "walked", "walking", "on the road", "सड़क पर", "चल"},
    Action{"laugh", "laughs", "laughed", "laughing", "", "", "हँस"},
    Action{"cry", "cries", "cried", "crying", "", "", "रो"},
    Action{"dance", "dances", "danced", "dancing", "", "", "नाच"},
    Action{"sleep", "sleeps", "slept", "sleeping", "", "", "सो"},
};

}  // namespace

std::span<const Action> actions() {
  return kActions;
}

Agreement agreement_of(Object object) {
  switch (object) {
    case Object::feminine:
      return kFeminine;
    case Object::masculine_plural:
      return kMasculinePlural;
    case Object::feminine_plural:
      return kFemininePlural;
    case Object::none:
    case Object::masculine:
      break;
  }
  return kMasculine;
}

}  // namespace regard::demo::phrases

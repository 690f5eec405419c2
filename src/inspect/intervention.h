// An intervention: a change of values during the passes of a model. The command line, C++ and requests use
// the same syntax:
//
//   ACTION SITE[,SITE…] [KEY=VALUE …]        zero cross.1.0
//   {"do": ACTION, "at": SITE, KEY: VALUE}   {"do": "zero", "at": "cross.1.0"}
//
// A site is a head (KIND.LAYER.HEAD), a layer (encoder.LAYER or decoder.LAYER: the outputs of its branches),
// or a probe point, optionally with features: decoder.2.residual, encoder.0.feed_forward.inner[3,8-11]
// (neurons). In a model with two encoders (CLIP, SigLIP), a site begins with the name of the encoder:
// vision.encoder.0.1, text.encoder.2.residual. Layers, heads, features and positions are numbered from 0. A
// value with spaces is put in double quotes; inside the quotes, \" is a quote, and \\ is a backslash.
//
//   zero     set the value to 0
//   mean     set the value to the mean over all tokens of a set of texts (texts=FILE: one text per line, or
//            SOURCE<tab>TARGET) or of one input (text=, ids=)
//   patch    copy the value from another input (text=, ids=), from the same positions or from=POSITIONS
//   add      add a vector multiplied by `by`. The vector is vector=FILE#NAME of a safetensors file, or the
//            mean over the tokens of another input (text=, ids=). With minus=, the mean of a second input is
//            subtracted from this mean
//   scale    heads only: multiply the attention weights by `by`; with keys=POSITIONS, only at these keys
//   uniform  heads only: set equal weights for all keys that the query may attend to
//   replace  heads only: copy the attention weights from another input (text=, ids=) or pattern=FILE#NAME
//            [queries, keys]. Queries outside the pattern keep their weights; keys outside it get 0
//   freeze   heads only: all queries from position from= on get the same weights. These are copied from the
//            query at from= in another input (often the same text), or from row from= of pattern=. During
//            generation, freeze applies to all later steps
//
// The other input of an image or sound model is a file: file=FILE in place of text=, and
// files=FILE in place of texts= (one file name per line). minus= is then a file too.
//
// positions=POSITIONS limits every action to these tokens (for attention weights: queries). Example: 0,3-5.
// The other input of an encoder-decoder has a target (target=TEXT, target_ids=IDS). Default: the text that
// the model generates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "inspect/head.h"

namespace regard::inspect {

enum class Action : std::uint8_t { zero, mean, patch, add, scale, uniform, replace, freeze };

const char* name_of(Action action) noexcept;

// A set of positions: inclusive ranges in the given order. An empty set means all positions.
struct Positions {
  struct Range {
    std::int64_t first = 0, last = 0;
  };
  std::vector<Range> ranges;

  bool all() const { return ranges.empty(); }
  bool contain(std::int64_t position) const;
  // Return the index of `position` in the list; −1 if the list does not contain it.
  std::int64_t index_of(std::int64_t position) const;
  std::int64_t count() const;
  std::int64_t at(std::int64_t index) const;  // position number `index`; 0 ≤ index < count()

  // Parse a list such as "0,3-5". Throws usage; `what` names the list in the error.
  static Positions parse(std::string_view text, std::string_view what);
};

// A head, layer or probe point of the model. Exactly one of `head`, `layer` and `point` is set.
struct Site {
  std::string tower;         // encoder ("text" or "vision") if the model has two; otherwise empty
  std::optional<Head> head;  // the head; if KIND was not given, resolve() sets Head::kind
  std::string layer;         // name of the layer, such as "decoder.3"
  std::string point;         // name of the probe point, such as "decoder.3.residual"
  Positions features;        // features of the probe point; empty means all

  std::string text;  // the site as text, as given
};

// Remove the prefix "text." or "vision." from a site. Return "text" or "vision", or "" if there is no prefix.
std::string take_tower(std::string_view& place);

// Input of another pass, from which values are taken. At most one of `text`, `ids` and `file` is set.
struct OtherInput {
  std::string text, target;
  std::vector<std::int32_t> ids, target_ids;
  std::string file = {};  // name of an image or sound file

  bool given() const { return !text.empty() || !ids.empty() || !file.empty(); }
};

struct Intervention {
  Action action = Action::zero;
  std::vector<Site> sites;
  Positions positions, from, keys;
  double by = 1.0;
  OtherInput other, minus;
  std::string texts, files;     // values of texts= and files=: file names
  std::string vector, pattern;  // values of vector= and pattern=: FILE#NAME
  std::string text;             // the intervention as given, for messages and captures

  // Throws usage for text that is not an intervention: unknown actions or keys (with the nearest known one),
  // missing or superfluous keys, malformed sites and lists.
  static Intervention parse(std::string_view text);
  static Intervention of(const Json& json);
};

// Return the interventions that zero the heads of a list such as "text.0.1,vision.encoder.1.0", for a model
// with two encoders. Throws usage for an entry without the name of an encoder.
std::vector<Intervention> ablations_in_towers(std::string_view list);

std::vector<Intervention> parse_interventions(const std::vector<std::string>& texts);

}  // namespace regard::inspect

#include "metrics/entity_scheme.h"

#include <algorithm>
#include <string_view>

#include "regard/error.h"

namespace regard::metrics {
namespace {

constexpr std::string_view kAnyPrefix = "IOBESUL";
enum class Type { same, other, any };

// A rule on two adjacent labels: the prefixes that match, and whether the entity types must be the same, must
// differ, or do not matter.
struct Pattern {
  std::string_view before, label;
  Type type;
};

struct Rules {
  std::string_view name, prefixes;
  std::vector<Pattern> start, inside, end;
};

// The rules of seqeval/scheme.py, in the order of EntityScheme.
const std::vector<Rules>& all_rules() {
  using enum Type;
  static const std::vector<Rules> rules{
      {"iob1",
       "IOB",
       {{"O", "I", any}, {"I", "I", other}, {"B", "I", any}, {"I", "B", same}, {"B", "B", same}},
       {{"B", "I", same}, {"I", "I", same}},
       {{"I", "I", other},
        {"I", "O", any},
        {"I", "B", any},
        {"B", "O", any},
        {"B", "I", other},
        {"B", "B", same}}},
      {"ioe1",
       "IOE",
       {{"O", "I", any}, {"I", "I", other}, {"E", "I", any}, {"E", "E", same}},
       {{"I", "I", same}, {"I", "E", same}},
       {{"I", "I", other}, {"I", "O", any}, {"I", "E", other}, {"E", "I", same}, {"E", "E", same}}},
      {"iob2",
       "IOB",
       {{kAnyPrefix, "B", any}},
       {{"B", "I", same}, {"I", "I", same}},
       {{"I", "O", any},
        {"I", "I", other},
        {"I", "B", any},
        {"B", "O", any},
        {"B", "I", other},
        {"B", "B", any}}},
      {"ioe2",
       "IOE",
       {{"O", "I", any},
        {"O", "E", any},
        {"E", "I", any},
        {"E", "E", any},
        {"I", "I", other},
        {"I", "E", other}},
       {{"I", "E", same}, {"I", "I", same}},
       {{"E", kAnyPrefix, any}}},
      {"iobes",
       "IOBES",
       {{kAnyPrefix, "B", any}, {kAnyPrefix, "S", any}},
       {{"B", "I", same}, {"B", "E", same}, {"I", "I", same}, {"I", "E", same}},
       {{"S", kAnyPrefix, any}, {"E", kAnyPrefix, any}}},
      {"bilou",
       "BILOU",
       {{kAnyPrefix, "B", any}, {kAnyPrefix, "U", any}},
       {{"B", "I", same}, {"B", "L", same}, {"I", "I", same}, {"I", "L", same}},
       {{"U", kAnyPrefix, any}, {"L", kAnyPrefix, any}}}};
  return rules;
}

struct SchemeLabel {
  char prefix = 'O';
  std::string_view type = "_";
};

SchemeLabel scheme_label(std::string_view label) {
  SchemeLabel result{label.empty() ? '\0' : label[0], label.substr(label.empty() ? 0 : 1)};
  while (result.type.starts_with('-')) result.type.remove_prefix(1);
  while (result.type.ends_with('-')) result.type.remove_suffix(1);
  if (result.type.empty()) result.type = "_";
  return result;
}

bool matches(const SchemeLabel& before, const SchemeLabel& label, const std::vector<Pattern>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const Pattern& pattern) {
    return pattern.before.find(before.prefix) != std::string_view::npos &&
           pattern.label.find(label.prefix) != std::string_view::npos &&
           (pattern.type == Type::any || (pattern.type == Type::same) == (before.type == label.type));
  });
}

}  // namespace

EntityScheme entity_scheme_named(const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < all_rules().size(); ++i) {
    if (all_rules()[i].name == name) return static_cast<EntityScheme>(i);
    names += (names.empty() ? "" : ", ") + std::string(all_rules()[i].name);
  }
  throw usage_error("unknown labelling scheme").found(name).expected(names);
}

EntityScheme detect_entity_scheme(LabelSequences sequences) {
  std::string prefixes;
  for (const auto& labels : sequences)
    for (const std::string& label : labels)
      if (const char prefix = scheme_label(label).prefix; prefixes.find(prefix) == std::string::npos)
        prefixes += prefix;
  const auto has = [&](char prefix) { return prefixes.find(prefix) != std::string::npos; };
  const auto only = [&](std::string_view allowed) {
    return prefixes.find_first_not_of(allowed) == std::string::npos;
  };
  // Accept the same sets of prefixes as seqeval's auto_detect(). It rejects "O" alone, and "O" with only "S"
  // or only "U".
  if (only("IOB") && has('B')) return EntityScheme::iob2;
  if (only("IOE") && has('E')) return EntityScheme::ioe2;
  if ((only("IOBES") && has('B') && has('E')) || prefixes == "S") return EntityScheme::iobes;
  if ((only("IOBLU") && has('B') && has('L')) || prefixes == "U") return EntityScheme::bilou;
  throw Error(ErrorKind::bad_file, "the labels do not follow a known scheme")
      .found("prefixes " + prefixes)
      .expected("the prefixes of iob2, ioe2, iobes or bilou");
}

void add_strict_entities(std::span<const std::string> labels, std::size_t sequence, EntityScheme scheme,
                         std::vector<Entity>& entities) {
  const Rules& rules = all_rules()[static_cast<std::size_t>(scheme)];
  std::vector<SchemeLabel> extended;
  for (const std::string& label : labels) {
    extended.push_back(scheme_label(label));
    if (extended.back().prefix == '\0' ||
        rules.prefixes.find(extended.back().prefix) == std::string_view::npos)
      throw Error(ErrorKind::bad_file, "a label does not belong to the scheme " + std::string(rules.name))
          .found("\"" + label + "\"")
          .expected("a label whose first letter is one of " + std::string(rules.prefixes));
  }
  extended.push_back({});
  SchemeLabel before;
  for (std::size_t i = 0; i < extended.size();) {
    if (!matches(before, extended[i], rules.start)) {
      before = extended[i++];
      continue;
    }
    std::size_t end = i + 1;
    while (end < extended.size() && matches(extended[end - 1], extended[end], rules.inside)) ++end;
    if (matches(extended[end - 1], extended[end], rules.end))
      entities.push_back({std::string(extended[i].type), sequence, i, end - 1});
    i = end;
    before = extended[i - 1];
  }
}

}  // namespace regard::metrics

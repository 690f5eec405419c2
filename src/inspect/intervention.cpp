#include "inspect/intervention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/counted.h"
#include "base/json_text.h"
#include "base/nearest.h"
#include "base/parse_number.h"
#include "base/plain_text.h"
#include "base/utf8.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

using Fields = std::map<std::string, std::string>;

constexpr std::size_t kLongestText = std::size_t{1} << 20;  // maximum size of one intervention in bytes

// The keys that an action accepts. If `sources` is not empty, exactly one of the keys in it must be given.
struct ActionRule {
  const char* name;
  bool heads_only;
  std::vector<std::string> keys, sources;
};

const std::vector<ActionRule>& action_rules() {
  static const std::vector<ActionRule> rules{
      {"zero", false, {"positions"}, {}},
      {"mean",
       false,
       {"positions", "texts", "files", "text", "file", "ids", "target", "target_ids"},
       {"texts", "files", "text", "file", "ids"}},
      {"patch",
       false,
       {"positions", "from", "text", "file", "ids", "target", "target_ids"},
       {"text", "file", "ids"}},
      {"add",
       false,
       {"positions", "by", "text", "file", "ids", "target", "target_ids", "minus", "vector"},
       {"text", "file", "ids", "vector"}},
      {"scale", true, {"positions", "keys", "by"}, {"by"}},
      {"uniform", true, {"positions"}, {}},
      {"replace",
       true,
       {"positions", "text", "file", "ids", "target", "target_ids", "pattern"},
       {"text", "file", "ids", "pattern"}},
      {"freeze",
       true,
       {"positions", "from", "text", "file", "ids", "target", "target_ids", "pattern"},
       {"text", "file", "ids", "pattern"}},
  };
  return rules;
}

// Keys that are valid only together with another key. `target`, for example, needs `text` or `file`.
const std::map<std::string, std::vector<std::string>>& input_keys() {
  static const std::map<std::string, std::vector<std::string>> keys{
      {"target", {"text", "file"}}, {"target_ids", {"ids", "file"}}, {"minus", {"text", "ids", "file"}}};
  return keys;
}

const ActionRule& rule_of(Action action) {
  return action_rules()[static_cast<std::size_t>(action)];
}

Error wrong(std::string_view text, const std::string& what) {
  return usage_error("invalid intervention: " + what).found("'" + std::string(text) + "'");
}

Action action_of(const std::string& name, std::string_view text) {
  std::vector<std::string> names;
  for (const ActionRule& rule : action_rules()) {
    if (name == rule.name) return static_cast<Action>(names.size());
    names.emplace_back(rule.name);
  }
  Error error = wrong(text, "unknown action '" + name + "'");
  error.expected(fmt::format("one of {}", fmt::join(names, ", ")));
  if (const std::string_view close = nearest(name, names); !close.empty())
    error.remedy("Did you mean " + std::string(close) + "?");
  throw error;
}

// Return the words of an intervention. They are separated by spaces outside of double quotes.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool quoted = false, inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!quoted && c == ' ') {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (c == '"')
      quoted = !quoted;
    else if (quoted && c == '\\' && i + 1 < text.size())
      words.back() += text[++i];
    else
      words.back() += c;
  }
  if (quoted) throw wrong(text, "a double quote is not closed");
  return words;
}

// Call read() with each part of a comma-separated list. After a trailing comma, the last part is empty. An
// empty text has one part, which is empty.
template <class Read>
void for_each_part(std::string_view text, Read&& read) {
  for (bool more = true; more;) {
    more = text.find(',') != text.npos;
    read(take_part(text, ','));
  }
}

std::int64_t number_of(std::string_view text, std::string_view what) {
  const std::int32_t value = parse_number<std::int32_t>(text).value_or(-1);
  if (value < 0)
    throw usage_error("invalid list of " + std::string(what))
        .found("'" + std::string(text) + "'")
        .expected("numbers from 0 and ranges, separated by commas, as in 0,3-5");
  return value;
}

// Split a list at the commas outside of brackets.
std::vector<std::string> sites_of(std::string_view text) {
  std::vector<std::string> parts(1);
  bool bracket = false;
  for (const char c : text) {
    if (c == '[' || c == ']') bracket = c == '[';
    if (c == ',' && !bracket)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == text.npos;
}

Site site_of(const std::string& text) {
  Site site;
  site.text = text;
  std::string_view rest = text;
  site.tower = take_tower(rest);
  const std::string_view place = rest;
  std::vector<std::string_view> parts;
  const std::size_t bracket = rest.find('[');
  std::string_view name = rest.substr(0, bracket);
  site.point = std::string(name);
  while (!name.empty()) parts.push_back(take_part(name, '.'));
  const bool side = !parts.empty() && (parts[0] == "encoder" || parts[0] == "decoder");
  if (bracket != rest.npos) {
    if (!text.ends_with(']') || parts.size() < 2)
      throw usage_error("invalid place of an intervention")
          .found("'" + text + "'")
          .expected("POINT[FEATURES], as in encoder.0.feed_forward.inner[3,8-11]");
    site.features = Positions::parse(rest.substr(bracket + 1, rest.size() - bracket - 2), "features");
    return site;
  }
  if (parts.size() == 2 && is_number(parts[0]) && is_number(parts[1])) {
    site.head = parse_heads(place, Kind::encoder).at(0);
    site.point.clear();
  } else if (side && parts.size() == 2 && is_number(parts[1])) {
    site.layer = std::exchange(site.point, "");
  } else if (parts.size() == 3 && is_number(parts[1]) && is_number(parts[2]) && kind_of(parts[0])) {
    site.head = parse_heads(place, Kind::encoder).at(0);
    site.point.clear();
  } else if (!side || parts.size() < 2) {
    throw usage_error("invalid place of an intervention")
        .found("'" + text + "'")
        .expected(
            "a head (cross.1.0; 1.0 in a model with one kind of attention), a layer (decoder.3), or a point "
            "with features (decoder.3.residual, encoder.0.feed_forward.inner[3,8-11])");
  }
  return site;
}

std::vector<std::int32_t> ids_of(std::string_view text, std::string_view key) {
  std::vector<std::int32_t> ids;
  if (text.empty()) return ids;
  for_each_part(
      text, [&](std::string_view part) { ids.push_back(static_cast<std::int32_t>(number_of(part, key))); });
  return ids;
}

double factor_of(const std::string& text) {
  const auto value = parse_number<double>(text);
  if (!value || !(std::abs(*value) <= static_cast<double>(std::numeric_limits<float>::max())))
    throw usage_error("invalid factor of an intervention")
        .found("by=" + text)
        .expected("a finite number of single precision, as in by=0.5");
  return *value;
}

void check_keys(const ActionRule& rule, const Fields& fields, std::string_view text) {
  for (const auto& [key, value] : fields) {
    if (std::find(rule.keys.begin(), rule.keys.end(), key) != rule.keys.end()) continue;
    Error error = wrong(text, fmt::format("{} has no key '{}'", rule.name, key));
    error.expected(fmt::format("{}", fmt::join(rule.keys, ", ")));
    if (const std::string_view close = nearest(key, rule.keys); !close.empty())
      error.remedy("Did you mean " + std::string(close) + "?");
    throw error;
  }
  for (const auto& [key, inputs] : input_keys()) {
    if (fields.count(key) == 0) continue;
    if (std::ranges::none_of(inputs, [&](const std::string& input) { return fields.count(input) != 0; }))
      throw wrong(text, key + "= has no effect without an input to which it belongs")
          .expected(fmt::format("{}=…", fmt::join(inputs, "=… or ")));
  }
  if (fields.count("target") != 0 && fields.count("target_ids") != 0)
    throw wrong(text, "target= and target_ids= exclude each other");
  if (rule.sources.empty()) return;
  std::size_t given = 0;
  for (const std::string& key : rule.sources) given += fields.count(key);
  if (given == 1) return;
  throw wrong(text, fmt::format("{} needs {}", rule.name, given == 0 ? "a value" : "only one value"))
      .expected(
          fmt::format("{}{}=…", rule.sources.size() > 1 ? "one of " : "", fmt::join(rule.sources, "=…, ")));
}

Intervention made(const std::string& action, const std::string& at, const Fields& fields,
                  std::string_view text) {
  Intervention out;
  out.text = std::string(text);
  out.action = action_of(action, text);
  const ActionRule& rule = rule_of(out.action);
  check_keys(rule, fields, text);
  if (at.empty())
    throw wrong(text, "the place is missing").expected("ACTION PLACE [KEY=VALUE …], as in 'zero cross.1.0'");
  for (const std::string& part : sites_of(at)) {
    out.sites.push_back(site_of(part));
    if (rule.heads_only && !out.sites.back().head)
      throw wrong(text, fmt::format("{} changes attention weights", rule.name))
          .expected("a head, as in cross.1.0");
  }
  const auto value = [&](const char* key) {
    const auto found = fields.find(key);
    return found == fields.end() ? std::string() : found->second;
  };
  const auto positions = [&](const char* key) {
    return fields.count(key) == 0 ? Positions() : Positions::parse(value(key), key);
  };
  out.positions = positions("positions"), out.from = positions("from"), out.keys = positions("keys");
  if (out.action == Action::freeze && out.from.count() != 1)
    throw wrong(text, "freeze needs from= with one position").expected("a position, such as from=0");
  if (!out.from.all() && out.from.count() != 1 && out.from.count() != out.positions.count())
    throw wrong(text, "from= must name one position, or as many as positions=")
        .expected(std::to_string(out.positions.count()));
  if (fields.count("by") != 0) out.by = factor_of(value("by"));
  out.other = {value("text"), value("target"), ids_of(value("ids"), "ids"),
               ids_of(value("target_ids"), "target_ids"), value("file")};
  (out.other.file.empty() ? out.minus.text : out.minus.file) = value("minus");
  out.texts = value("texts"), out.files = value("files");
  out.vector = value("vector"), out.pattern = value("pattern");
  for (const std::string& key : rule.sources)
    if (fields.count(key) != 0 && value(key.c_str()).empty()) throw wrong(text, key + "= is empty");
  return out;
}

Json json_of(std::string_view text) {
  try {
    return parse_json(text, "intervention");
  } catch (const Error& error) {  // throw usage instead of bad_file, because there is no file
    throw wrong(text, error.message()).remedy(error.remedy());
  }
}

}  // namespace

std::string take_tower(std::string_view& place) {
  for (const std::string_view tower : {"text.", "vision."})
    if (place.starts_with(tower)) {
      place.remove_prefix(tower.size());
      return std::string(tower.substr(0, tower.size() - 1));
    }
  return {};
}

const char* name_of(Action action) noexcept {
  return rule_of(action).name;
}

Positions Positions::parse(std::string_view text, std::string_view what) {
  Positions out;
  for_each_part(text, [&](std::string_view last) {
    const bool range = last.find('-') != last.npos;
    const std::int64_t first = number_of(take_part(last, '-'), what);
    out.ranges.push_back({first, range ? number_of(last, what) : first});
    if (out.ranges.back().last < first)
      throw usage_error("invalid list of " + std::string(what))
          .found(fmt::format("{}-{}", first, out.ranges.back().last))
          .expected("the smaller number first");
  });
  return out;
}

bool Positions::contain(std::int64_t position) const {
  return all() || index_of(position) >= 0;
}

std::int64_t Positions::index_of(std::int64_t position) const {
  std::int64_t before = 0;
  for (const Range& range : ranges) {
    if (position >= range.first && position <= range.last) return before + position - range.first;
    before += range.last - range.first + 1;
  }
  return -1;
}

std::int64_t Positions::count() const {
  std::int64_t count = 0;
  for (const Range& range : ranges) count += range.last - range.first + 1;
  return count;
}

std::int64_t Positions::at(std::int64_t index) const {
  for (const Range& range : ranges) {
    if (index <= range.last - range.first) return range.first + index;
    index -= range.last - range.first + 1;
  }
  return -1;
}

Intervention Intervention::parse(std::string_view text) {
  if (text.size() > kLongestText)
    throw usage_error("an intervention is too long")
        .found(counted(text.size(), "byte"))
        .expected(fmt::format("at most {} bytes", kLongestText));
  if (utf8::first_bad_byte(text)) throw usage_error("the text of an intervention is not valid UTF-8");
  if (text.starts_with('{')) return of(json_of(text));
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) throw wrong(text, "the text is empty");
  Fields fields;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == words[i].npos)
      throw wrong(text, "'" + words[i] + "' has no value")
          .expected("KEY=VALUE, with double quotes around a value that contains spaces");
    if (!fields.emplace(words[i].substr(0, equals), words[i].substr(equals + 1)).second)
      throw wrong(text, words[i].substr(0, equals) + "= is given twice");
  }
  return made(words[0], words.size() > 1 ? words[1] : "", fields, text);
}

Intervention Intervention::of(const Json& json) {
  const std::string text = json_text(json);
  if (!json.is_object()) throw wrong(text, "expected an object");
  std::string action, at;
  Fields fields;
  for (const auto& [key, value] : json.items()) {
    std::string shown;
    if (value.is_array())
      for (const Json& one : value)
        shown += (shown.empty() ? "" : ",") + (one.is_string() ? one.get<std::string>() : one.dump());
    else
      shown = value.is_string() ? value.get<std::string>() : value.dump();
    (key == "do" ? action : key == "at" ? at : fields[key]) = shown;
  }
  return made(action, at, fields, text);
}

std::vector<Intervention> ablations_in_towers(std::string_view list) {
  std::vector<Intervention> all;
  for (const std::string& entry : list.empty() ? std::vector<std::string>() : sites_of(list)) {
    std::string_view head = entry;
    const std::string tower = take_tower(head);
    if (tower.empty())
      throw usage_error("the encoder is not given, and the model has two encoders")
          .found("'" + entry + "'")
          .expected("text.LAYER.HEAD or vision.LAYER.HEAD, counted from 0, as in vision.1.0");
    const std::vector<Head> heads = parse_heads(head.empty() ? "." : head, Kind::encoder);
    all.push_back(Intervention::parse("zero " + tower + "." + heads.at(0).text()));
  }
  return all;
}

std::vector<Intervention> parse_interventions(const std::vector<std::string>& texts) {
  std::vector<Intervention> all;
  for (const std::string& text : texts) all.push_back(Intervention::parse(text));
  return all;
}

}  // namespace regard::inspect

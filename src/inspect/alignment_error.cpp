#include "inspect/alignment_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/counted.h"
#include "base/line_reader.h"
#include "base/parse_number.h"
#include "base/placed.h"
#include "inspect/attention_view.h"
#include "inspect/capture.h"
#include "inspect/pass_input.h"
#include "regard/error.h"

namespace regard::inspect {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = kSpaces.find(c) != kSpaces.npos;
    words += !space && !inside;
    inside = !space;
  }
  return words;
}

// For each token of `ids`, return the index of its word in the decoded text, or −1 if the token adds no
// visible text.
std::vector<std::int64_t> words_of_tokens(const text::Tokenizer& tokenizer,
                                          std::span<const std::int32_t> ids) {
  std::vector<std::int64_t> words;
  std::string before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    std::string after = tokenizer.decode(ids.first(i + 1));
    const bool adds = after != before && !after.empty() && kSpaces.find(after.back()) == kSpaces.npos;
    words.push_back(adds ? count_words(after) - 1 : -1);
    before = std::move(after);
  }
  return words;
}

std::int64_t word_index(std::string_view digits, std::string_view link) {
  const std::int32_t value = parse_number<std::int32_t>(digits).value_or(-1);
  if (value < 0)
    throw input_error("invalid link of an alignment")
        .found("'" + std::string(link) + "'")
        .expected("SOURCE-TARGET for a sure link, SOURCEpTARGET for a possible one, as in 0-1 2p0");
  return value;
}

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// For each token of a sentence pair, the index of the word that contains it.
struct WordsOfPair {
  // `source` has one element per source token (column of the attention weights), `writing` and `reading` have
  // one per target position (row; see HeadAlignment). −1: no word contains the token.
  std::vector<std::int64_t> source, writing, reading;
};

WordsOfPair words_of(const infer::LoadedModel& loaded, const PassInput& input) {
  WordsOfPair words;
  words.source = words_of_tokens(*loaded.source, input.source.ids);
  words.writing = words_of_tokens(*loaded.target, input.written);
  words.reading.assign(1, -1);  // row 0 belongs to the start token
  words.reading.insert(words.reading.end(), words.writing.begin(), words.writing.end() - 1);
  return words;
}

struct AlignedPair {
  std::string text, target;
  std::vector<AlignedWords> links;
  Place place;  // file and line of the text
};

void check_links(const AlignedPair& pair) {
  const std::int64_t sources = count_words(pair.text), targets = count_words(pair.target);
  for (const AlignedWords& link : pair.links)
    if (link.source >= sources || link.target >= targets)
      throw input_error("a link refers to a word that is not in the texts")
          .found(fmt::format("{}{}{}", link.source, link.sure ? '-' : 'p', link.target))
          .expected(fmt::format("source words 0 to {}, target words 0 to {}", sources - 1, targets - 1));
}

std::vector<AlignedPair> read_pairs(const std::filesystem::path& data,
                                    const std::filesystem::path& alignments, std::int64_t most) {
  std::vector<AlignedPair> pairs;
  LineReader texts(data), links(alignments);
  for (std::string text, link; texts.next(text);) {
    if (!links.next(link))
      throw Error(ErrorKind::invalid_input, "there are fewer alignments than texts", {links.name(), -1, -1})
          .found(counted(links.line_number(), "line"))
          .expected("one line for each line of " + texts.name());
    if (count_words(text) == 0) continue;
    const std::size_t tab = text.rfind('\t');
    AlignedPair pair{text.substr(0, tab),
                     tab == text.npos ? "" : text.substr(tab + 1),
                     {},
                     {texts.name(), texts.line_number(), -1}};
    if (count_words(pair.target) == 0)
      throw input_error("the line has no target").at(pair.place).expected("TEXT<tab>TARGET");
    placed({links.name(), links.line_number(), -1}, [&] {
      pair.links = parse_alignment(link);
      check_links(pair);
    });
    pairs.push_back(std::move(pair));
    if (most > 0 && std::ssize(pairs) >= most) return pairs;
  }
  if (std::string link; links.next(link))
    throw Error(ErrorKind::invalid_input, "there are more alignments than texts", {links.name(), -1, -1})
        .found(fmt::format("at least {} lines", links.line_number()))
        .expected(fmt::format("{} lines, one for each line of {}", texts.line_number(), texts.name()));
  if (pairs.empty())
    throw Error(ErrorKind::invalid_input, "the file has no texts", {texts.name(), -1, -1})
        .remedy("Write one pair per line, TEXT<tab>TARGET, or give another file");
  return pairs;
}

// Attention weights of one sentence pair, for each head, and their sums over each layer and over all heads.
// The sums are named "mean", because means have the same strongest links.
class PairWeights {
 public:
  explicit PairWeights(const std::vector<Map>& maps) {
    for (const Map& map : maps) {
      sum(map, map.head.text());
      sum(map, fmt::format("mean of layer {}", map.head.layer));
      sum(map, "mean");
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  // Return the attention weights [rows × columns] of a head, or the sums over a layer or over all heads.
  // `name` is one of names().
  std::span<const double> of(const std::string& name) const { return weights_.at(name); }

 private:
  void sum(const Map& map, const std::string& name) {
    const auto [found, is_new] = weights_.try_emplace(name, map.weights.size());
    if (is_new) names_.push_back(name);
    for (std::size_t i = 0; i < map.weights.size(); ++i)
      found->second[i] += static_cast<double>(map.weights[i]);
  }

  std::vector<std::string> names_;
  std::map<std::string, std::vector<double>> weights_;
};

class AlignmentSweep {
 public:
  AlignmentSweep(const infer::LoadedModel& loaded, ThreadPool& pool, const EditedPass* edits)
      : loaded_(loaded), pool_(pool), edits_(edits) {}

  void add(const AlignedPair& pair) {
    if (pair.links.empty()) {
      ++study_.without_links;
      return;
    }
    ++study_.pairs;
    const PassInput input =
        placed(pair.place, [&] { return pass_input(loaded_, pool_, pair.text, pair.target); });
    Selection selection;
    selection.kinds = {Kind::cross};
    Capture capture(selection);
    run_pass(*loaded_.model, pool_, input, edits_, capture);
    const PairWeights weights(maps_of(capture, false));
    const WordsOfPair words = words_of(loaded_, input);
    for (const std::string& name : weights.names()) {
      HeadAlignment& head = head_of(name);
      count_links(head.writing, strongest_links(weights.of(name), words.writing, words.source), pair.links);
      count_links(head.reading, strongest_links(weights.of(name), words.reading, words.source), pair.links);
    }
  }

  AlignmentStudy take() {
    std::ranges::stable_sort(study_.heads, {}, [](const HeadAlignment& head) {
      return std::min(head.writing.error_rate(), head.reading.error_rate());
    });
    return std::move(study_);
  }

 private:
  HeadAlignment& head_of(const std::string& name) {
    for (HeadAlignment& head : study_.heads)
      if (head.name == name) return head;
    return study_.heads.emplace_back(HeadAlignment{name, {}, {}});
  }

  const infer::LoadedModel& loaded_;
  ThreadPool& pool_;
  const EditedPass* edits_;
  AlignmentStudy study_;
};

}  // namespace

std::vector<AlignedWords> parse_alignment(std::string_view line) {
  std::vector<AlignedWords> links;
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::size_t begin = line.find_first_not_of(kSpaces); begin != line.npos;) {
    const std::size_t end = std::min(line.find_first_of(kSpaces, begin), line.size());
    const std::string_view link = line.substr(begin, end - begin);
    const std::size_t mark = std::min(link.find_first_of("-p"), link.size() - 1);
    links.push_back(
        {word_index(link.substr(0, mark), link), word_index(link.substr(mark + 1), link), link[mark] == '-'});
    if (!seen.insert({links.back().source, links.back().target}).second)
      throw input_error("an alignment has the same link twice").found("'" + std::string(link) + "'");
    begin = line.find_first_not_of(kSpaces, end);
  }
  return links;
}

double AlignmentCounts::precision() const {
  return share(found_possible, found);
}
double AlignmentCounts::recall() const {
  return share(found_sure, sure);
}
double AlignmentCounts::error_rate() const {
  return found + sure == 0 ? 0.0 : 1.0 - share(found_sure + found_possible, found + sure);
}

void count_links(AlignmentCounts& counts, std::span<const AlignedWords> found,
                 std::span<const AlignedWords> reference) {
  std::map<std::pair<std::int64_t, std::int64_t>, bool> known;
  for (const AlignedWords& link : reference) {
    known[{link.source, link.target}] = link.sure;
    counts.sure += link.sure;
  }
  for (const AlignedWords& link : found) {
    ++counts.found;
    const auto one = known.find({link.source, link.target});
    if (one == known.end()) continue;
    ++counts.found_possible;
    counts.found_sure += one->second;
  }
}

std::vector<AlignedWords> strongest_links(std::span<const double> weights,
                                          std::span<const std::int64_t> row_words,
                                          std::span<const std::int64_t> column_words) {
  // sums[target word][source word]: sum of the attention weights between the tokens of the two words
  std::map<std::int64_t, std::map<std::int64_t, double>> sums;
  for (std::size_t row = 0; row < row_words.size(); ++row)
    for (std::size_t column = 0; column < column_words.size(); ++column)
      if (row_words[row] >= 0 && column_words[column] >= 0)
        sums[row_words[row]][column_words[column]] += weights[row * column_words.size() + column];
  std::vector<AlignedWords> links;
  for (const auto& [target, of_sources] : sums) {
    double best = 0;
    std::int64_t source = -1;
    for (const auto& [word, sum] : of_sources)
      if (sum > best) best = sum, source = word;
    if (source >= 0) links.push_back({source, target, true});
  }
  return links;
}

AlignmentStudy study_alignment(const infer::LoadedModel& loaded, ThreadPool& pool,
                               const std::filesystem::path& data, const std::filesystem::path& alignments,
                               const AlignmentOptions& options) {
  if (loaded.model->kind() != ModelKind::encoder_decoder)
    throw usage_error("the model has no cross-attention").expected("an encoder-decoder");
  AlignmentSweep sweep(loaded, pool, options.edits);
  const std::vector<AlignedPair> pairs = read_pairs(data, alignments, options.most_examples);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    sweep.add(pairs[i]);
    if (options.progress && !options.progress(static_cast<double>(i + 1) / static_cast<double>(pairs.size())))
      throw cancelled_error("the study was stopped");
  }
  return sweep.take();
}

StudyTable table_of(const AlignmentStudy& study) {
  StudyTable table;
  table.study = "alignment";
  const std::int64_t sure = study.heads.empty() ? 0 : study.heads[0].writing.sure;
  table.title = fmt::format("Alignment error rate of cross-attention; {} with {}",
                            counted(study.pairs, "pair"), counted(sure, "sure link"));
  table.columns = {"head", "AER", "precision", "recall", "AER reading"};
  for (const HeadAlignment& head : study.heads) {
    const AlignmentCounts& one = head.writing;
    table.rows.push_back(
        {head.name, one.error_rate(), one.precision(), one.recall(), head.reading.error_rate()});
  }
  table.notes = {
      "Each target word is linked to the source word with the largest weight, in the steps that generate the "
      "target word.",
      "AER reading: the alignment error rate of the weights in the following steps, whose input is the "
      "target word."};
  if (study.without_links > 0)
    table.notes.push_back(fmt::format(
        "{} left out.", counted(study.without_links, "pair without links is", "pairs without links are")));
  return table;
}

}  // namespace regard::inspect

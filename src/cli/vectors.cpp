// regard vectors info|similar|analogy|evaluate: query and evaluate word vectors.
#include "cli/vectors.h"

#include <algorithm>
#include <cmath>

#include "base/counted.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "cli/number_checks.h"
#include "cli/output.h"
#include "cli/text_argument.h"
#include "inspect/heat_map.h"
#include "regard/error.h"
#include "vectors/evaluate.h"

namespace regard::cli {
namespace {

struct VectorsOptions {
  VectorsFile file;
  std::vector<std::string> words;
  std::string data, method = "3cosadd";
  std::size_t count = 10, restrict = 0, known = 300000;
  bool case_sensitive = false;
};

vectors::AnalogyMethod method_of(const VectorsOptions& options) {
  return options.method == "3cosmul" ? vectors::AnalogyMethod::multiply : vectors::AnalogyMethod::add;
}

void info(Globals& globals, const VectorsOptions& options) {
  const auto vectors = options.file.load(globals);
  double sum = 0.0;
  float smallest = vectors.norm(0), largest = smallest;
  std::int64_t not_utf8 = 0;
  for (std::size_t i = 0; i < vectors.count(); ++i) {
    sum += static_cast<double>(vectors.norm(i));
    smallest = std::min(smallest, vectors.norm(i));
    largest = std::max(largest, vectors.norm(i));
    not_utf8 += !utf8::valid(vectors.word(i));
  }
  Json first = Json::array();
  for (std::size_t i = 0; i < std::min(options.count, vectors.count()); ++i)
    first.push_back(std::string(vectors.word(i)));
  const Json json{{"file", vectors.name()},
                  {"format", vectors::name_of(vectors.format())},
                  {"words", vectors.count()},
                  {"size", vectors.size()},
                  {"repeated_words", vectors.duplicates()},
                  {"words_not_utf8", not_utf8},
                  {"subwords", vectors.has_subwords()},
                  {"mean_norm", sum / static_cast<double>(vectors.count())},
                  {"smallest_norm", smallest},
                  {"largest_norm", largest},
                  {"first_words", first}};
  if (globals.json) return print_json(json);
  print_result("{}: {}\n", vectors.name(), vectors::name_of(vectors.format()));
  print_result("words           {}\nsize            {}\n", vectors.count(), vectors.size());
  if (vectors.duplicates() > 0)
    print_result("repeated words  {} (the first occurrence is used)\n", vectors.duplicates());
  if (not_utf8 > 0) print_result("not UTF-8       {}\n", not_utf8);
  if (vectors.has_subwords()) print_result("n-grams         yes: every word has a vector\n");
  print_result("norms           {:.4f} to {:.4f}, mean {:.4f}\nfirst words    ", smallest, largest,
               sum / static_cast<double>(vectors.count()));
  for (std::size_t i = 0; i < first.size(); ++i) print_result(" {}", shown(vectors.word(i)));
  print_result("\n");
}

Json to_json(const vectors::WordVectors& vectors, const std::vector<vectors::Neighbour>& list) {
  Json json = Json::array();
  for (const vectors::Neighbour& one : list)
    json.push_back({{"word", std::string(vectors.word(one.index))}, {"score", one.score}});
  return json;
}

void print_list(const vectors::WordVectors& vectors, const std::vector<vectors::Neighbour>& list) {
  int width = 0;
  for (const vectors::Neighbour& one : list)
    width = std::max(width, utf8::width(shown(vectors.word(one.index))));
  for (const vectors::Neighbour& one : list)
    print_result("  {}  {:.4f}\n", inspect::padded(shown(vectors.word(one.index)), width, false), one.score);
}

void similar(Globals& globals, const VectorsOptions& options) {
  const auto vectors = options.file.load(globals);
  std::vector<vectors::Question> questions;
  for (const std::string& word : options.words) questions.push_back(vectors::neighbours_of(vectors, word));
  const auto found = vectors::search(vectors, questions, options.count, globals.pool(),
                                     vectors::AnalogyMethod::add, options.restrict);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (globals.json) {
      print_json({{"word", options.words[i]}, {"neighbours", to_json(vectors, found[i])}});
    } else {
      print_result("{}\n", options.words[i]);
      print_list(vectors, found[i]);
    }
  }
}

void analogy(Globals& globals, const VectorsOptions& options) {
  const auto vectors = options.file.load(globals);
  const auto& words = options.words;
  const std::vector<vectors::Question> questions{vectors::analogy_of(vectors, words[0], words[1], words[2])};
  const auto found = vectors::search(vectors, questions, options.count, globals.pool(), method_of(options),
                                     options.restrict);
  if (globals.json)
    return print_json({{"a", words[0]},
                       {"b", words[1]},
                       {"c", words[2]},
                       {"method", options.method},
                       {"answers", to_json(vectors, found[0])}});
  print_result("{} is to {} as {} is to\n", words[0], words[1], words[2]);
  print_list(vectors, found[0]);
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

void evaluate_pairs(const Globals& globals, const VectorsOptions& options,
                    const vectors::WordVectors& vectors, vectors::EvaluationFile&& data,
                    const vectors::EvaluationOptions& how) {
  const auto result = vectors::evaluate_pairs(vectors, std::move(data), how);
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); };
  if (globals.json)
    return print_json({{"data", options.data},
                       {"spearman", number(result.spearman)},
                       {"pearson", number(result.pearson)},
                       {"pairs", result.pairs},
                       {"unknown", result.unknown}});
  print_result(
      "Spearman {:.4f}, Pearson {:.4f} over {}; {} with out-of-vocabulary words skipped ({:.1f} "
      "%)\n",
      result.spearman, result.pearson, counted(result.pairs, "pair"), counted(result.unknown, "pair"),
      percent(result.unknown, result.pairs + result.unknown));
}

void evaluate_analogies(Globals& globals, const VectorsOptions& options, const vectors::WordVectors& vectors,
                        vectors::EvaluationFile&& data, const vectors::EvaluationOptions& how) {
  auto sections = vectors::evaluate_analogies(vectors, std::move(data), how, globals.pool());
  vectors::AnalogySection total{"total"};
  for (const auto& section : sections) {
    total.correct += section.correct;
    total.asked += section.asked;
    total.unknown += section.unknown;
  }
  if (globals.json) {
    Json list = Json::array();
    const auto one = [](const vectors::AnalogySection& section) {
      return Json{{"section", section.name},
                  {"correct", section.correct},
                  {"asked", section.asked},
                  {"unknown", section.unknown}};
    };
    for (const auto& section : sections) list.push_back(one(section));
    return print_json(
        {{"data", options.data}, {"method", options.method}, {"total", one(total)}, {"sections", list}});
  }
  sections.push_back(total);
  for (const auto& section : sections)
    print_result("{:<28}  {:>6.2f} %  {:>5} of {:>5}; {} skipped\n", section.name,
                 percent(section.correct, section.asked), section.correct, section.asked, section.unknown);
}

void evaluate(Globals& globals, const VectorsOptions& options) {
  const auto vectors = options.file.load(globals);
  const vectors::EvaluationOptions how{options.known, options.case_sensitive, method_of(options)};
  vectors::EvaluationFile data(options.data);
  if (data.holds_analogies()) {
    evaluate_analogies(globals, options, vectors, std::move(data), how);
  } else {
    evaluate_pairs(globals, options, vectors, std::move(data), how);
  }
}

void add_method(CLI::App& verb, VectorsOptions& options) {
  add_checked_option(verb, "--method", options.method,
                     "Score of an analogy: sum (3cosadd) or product (3cosmul) of cosines",
                     CLI::IsMember({"3cosadd", "3cosmul"}));
}

void add_restrict(CLI::App& verb, VectorsOptions& options, const char* meaning) {
  add_checked_option(verb, "--restrict", options.restrict, meaning, not_negative());
}

// Add a command that reads a file of word vectors and calls run(globals, *options).
CLI::App* add_query(CLI::App& verb, Globals& globals, const std::shared_ptr<VectorsOptions>& options,
                    void (*run)(Globals&, const VectorsOptions&), const char* name, const char* description) {
  CLI::App* query = verb.add_subcommand(name, description);
  add_globals(*query, globals);
  add_vectors_file(*query, options->file);
  query->callback([&globals, options, run] { run(globals, *options); });
  return query;
}

void add_queries(CLI::App& verb, Globals& globals, const std::shared_ptr<VectorsOptions>& options) {
  CLI::App* near = add_query(verb, globals, options, similar, "similar", "List the nearest words by cosine");
  near->add_option("WORD", options->words, "Words whose neighbours are listed")->required();
  add_checked_option(*near, "-n,--count", options->count, "Number of words to list for each WORD",
                     CLI::Range(1, 1000000));
  add_restrict(*near, *options, "Search only the first N words of the file; 0 searches all");

  CLI::App* analogies =
      add_query(verb, globals, options, analogy, "analogy", "Complete the analogy: A is to B as C is to …");
  analogies->add_option("WORDS", options->words, "Words A, B and C")->required()->expected(3);
  add_checked_option(*analogies, "-n,--count", options->count, "Number of results", CLI::Range(1, 1000000));
  add_method(*analogies, *options);
  add_restrict(*analogies, *options, "Search only the first N words of the file; 0 searches all");
}

}  // namespace

std::string shown(std::string_view word) {
  return utf8::valid(word) ? std::string(word) : utf8::encode(utf8::code_points(word));
}

vectors::WordVectors VectorsFile::load(Globals& globals) const {
  return vectors::WordVectors::load(path, globals.pool(), vectors::format_of(format));
}

void add_vectors_file(CLI::App& verb, VectorsFile& file) {
  verb.add_option("FILE", file.path,
                  "File of word vectors: word2vec text or binary, GloVe, fastText .vec or .bin")
      ->required()
      ->check(not_empty());
  add_checked_option(verb, "--format", file.format, "Format of FILE; auto detects it from the content",
                     CLI::IsMember(vectors::format_names()));
}

void print_json(const Json& json) {
  print_result("{}\n", json_text(json));
}

void add_vectors(CLI::App& app, Globals& globals) {
  CLI::App* verb = app.add_subcommand("vectors", "Query, compare, evaluate and train word vectors");
  verb->require_subcommand(1);
  const auto options = std::make_shared<VectorsOptions>();

  CLI::App* about = add_query(*verb, globals, options, info, "info", "Describe a file of word vectors");
  add_checked_option(*about, "-n,--count", options->count,
                     "Number of words to print, from the start of the file", not_negative());

  add_queries(*verb, globals, options);

  CLI::App* judge =
      add_query(*verb, globals, options, evaluate, "evaluate", "Evaluate on word similarities or analogies");
  judge->footer(
      "DATA holds pairs (WORD WORD NUMBER per line) or analogies in the format of questions-words.txt\n"
      "(\": NAME\" starts a section; four words per line). Upper and lower case are not distinguished: if\n"
      "words differ only in case, the first one in the file is used. --case-sensitive distinguishes them.");
  judge->add_option("DATA", options->data, "File of pairs or analogies; - is standard input")->required();
  add_method(*judge, *options);
  add_checked_option(*judge, "--restrict", options->known,
                     "Use only the first N words of the file; 0 uses all", not_negative());
  judge->add_flag("--case-sensitive", options->case_sensitive, "Distinguish upper and lower case");

  add_vectors_attend(*verb, globals);
  add_vectors_train(*verb, globals);
}

}  // namespace regard::cli

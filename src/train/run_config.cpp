#include "train/run_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/counted.h"
#include "base/file.h"
#include "base/utf8.h"
#include "formats/checkpoint.h"
#include "train/sharded_batches.h"
#include "train/task.h"
#include "train/train_list.h"
#include "train/unused_keys.h"

namespace regard::train {
namespace {

namespace fs = std::filesystem;

// Expand ${NAME} and ${NAME:-default} as a shell does. A variable that is unset or empty and has no default
// is an error.
std::string expand_environment(const std::string& text, const std::string& file) {
  std::string expanded;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find("${", at);
    if (open == std::string::npos) return expanded + text.substr(at);
    const std::size_t close = text.find('}', open);
    if (close == std::string::npos)
      throw Error(ErrorKind::bad_file, "'${' without '}' in the path '" + text + "'", {file})
          .expected("${NAME} or ${NAME:-DEFAULT}");
    expanded += text.substr(at, open - at);
    const std::string inside = text.substr(open + 2, close - open - 2);
    const std::size_t mark = inside.find(":-");
    const std::string name = inside.substr(0, mark);
    const char* value = std::getenv(name.c_str());
    if (value != nullptr && *value != '\0') {
      expanded += value;
    } else if (mark != std::string::npos) {
      expanded += inside.substr(mark + 2);
    } else {
      throw Error(ErrorKind::bad_file, "the environment variable '" + name + "' is not set", {file})
          .remedy("Set it, or write ${" + name + ":-DEFAULT}");
    }
    at = close + 1;
  }
}

std::string absolute(const std::string& path, const fs::path& start, const std::string& file) {
  if (path.empty() || path == kStandardInput) return path;
  const fs::path whole = fs::absolute(start / expand_environment(path, file)).lexically_normal();
  // the path without a final slash
  std::string text = (whole.has_filename() ? whole : whole.parent_path()).string();
  // The run saves its paths in run.toml, and TOML is UTF-8.
  if (!utf8::valid(text))
    throw usage_error("a path of the run is not UTF-8").found(text).remedy("Rename the file or folder");
  return text;
}

// Throws usage if standard input is named more than once, because it can be read only once.
void check_standard_input(const RunConfig& config) {
  std::ptrdiff_t times = 0;
  for (const auto* files : {&config.data.train, &config.data.valid})
    times += std::count(files->begin(), files->end(), kStandardInput);
  if (times == 0) return;
  if (times > 1)
    throw usage_error("standard input ('-') occurs more than once in 'data.train' and 'data.valid'")
        .remedy("Use files for the other data");
  if (config.tokenizer.file.empty() && config.model.from.empty())
    throw usage_error("training data from standard input requires 'tokenizer.file' or 'model.from'")
        .remedy(
            "Train a tokenizer first with `regard tokenizer train`, or use a file instead of standard input");
  if (config.data.valid.empty() && is_plain_text(config))
    throw usage_error("running text from standard input requires 'data.valid'")
        .remedy("Set 'data.valid' to a file");
}

// Make all paths absolute, except "-" (standard input).
void resolve_paths(RunConfig& config, const std::string& file) {
  const fs::path start = fs::absolute(file).parent_path();
  for (auto* paths : {&config.data.train, &config.data.valid})
    for (std::string& path : *paths) path = absolute(path, start, file);
  config.data.train_list = absolute(config.data.train_list, start, file);
  config.tokenizer.file = absolute(config.tokenizer.file, start, file);
  config.model.from = absolute(config.model.from, start, file);
  config.model.vectors = absolute(config.model.vectors, start, file);
  config.output.folder = absolute(config.output.folder, fs::current_path(), file);
}

// Throws io unless the path names a regular file, standard input or, if `may_be_folder`, a folder.
void check_file(const std::string& path, const char* key, bool may_be_folder = false) {
  std::error_code ignored;
  if (path == kStandardInput) return;
  if (fs::is_regular_file(path, ignored) || (may_be_folder && fs::is_directory(path, ignored))) return;
  if (fs::exists(path, ignored))
    throw io_error(path, fmt::format("'{}' is not a regular file", key),
                   fs::is_directory(path, ignored) ? EISDIR : EINVAL);
  throw io_error(path, fmt::format("the file of '{}' does not exist", key), ENOENT)
      .remedy(
          fmt::format("Paths in a run file are relative to its folder; --set {}=… overrides the path", key));
}

void check_files(const RunConfig& config, RunFiles files) {
  check_standard_input(config);
  const bool folders = task_traits(config.task).corpus.folders;
  for (std::size_t i = 0; i < config.data.train.size() && !config.data.sharded; ++i)
    check_train_file(config, i);
  for (const std::string& path : config.data.valid) check_file(path, "data.valid", folders);
  if (files == RunFiles::data) return;
  if (!config.tokenizer.file.empty()) check_file(config.tokenizer.file, "tokenizer.file");
  if (!config.model.vectors.empty()) check_file(config.model.vectors, "model.vectors");
}

// Check that all files of a list have the same format, and that data.train and data.valid are both running
// text or both records (such as table rows). Question answering skips this check, because each file's name
// determines its format.
void check_forms(const RunConfig& config) {
  if (config.task == "question-answering") return;
  for (const auto* files : {&config.data.train, &config.data.valid})
    for (const std::string& path : *files)
      if (const data::CorpusFormat form = corpus_format(config, files->front()),
          other = corpus_format(config, path);
          other != form)
        throw usage_error(fmt::format("the files of 'data.{}' have different formats",
                                      files == &config.data.train ? "train" : "valid"))
            .found(fmt::format("{} as {}", path, data::format_name(other)))
            .expected(fmt::format("{}, as for {}", data::format_name(form), files->front()))
            .remedy(
                "The format follows from the file name (.tsv, .csv, .jsonl); 'data.format' sets one format "
                "for all files");
  if (config.data.valid.empty()) return;
  const bool text = is_plain_text(config);
  if (text == (corpus_format(config, config.data.valid.front()) == data::CorpusFormat::text)) return;
  throw usage_error(
      "'data.train' and 'data.valid' have different formats: one is running text, the other has records")
      .found(fmt::format("{} in {}", text ? "records" : "text", config.data.valid.front()))
      .expected(fmt::format("{}, as in {}", text ? "text" : "records", config.data.train.front()))
      .remedy(text ? "To train on each line as a record, set 'data.format' to \"lines\" and "
                     "'data.valid_format' to "
                     "\"auto\""
                   : "To validate on each line as a record, set 'data.valid_format' to \"lines\"");
}

void check_weights(const RunConfig& config) {
  const std::size_t weights = config.data.weights.size();
  if (weights == 0) return;
  const std::size_t corpora = corpora_of(config, config.data.train).size();
  if (weights != corpora)
    throw usage_error(
        "the length of 'data.weights' differs from the number of files (or groups of line-aligned files) of "
        "'data.train'")
        .found(counted(weights, "number"))
        .expected(counted(corpora, "number"));
  if (std::none_of(config.data.weights.begin(), config.data.weights.end(), [](double w) { return w > 0.0; }))
    throw usage_error("'data.weights' excludes all training data").expected("a number above 0");
}

void check_sources(const RunConfig& config) {
  const DataConfig& data = config.data;
  if (data.train.empty())
    throw usage_error("'data.train' is empty")
        .expected("at least one file")
        .remedy("Name the files in 'data.train', or in a file that 'data.train_list' names");
  check_forms(config);
  const data::CorpusFormat form = corpus_format(config, data.train.front());
  if ((form == data::CorpusFormat::tsv || form == data::CorpusFormat::csv) &&
      std::find(data.columns.begin(), data.columns.end(), "0") != data.columns.end())
    throw usage_error("'data.columns' contains an invalid column")
        .found("0")
        .expected("numbers from 1, or names");
  if (data.valid.empty() && data.valid_fraction == 0.0)
    throw usage_error("there is no validation data")
        .remedy("Set 'data.valid', or hold out a fraction of the training text with 'data.valid_fraction'");
}

void check_model(const RunConfig& config) {
  const TransformerConfig& model = config.model.transformer;
  if (config.model.freeze_vectors && config.model.vectors.empty())
    throw usage_error("'model.freeze_vectors' requires 'model.vectors'")
        .remedy("Set 'model.vectors' to a file of word vectors, or remove 'model.freeze_vectors'");
  if (!config.model.vectors.empty() && !config.model.from.empty())
    throw usage_error("'model.vectors' cannot be combined with 'model.from'")
        .remedy("Remove one of the two keys");
  if (!config.model.from.empty()) return;
  const std::vector<const char*>& families = task_traits(config.task).families;
  if (std::none_of(families.begin(), families.end(),
                   [&](const char* family) { return config.model.family == family; }))
    throw usage_error("'model.family' does not fit the task '" + config.task + "'")
        .found("\"" + config.model.family + "\"")
        .expected(fmt::format("\"{}\", or a folder in 'model.from'", fmt::join(families, "\", \"")));
  if (is_sequence_family(config.model.family)) return;
  check_positions(config, model.max_positions, "'model.max_positions'");
  if (model.head_size == 0 && model.hidden_size % model.heads != 0)
    throw usage_error("'model.heads' is not a divisor of 'model.hidden_size'")
        .found(counted(model.heads, "head"))
        .expected(fmt::format("a divisor of {}", model.hidden_size));
  const std::int64_t kv_heads = model.kv_heads == 0 ? model.heads : model.kv_heads;
  if (model.heads % kv_heads != 0)
    throw usage_error("'model.kv_heads' is not a divisor of 'model.heads'")
        .found(counted(kv_heads, "head"))
        .expected(fmt::format("a divisor of {}", model.heads));
}

void check_training(const RunConfig& config) {
  const TrainingConfig& training = config.training;
  if (training.max_steps == 0 && training.max_epochs == 0.0 && training.max_minutes == 0.0)
    throw usage_error("the length of the run has no limit")
        .remedy("Set 'max_steps', 'max_epochs' or 'max_minutes' of [training]");
  check_optimization(training, training.max_steps);
  if (config.lora.used()) lora_config(config.lora, "");  // throws usage if a value is invalid
  if (config.lora.used() && training.average_last > 0)
    throw usage_error("'training.average_last' cannot be combined with 'lora.rank'")
        .remedy("Use 'training.ema_decay' instead");
}

void check_validation(const RunConfig& config) {
  std::vector<std::string> known;
  for (const MetricKind& metric : task_traits(config.task).metrics) known.emplace_back(metric.name);
  const std::string expected = fmt::format("{}", fmt::join(known, ", "));
  if (config.validation.metrics.empty())
    throw usage_error("'validation.metrics' is empty").expected(expected);
  for (const std::string& metric : config.validation.metrics)
    if (std::find(known.begin(), known.end(), metric) == known.end())
      throw usage_error("'validation.metrics' contains '" + metric +
                        "', which is not a metric of the task '" + config.task + "'")
          .expected(expected);
  const std::string& best = config.validation.best;
  if (best != "auto" && !config.wants(best))
    throw usage_error("'validation.best' is not in 'validation.metrics'")
        .found("'" + best + "'")
        .expected(fmt::format("auto, or one of {}", fmt::join(config.validation.metrics, ", ")));
  if (config.training.average_last > 0 && config.validation.every_steps == 0)
    throw usage_error("'training.average_last' requires 'validation.every_steps'")
        .found("every_steps 0")
        .expected("every_steps above 0");
}

}  // namespace

void check_train_file(const RunConfig& config, std::size_t index) {
  const std::string& path = config.data.train[index];
  if (index >= config.train_places.size())
    return check_file(path, "data.train", task_traits(config.task).corpus.folders);
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return;
  throw Error(ErrorKind::io,
              fmt::format("the file '{}' in the list does not exist or is not a regular file", path),
              config.train_places[index])
      .remedy("Correct the path. Paths in a list are relative to the folder of the list");
}

bool RunConfig::wants(const std::string& metric) const {
  return std::find(validation.metrics.begin(), validation.metrics.end(), metric) != validation.metrics.end();
}

std::string RunConfig::best_metric() const {
  if (validation.best != "auto") return validation.best;
  for (const MetricKind& metric : task_traits(task).metrics)
    if (wants(metric.name)) return metric.name;
  return "loss";
}

namespace {

// Check the run file for keys that have no effect. Add a warning if an override is the reason; otherwise
// throw bad_file.
void judge_keys(RunConfig& config, const RunConfig& file_alone, const std::vector<GivenKey>& keys) {
  const std::vector<Field> fields = run_fields(config);
  const bool names_task = std::ranges::find(config.given, "task", &GivenKey::name) != config.given.end();
  for (const GivenKey& key : keys) {
    const Field& field = *find_field(fields, key.name);
    const std::string reason = why_unused(config, field);
    if (reason.empty()) continue;
    const std::string message = fmt::format("'{}' has no effect: {}", key.name, reason);
    if (!why_unused(file_alone, field).empty())
      throw Error(ErrorKind::bad_file, message, key.place)
          .remedy(names_task || field.applies_to(config.task)
                      ? "Remove it"
                      : fmt::format("Remove it, or set 'task' (default: \"{}\")", config.task));
    config.warnings.push_back(fmt::format("{}:{}: {}", key.place.file, key.place.line, message));
  }
}

RunConfig parse(const std::string& text, const std::string& file, const std::vector<std::string>& overrides,
                const std::string& saved_in) {
  RunConfig config;
  const std::vector<Field> fields = run_fields(config);
  const std::vector<GivenKey> given = read_fields(fields, parse_toml(text, file), file);
  const RunConfig file_alone = config;
  if (!saved_in.empty()) config.output.folder = fs::absolute(saved_in).lexically_normal().string();
  std::vector<GivenKey> set;
  for (const std::string& override_text : overrides) set.push_back(set_field(fields, override_text));
  resolve_paths(config, file);
  config.given = given;
  config.given.insert(config.given.end(), set.begin(), set.end());
  with_place_of_key(config, [&] { read_train_list(config); });
  // Do not check a saved run.toml: earlier versions saved all keys, including those without effect.
  if (saved_in.empty()) judge_keys(config, file_alone, given);
  for (const GivenKey& key : set)
    if (const std::string reason = why_unused(config, *find_field(fields, key.name)); !reason.empty())
      throw Error(ErrorKind::usage, fmt::format("'{}' has no effect: {}", key.name, reason), key.place);
  config.file = file;
  return config;
}

}  // namespace

RunConfig parse_run(const std::string& text, const std::string& file,
                    const std::vector<std::string>& overrides) {
  return parse(text, file, overrides, "");
}

void apply_older_rules(RunConfig& config, const std::string& run_toml) {
  if (!read_toml(run_toml)["data"]["normalize_whitespace"]) config.data.normalize_whitespace = false;
}

RunConfig read_run(const std::string& path, const std::vector<std::string>& overrides) {
  // Maximum size of a run file. It may list many thousands of shards.
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 24;
  const bool is_folder = formats::RunFolder::is_run_folder(path);
  const fs::path file = is_folder ? fs::path(path) / "run.toml" : fs::path(path);
  const fs::path folder = fs::absolute(file).parent_path();
  // A run folder replaces the output.folder of its run.toml, because the folder may have been moved.
  const bool saved = file.filename() == "run.toml" && formats::RunFolder::is_run_folder(folder);
  return parse(read_file(file, kMaxBytes), file.string(), overrides, saved ? folder.string() : "");
}

void check_positions(const RunConfig& config, std::int64_t max_positions, const std::string& whose) {
  const SequenceLimit limit = make_task(config)->longest_sequence();
  if (max_positions == 0 || limit.tokens <= max_positions) return;
  throw usage_error(fmt::format("'{}' exceeds the model's maximum number of positions", limit.key))
      .found(counted(limit.tokens, "token"))
      .expected(fmt::format("at most {} tokens ({})", max_positions, whose))
      .remedy(fmt::format("Set '{}' to {}{}", limit.key, max_positions, limit.effect));
}

Place place_of_key(const RunConfig& config, std::string_view error) {
  for (std::size_t begin = error.find('\''); begin != error.npos; begin = error.find('\'', begin + 1)) {
    const std::string_view rest = error.substr(begin + 1);
    const std::string_view name = rest.substr(0, rest.find('\''));
    // Search from the end, because an override takes precedence over the value in the file.
    const auto key = std::find_if(config.given.rbegin(), config.given.rend(),
                                  [name](const GivenKey& given) { return given.name == name; });
    if (key != config.given.rend()) return key->place;
  }
  return {config.file};
}

void check_run(const RunConfig& config, RunFiles files) {
  check_sources(config);
  make_task(config)->check();
  check_model(config);
  check_training(config);
  check_validation(config);
  if (config.output.folder.empty())
    throw usage_error("'output.folder' is empty").expected("the path of the run folder");
  if (config.data.sharded) check_sharded(config);
  check_files(config, files);
  check_weights(config);
}

std::string run_as_toml(const RunConfig& config) {
  RunConfig copy = config;
  copy.train_places.clear();  // data.train already contains the files of data.train_list
  return fields_as_toml(used_fields(copy));
}

std::string help_config(const std::string& key) {
  RunConfig defaults;
  return fields_as_help(key.empty() ? run_fields(defaults) : named_fields(run_fields(defaults), key),
                        [&](const Field& field) { return why_unused(defaults, field); });
}

std::vector<RunChange> changes_between(const RunConfig& saved, const RunConfig& now) {
  RunConfig before = saved, after = now;
  const std::vector<Field> left = run_fields(before), right = run_fields(after);
  std::vector<RunChange> changes;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool unused = !why_unused(saved, left[i]).empty() && !why_unused(now, right[i]).empty();
    const std::string old_value = value_text(left[i]), new_value = value_text(right[i]);
    if (!unused && old_value != new_value)
      changes.push_back({left[i].name(), old_value, new_value, left[i].may_change});
  }
  return changes;
}

}  // namespace regard::train

#include "cli/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json_text.h"
#include "base/line_reader.h"
#include "base/printable.h"
#include "base/toml.h"
#include "base/utf8.h"
#include "formats/checkpoint.h"
#include "formats/model_folder.h"
#include "text/tokenizer.h"
#include "text/tokenizer_files.h"

namespace regard::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensors = "tensors";

Json describe_tensors(const std::vector<std::shared_ptr<const formats::TensorFile>>& files) {
  std::map<std::string, std::uint64_t> dtypes;  // number of elements, by dtype
  std::uint64_t numbers = 0, bytes = 0, count = 0;
  Json list = Json::array();
  Json metadata = Json::object();
  for (const auto& file : files) {
    for (const auto& [key, value] : file->metadata()) metadata[key] = value;
    for (const formats::TensorEntry& entry : file->entries()) {
      list.push_back(
          {{"name", entry.name}, {"dtype", entry.dtype}, {"shape", entry.shape}, {"bytes", entry.size}});
      dtypes[entry.dtype] += entry.elements();
      numbers += entry.elements();
      bytes += entry.size;
      ++count;
    }
  }
  return {{"tensor_count", count}, {"numbers", numbers},   {"bytes", bytes},
          {"dtypes", dtypes},      {"metadata", metadata}, {kTensors, std::move(list)}};
}

Json describe_tokenizer(const fs::path& path) {
  const auto tokenizer = text::Tokenizer::load(path);
  return {{"type", tokenizer->model_type()},
          {"vocabulary_size", tokenizer->vocabulary_size()},
          {"tokens", tokenizer->token_count()}};
}

Json describe_model(const fs::path& path) {
  const auto model = formats::ModelFolder::open(path);
  Json description = {{"folder", model.path.string()}, {"config", model.config}};
  if (model.generation_config) description["generation_config"] = *model.generation_config;
  if (!model.warning.empty()) description["warning"] = model.warning;
  if (text::has_tokenizer(model.tokenizer)) description["tokenizer"] = describe_tokenizer(model.tokenizer);
  description.update(describe_tensors(model.weights().files()));
  return description;
}

// Return the last complete line of the run's log, or null if there is none.
Json last_logged(const fs::path& log) {
  if (!fs::is_regular_file(log)) return nullptr;  // opening a FIFO would block
  Json last;
  // An incomplete last line may end within a character; parse_json() checks the line that is used.
  LineReader reader(log, BadUtf8::keep);
  std::string line, kept;
  while (reader.next(line))
    if (!line.empty() && !reader.line_end().empty()) kept = line;
  return kept.empty() ? Json() : parse_json(kept, log.string());
}

Json describe_run(const fs::path& path) {
  const auto run = formats::RunFolder::open(path);
  const toml::table settings = read_toml((path / "run.toml").string());
  Json description = {{"kind", "run"}, {"path", path.string()}};
  if (const auto task = settings["task"].value<std::string>()) description["task"] = *task;
  description["checkpoints"] = run.steps();
  if (const auto latest = run.latest()) {
    description["latest"] = latest->step;
    if (!latest->warning.empty()) description["warning"] = latest->warning;
  }
  if (const auto best = run.best()) {
    description["best"] = best->step;
    if (fs::exists(best->folder / "config.json")) description["model"] = describe_model(best->folder);
  }
  if (const Json log = last_logged(path / "log.jsonl"); !log.is_null()) description["log"] = log;
  return description;
}

Json describe_json(const fs::path& path) {
  const std::string name = path.string();
  const Json value = read_json(name);
  if (value.is_object()) {
    if (value.contains("weight_map")) {
      Json description = {{"kind", "shards"}, {"path", name}};
      description.update(describe_tensors(formats::Weights::open_index(path).files()));
      return description;
    }
    if (value.contains("model") && value.contains("added_tokens")) {
      Json description = {{"kind", "tokenizer"}, {"path", name}};
      description.update(describe_tokenizer(path));
      return description;
    }
    if (value.contains("model_type")) return {{"kind", "config"}, {"path", name}, {"config", value}};
  }
  throw file_error(name, "unknown kind of JSON file")
      .expected("config.json, tokenizer.json or an index of shards");
}

Json describe_file(const fs::path& path) {
  const std::string name = path.string();
  if (path.extension() == ".json") return describe_json(path);
  if (const std::string type = path.extension().string();
      type == ".safetensors" || type == ".bin" || type == ".pt" || type == ".pth") {
    Json description = {{"kind", type == ".safetensors" ? "safetensors" : "pytorch"}, {"path", name}};
    description.update(describe_tensors(formats::Weights::open_file(path).files()));
    return description;
  }
  if (path.extension() == ".gguf")
    throw file_error(name, "GGUF files are not supported")
        .remedy("Use the original model in safetensors format");
  throw file_error(name, "unknown kind of file")
      .expected(
          "*.safetensors, pytorch_model.bin, tokenizer.json, config.json, an index of shards, or a folder");
}

std::string value_text(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>(), 200);
  return printable(json_text(value), 200);
}

std::string shape_text(const Json& shape) {
  std::string text = "[";
  for (const Json& size : shape) text += (text.size() > 1 ? ", " : "") + size.dump();
  return text + "]";
}

std::string padded(const std::string& text, int columns) {
  return text + std::string(static_cast<std::size_t>(std::max(columns - utf8::width(text), 0)), ' ');
}

void add_tensors(std::string& text, const Json& tensors) {
  constexpr int kWidest = 60;
  int width = 0;
  for (const Json& tensor : tensors)
    width = std::max(width, utf8::width(printable(tensor["name"].get<std::string>(), kWidest)));
  for (const Json& tensor : tensors)
    text +=
        fmt::format("  {}  {:<8}  {}\n", padded(printable(tensor["name"].get<std::string>(), kWidest), width),
                    tensor["dtype"].get<std::string>(), shape_text(tensor["shape"]));
}

using Lines = std::vector<std::pair<std::string, std::string>>;

// Flatten nested objects to dotted keys, and collect the tensors in `table`.
void collect_lines(Lines& lines, std::string& table, const Json& object, const std::string& prefix) {
  for (const auto& [key, value] : object.items()) {
    if (key == kTensors && value.is_array()) {
      add_tensors(table, value);
    } else if (value.is_object()) {
      collect_lines(lines, table, value, prefix + printable(key, 60) + ".");
    } else {
      lines.emplace_back(prefix + printable(key, 60), value_text(value));
    }
  }
}

}  // namespace

Json describe_path(const fs::path& path) {
  if (!fs::exists(path))
    throw Error(ErrorKind::io, "there is no such file or folder", {path.string(), -1, -1});
  if (!fs::is_directory(path)) return describe_file(path);
  if (formats::RunFolder::is_run_folder(path)) return describe_run(path);
  Json description = {{"kind", fs::exists(path / "manifest.json") ? "checkpoint" : "model"},
                      {"path", path.string()}};
  description.update(describe_model(path));
  return description;
}

std::string description_text(const Json& description) {
  Lines lines;
  std::string text, table;
  collect_lines(lines, table, description, "");
  int width = 0;
  for (const auto& [key, value] : lines) width = std::max(width, utf8::width(key));
  for (const auto& [key, value] : lines) text += padded(key, width) + "  " + value + "\n";
  return text + table;
}

}  // namespace regard::cli

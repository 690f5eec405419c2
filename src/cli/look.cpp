#include "cli/look.h"

#include <cerrno>

#include "base/file.h"
#include "inspect/ablation.h"

namespace regard::cli {

void add_look_options(CLI::App& verb, LookOptions& options) {
  verb.add_option("--ablate", options.ablate,
                  "Heads to switch off: LAYER.HEAD or KIND.LAYER.HEAD, with commas; their output is zero");
  verb.add_option("--attend", options.attend,
                  "Write each input's attention to this file: one JSON object a line, as attend --json");
}

inspect::Kind usual_kind(ModelKind kind) {
  if (kind == ModelKind::encoder_decoder) return inspect::Kind::cross;
  return kind == ModelKind::decoder ? inspect::Kind::decoder : inspect::Kind::encoder;
}

Look::Look(const LookOptions& options, Network& model, ThreadPool& pool)
    : path_(options.attend),
      ablated_(inspect::parse_heads(options.ablate, usual_kind(model.kind()))),
      probe_(inspect::ablation(model, pool, ablated_)) {
  if (path_.empty()) return;
  file_.reset(std::fopen(path_.c_str(), "w"));
  if (!file_) throw io_error(path_, "cannot be written", errno);
}

void Look::write(const inspect::View& view) {
  write_line(inspect::to_json(view));
}

void Look::write_nothing() {
  write_line("");
}

void Look::write_line(const std::string& line) {
  if (!file_) return;
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fputc('\n', file_.get()) == EOF || std::fflush(file_.get()) != 0)
    throw io_error(path_, "cannot be written", errno);
}

}  // namespace regard::cli

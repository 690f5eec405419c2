// --ablate, --intervene and --attend: inspection options of every command that runs a model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/verb.h"
#include "infer/loaded_model.h"
#include "inspect/attend.h"
#include "inspect/attention_view.h"
#include "inspect/edited_pass.h"
#include "inspect/usual_kind.h"
#include "models/network.h"

namespace regard::cli {

struct ProbeOptions {
  std::string ablate;                      // heads to ablate: the value of --ablate
  std::vector<std::string> interventions;  // interventions in the syntax of inspect::Intervention::parse
  std::string attend;                      // output file for attention weights; empty if there is none
};

void add_probe_options(CLI::App& verb, ProbeOptions& options);
// Add only --ablate and --intervene.
void add_changes(CLI::App& verb, ProbeOptions& options);
// Add only --intervene.
void add_intervene(CLI::App& verb, std::vector<std::string>& interventions);

using inspect::usual_kind;

// Print a warning for each intervention that changed nothing; call this after the last forward pass. `edits`
// may be null.
void warn_of_unused(const inspect::EditedPass* edits);

class ModelProbes {
 public:
  // `model` must outlive the object. Throws usage if --ablate or --intervene is malformed, or if the model
  // does not have the head, layer or probe point. Throws io if the --attend file cannot be written.
  ModelProbes(const ProbeOptions& options, const infer::LoadedModel& model, ThreadPool& pool);

  // Return the probe that ablates heads and applies interventions; null if there are none. This object owns
  // it.
  Probe* probe() const { return edits_ ? edits_.get() : ablation_.get(); }
  // Copy the ablated heads and the interventions to the request, so that the attention weights are computed
  // with them.
  void add_to(inspect::AttendRequest& request) const;

  bool attends() const { return file_.has_value(); }  // true if --attend is given
  // Write one line per input, in input order, to the --attend file: inspect::to_json(view), or an empty line
  // for an input without attention weights.
  void write(const inspect::View& view);
  void write_nothing();
  // Call this after the last input. Prints the warnings of warn_of_unused() and moves the --attend file to
  // its final name; after a stop signal, an existing file of this name stays unmodified.
  void finish();

 private:
  void write_line(const std::string& line);

  std::vector<inspect::Head> ablated_;
  std::vector<std::string> interventions_;
  std::unique_ptr<Probe> ablation_;
  std::unique_ptr<inspect::EditedPass> edits_;
  std::optional<AtomicFile> file_;
};

// A text, and the same text as the input of a model that generates text.
struct AttendedInput {
  std::string text;
  ModelInput input;
};

// With --attend, run the model on `attended` and the generated tokens `written`, and write its attention
// weights. Writes an empty line if `written` is empty.
void attend_written(ModelProbes& probes, const infer::LoadedModel& model, ThreadPool& pool,
                    const std::string& name, const AttendedInput& attended,
                    const std::vector<std::int32_t>& written);

}  // namespace regard::cli

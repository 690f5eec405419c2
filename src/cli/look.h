// --ablate and --attend: what every verb that runs a model offers to those who look inside it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/verb.h"
#include "infer/loaded_model.h"
#include "inspect/attention_view.h"
#include "models/network.h"

namespace regard::cli {

struct LookOptions {
  std::string ablate;  // as inspect::parse_heads reads it
  std::string attend;  // a file; empty: nothing is written
};

void add_look_options(CLI::App& verb, LookOptions& options);

// What of a model is meant where a head is named without its kind: that which the model writes with.
inspect::Kind usual_kind(ModelKind kind);

class Look {
 public:
  // Throws usage where a head is not written as one, or is not there; io where the file cannot be written.
  Look(const LookOptions& options, Network& model, ThreadPool& pool);

  // Null where nothing is ablated. Valid as long as this object.
  Probe* probe() const { return probe_.get(); }
  const std::vector<inspect::Head>& ablated() const { return ablated_; }

  // With --attend, every input's attention is one line of the file: inspect::to_json(view), in the order of
  // the inputs. An input that is not run (an empty line) has an empty line. The file appears at finish().
  bool attends() const { return file_.has_value(); }
  void write(const inspect::View& view);
  void write_nothing();
  // After the last input. A verb that a signal stopped leaves the file as it was.
  void finish();

 private:
  void write_line(const std::string& line);

  std::vector<inspect::Head> ablated_;
  std::unique_ptr<Probe> probe_;
  std::optional<AtomicFile> file_;
};

// What a model that writes was given.
struct Looked {
  std::string text;
  std::vector<std::int32_t> ids;
};

// With --attend: the attention of reading this and writing those tokens. Nothing written: an empty line.
void attend_written(Look& look, const infer::LoadedModel& model, ThreadPool& pool, const std::string& name,
                    const Looked& looked, const std::vector<std::int32_t>& written);

}  // namespace regard::cli

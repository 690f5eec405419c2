// The options of regard attend.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "cli/view_options.h"
#include "inspect/attend.h"

namespace regard::cli {

struct AttendOptions : ViewOptions {
  std::string model, adapter, text, pair, target, ablate, svg, html, compare;
  std::int64_t generate = 0, beam = 0, what_if = 10;
  std::vector<std::string> interventions, tokenizers;
  bool all = false, checkpoints = false;
};

inspect::AttendRequest attend_request_of(const AttendOptions& options, ModelKind kind);

// Throw usage if an option for text models is given. `reads` is the input of the model ("images" or "sound"),
// for the error message.
void require_no_text_options(const AttendOptions& options, const char* reads);

// Throw usage if an option adds data to a capture but no capture is written.
void require_capture(const AttendOptions& options, bool json);

// Throw usage if --generate is given for a model without a decoder, or with --target and without --compare,
// or if --beam is given but no text is generated. `generates` is true if the model generates the target of
// TEXT.
void require_generated(const AttendOptions& options, bool generates, ModelKind kind);

// Tokenise the text with the model's tokenizer and with each tokenizer of --tokenizer, and add the tokens to
// `view`.
void add_tokenizers(const AttendOptions& options, const infer::LoadedModel& opened, inspect::View& view);

// Add the data that only the HTML page shows. --what-if: results with one head ablated at a time, for the
// heads with the highest scores; --checkpoints: attention weights with every checkpoint of the run;
// --compare: attention weights for another text.
void add_page_parts(const AttendOptions& options, const infer::LoadedModel& opened,
                    const inspect::AttendRequest& request, Globals& globals, inspect::View& view);

// Show the attention of an image model in the opened folder; options.text is the image file.
void attend_picture(const AttendOptions& options, formats::ModelFolder model_folder, Globals& globals);

// Show the attention of a sound model in the opened folder; options.text is the sound file.
void attend_sound(const AttendOptions& options, formats::ModelFolder model_folder, Globals& globals);

}  // namespace regard::cli

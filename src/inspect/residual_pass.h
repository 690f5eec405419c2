// Passes of a decoder in which given residuals replace the outputs of the layers.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/resolve.h"
#include "inspect/study_pass.h"
#include "ops/tape.h"

namespace regard::inspect {

// Throw usage if the model does not predict the next token.
void require_next_token(Network& model);

// Throw usage if `edits` change the probe point `point`. `study` is the name of the study for the message.
void require_unchanged(const EditedPass* edits, const std::string& point, const char* study);

// Return the number of layers of the decoder.
std::int64_t decoder_layers(const ModelPoints& points);

// Set the outputs of the first `layers` layers of the decoder to `residual`.
void skip_layers(InjectedPass& pass, std::int64_t layers, const Tensor& residual);

// Run the decoder with `probe` on `rows` sequences of one token each; return its output [rows, hidden].
Var run_rows(Tape& tape, Network& model, std::int64_t rows, Probe& probe);

}  // namespace regard::inspect

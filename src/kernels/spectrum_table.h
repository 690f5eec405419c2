// Function table of kernels/spectrum.h.
#pragma once

#include "kernels/spectrum.h"

namespace regard::kernels {

struct SpectrumTable {
  void (*fourier_stage)(const FourierStage& stage);
  void (*mel_energies)(const MelEnergies& energies);
};

}  // namespace regard::kernels

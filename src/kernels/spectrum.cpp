#include "kernels/spectrum.h"

#include "kernels/dispatch.h"
#include "kernels/spectrum_table.h"

namespace regard::kernels {

REGARD_KERNEL_TABLE(SpectrumTable, spectrum_table)

void fourier_stage(const FourierStage& stage) {
  dispatch_spectrum_table().fourier_stage(stage);
}

void mel_energies(const MelEnergies& energies) {
  dispatch_spectrum_table().mel_energies(energies);
}

}  // namespace regard::kernels

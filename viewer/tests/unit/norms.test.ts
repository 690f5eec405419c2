import { describe, expect, it } from "vitest";
import { layerNorm, normals } from "../../src/math";
import { normBetween, rmsNorm } from "../../src/norms";

const states = Array.from({ length: 5 }, (_, t) => normals(16, t + 1).map((x) => x + 0.5));
const [gain, bias] = [normals(16, 20), normals(16, 21)];

describe("normBetween", () => {
  it("recognises a layer norm with gain and bias", () => {
    const inputs = states.map((state) => layerNorm(state).normalised.map((x, i) => x * gain[i]! + bias[i]!));
    expect(normBetween(states, inputs)).toBe("layer");
  });

  it("recognises an RMS norm, which subtracts no mean", () => {
    const inputs = states.map((state) => rmsNorm(state).normalised.map((x, i) => x * gain[i]!));
    expect(normBetween(states, inputs)).toBe("rms");
  });

  it("recognises that there is no norm, and does not guess", () => {
    expect(normBetween(states, states)).toBe("none");
    expect(
      normBetween(
        states,
        states.map((_, t) => normals(16, 90 + t)),
      ),
    ).toBe("other");
    expect(normBetween(states.slice(0, 2), states.slice(2, 4))).toBe("other");
  });
});

import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  plugins: [viteSingleFile()],
  build: { target: "es2022", modulePreload: false, reportCompressedSize: false },
  // Each process loads the modules once for all its unit tests: they hold no state but caches.
  test: { include: ["tests/unit/**/*.test.ts"], isolate: false, unstubGlobals: true },
} as Parameters<typeof defineConfig>[0]);

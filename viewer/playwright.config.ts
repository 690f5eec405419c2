import { defineConfig } from "@playwright/test";

// PAGE: a page written by `regard attend --html`; CAPTURE: the JSON of the same command.
export default defineConfig({
  testDir: "tests/browser",
  projects: [
    { name: "pages", testIgnore: "speed.spec.ts" },
    { name: "speed", testMatch: "speed.spec.ts" },
  ],
  workers: 2,
  fullyParallel: true,
  timeout: 180000,
  expect: { timeout: 30000 }, // long, for busy machines
  reporter: "line",
  snapshotPathTemplate: "{testDir}/looks/{arg}{ext}",
  use: {
    launchOptions: {
      executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium-headless-shell",
      args: ["--no-sandbox"],
    },
  },
});

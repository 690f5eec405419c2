// Measure the page on an idle machine: node scripts/measure.mjs PROGRAM DEMO (DEMO: a run folder of `regard demo`).
// Prints medians in milliseconds: the time to the first view of a page written by `attend --html` (and of a page of
// 512 tokens, if MODEL512 names a model for it); in the served page, the time from the click that switches a head
// off to the comparison of before and after, and the part of it that the request takes.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";

const [program, demo] = process.argv.slice(2);
if (!program || !demo) throw new Error("usage: node scripts/measure.mjs PROGRAM DEMO");
const sentence = "The exam was a piece of cake.";
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
  args: ["--no-sandbox"],
});

/** Median time from the navigation to the first view of a file, over ten fresh pages. */
async function firstView(file) {
  const times = [];
  for (let i = 0; i < 10; ++i) {
    const page = await browser.newPage();
    await page.goto(`file://${file}`);
    await page.locator("h1").waitFor({ state: "attached" });
    times.push(await page.evaluate(() => performance.getEntriesByName("first view")[0].duration));
    await page.close();
  }
  return median(times);
}

const written = join(mkdtempSync(join(tmpdir(), "measure-")), "page.html");
execFileSync(program, ["attend", demo, sentence, "--html", written, "-q"]);
console.log(`first view of the demo from a file: ${(await firstView(written)).toFixed(0)} ms (limit 500)`);
if (process.env.MODEL512) {
  const text = Array.from({ length: 512 }, (_, i) => ["money", "river", "bank"][i % 3]).join(" ");
  execFileSync(program, ["attend", process.env.MODEL512, text, "--html", written, "-q"]);
  console.log(`first view of a long text: ${(await firstView(written)).toFixed(0)} ms (limit 1000)`);
}

const server = spawn(program, ["serve", "--name", `demo=${demo}`, "--port", "0"]);
const url = await new Promise((done) => {
  const read = (bytes) => {
    const found = /http:\/\/[\d.]+:\d+/.exec(bytes.toString());
    if (found) done(found[0]);
  };
  server.stdout.on("data", read);
  server.stderr.on("data", read);
});
try {
  const page = await browser.newPage();
  await page.goto(`${url}/#${new URLSearchParams({ text: sentence, view: "whatif" }).toString()}`);
  await page.getByText("All heads are on.").waitFor();
  const [totals, requests] = [[], []];
  const heads = page.getByRole("button", { name: /^Switch off Cross-attention/ });
  for (let i = 0; i < (await heads.count()); ++i) {
    await page.evaluate(() => (performance.clearMeasures(), performance.clearResourceTimings()));
    await heads.nth(i).click();
    await page.waitForFunction(() => performance.getEntriesByName("what if").length > 0);
    totals.push(await page.evaluate(() => performance.getEntriesByName("what if")[0].duration));
    requests.push(await page.evaluate(() => performance.getEntriesByType("resource").at(-1).duration));
    await page.getByRole("button", { name: "Undo" }).click();
    await page.getByText("All heads are on.").waitFor();
  }
  console.log(
    `before and after: ${median(totals).toFixed(0)} ms (limit 100), worst ${Math.max(...totals).toFixed(0)} ms`,
  );
  console.log(`of which the request: ${median(requests).toFixed(0)} ms`);
} finally {
  server.kill();
  await browser.close();
}

// Open pages and read their exports.
import { readFileSync } from "node:fs";
import { expect, type Page, type Route } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";

/**
 * Width in pixels and colour scheme of the windows in which every view is opened. Layout does not depend on colours, so
 * these two find what all four combinations would find.
 */
export const windows = [
  [1280, "light"],
  [390, "dark"],
] as const;

/** The page with a capture in it, as `attend --html` writes it; null: as `regard serve` serves it. */
export function pageWith(capture: Capture | null): string {
  const page = readFileSync("page.html", "utf8");
  const begin = page.indexOf('id="data">') + 'id="data">'.length;
  const json = JSON.stringify(capture).replaceAll("<", "\\u003c");
  return page.slice(0, begin) + json + page.slice(page.indexOf("</script>", begin));
}

/** Open a file. Script errors and requests to other addresses are added to the returned list. */
export async function open(browser: Page, file: string, fragment = ""): Promise<string[]> {
  const errors: string[] = [];
  browser.on("pageerror", (error) => errors.push(String(error)));
  browser.on("request", (request) => {
    if (!request.url().startsWith("file:") && !request.url().startsWith("blob:")) errors.push(request.url());
  });
  // Without this, a new fragment of the shown file does not load it again.
  if (browser.url() !== "about:blank") await browser.goto("about:blank");
  await browser.goto(`file://${file}${fragment}`);
  await expect(browser.locator("h1")).toBeVisible();
  return errors;
}

/**
 * Open the page served at `url` and choose `model`, which reads files. The model "text" is chosen first: only
 * then is there a box for a sentence.
 */
export async function visitModelOfFiles(browser: Page, url: string, model: string): Promise<void> {
  if (process.env["DEVELOP"])
    await browser.route(`${url}/`, (route) =>
      route.fulfill({ contentType: "text/html", body: pageWith(null) }),
    );
  await browser.goto(url);
  await browser.getByLabel("Model", { exact: true }).selectOption("text");
  await expect(browser.getByLabel("Sentence")).toBeVisible();
  await browser.getByLabel("Model", { exact: true }).selectOption(model);
  await expect(browser.getByLabel("Sentence")).toBeHidden();
}

/** Address of the page that visitSample() opens. */
export const sampleServer = "http://regard.test";

/** Open the page as a server with one model serves it. `answers`: the server's answer to POST attend. */
export async function visitSample(
  browser: Page,
  answers: (route: Route) => Promise<void> | void,
  fragment = "",
): Promise<void> {
  const answer = (path: string, contentType: string, body: string) =>
    browser.route(`${sampleServer}/${path}`, (route) => route.fulfill({ contentType, body }));
  const models = [{ name: "sample", abilities: ["attend"] }];
  await answer("", "text/html", pageWith(null));
  await answer("models", "application/json", JSON.stringify({ models }));
  await browser.route(`${sampleServer}/attend`, answers);
  await browser.goto(`${sampleServer}/${fragment}`);
}

/** Return the text that "Save as" writes. */
export async function saved(browser: Page, format: string): Promise<string> {
  const download = browser.waitForEvent("download");
  await browser.getByLabel("Save as").selectOption(format);
  return readFileSync(await (await download).path(), "utf8");
}

/** The numbers of a CSV export, without labels. */
export function numbersOf(csv: string): number[][] {
  return csv
    .trim()
    .split("\r\n")
    .slice(1)
    .map((row) =>
      row
        .replace(/^"(?:[^"]|"")*",/, "")
        .split(",")
        .map(Number),
    );
}

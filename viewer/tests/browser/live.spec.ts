// The page as `regard serve` serves it: asking, switching heads off, comparing, patching, errors.
import { expect, type Page, test } from "@playwright/test";
import { firstHead } from "../../src/capture";
import type { Capture } from "../../src/capture.gen";
import { chapters } from "../../src/live/story";
import { lostBetween } from "../../src/outcome";
import { rowsOf } from "../../src/packed";
import { sampleCapture } from "../sample";
import { violations } from "./axe";
import { folderOf, tinyText } from "./model";
import { numbersOf, pageWith, saved, visitSample, windows } from "./open";
import { serve, type Server } from "./server";

let server: Server;
test.beforeAll(async () => {
  server = await serve({ translator: folderOf("bart"), reader: folderOf("bert"), writer: folderOf("gpt2") });
});
test.afterAll(() => server.stop());

/** Open the served page. Script errors and violations of the content policy are added to the returned list. */
async function visit(browser: Page, fragment = ""): Promise<string[]> {
  const errors: string[] = [];
  browser.on("pageerror", (error) => errors.push(String(error)));
  browser.on("console", (message) => {
    if (/Content Security Policy/i.test(message.text())) errors.push(message.text());
  });
  browser.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("blob:"))
      errors.push(request.url());
  });
  // DEVELOP=1 tests page.html instead of the page built into the program.
  if (process.env["DEVELOP"])
    await browser.route(`${server.url}/`, (route) =>
      route.fulfill({ contentType: "text/html", body: pageWith(null) }),
    );
  await browser.goto(`${server.url}/${fragment}`);
  return errors;
}

function fragment(parts: Record<string, string>): string {
  return `#${new URLSearchParams(parts).toString()}`;
}

const asked = { text: tinyText, model: "translator" };
const short = { ...asked, generate: "6" }; // "6" is a string, as in the URL fragment

test("a sentence is typed, shown, and part of the address", async ({ page: browser }) => {
  const errors = await visit(browser);
  await expect(browser.getByLabel("Model")).toBeVisible();
  await browser.getByLabel("Model").selectOption("translator");
  await browser.getByLabel("Sentence").fill(tinyText);
  await browser.getByRole("button", { name: "Show attention" }).click();
  await expect(browser.locator(".reading .piece").first()).toHaveText(tinyText.split(" ")[0]!);
  await expect(browser).toHaveURL(/text=t5\+t9/);
  await expect(browser).toHaveURL(/model=translator/);
  // The numbers are those of POST /attend.
  const answer = await browser.request.post(`${server.url}/attend`, { data: { ...asked } });
  const capture = (await answer.json()) as Capture;
  const shown = JSON.parse(await saved(browser, "json")) as Capture;
  expect(shown.attention.map((head) => head.weights)).toEqual(capture.attention.map((head) => head.weights));
  const head = firstHead(capture);
  expect(numbersOf(await saved(browser, "csv"))).toEqual(rowsOf(head.weights!));
  // Ask about another sentence, then go back.
  await browser.getByLabel("Sentence").fill("t7 t7");
  await browser.keyboard.press("Enter");
  await expect(browser.locator(".reading .piece").first()).toHaveText("t7");
  await browser.goBack();
  await expect(browser.locator(".reading .piece").first()).toHaveText("t5");
  expect(errors).toEqual([]);
});

for (const [width, colorScheme] of windows)
  test(`live: every view opens without errors or violations at ${width} pixels, ${colorScheme}`, async ({
    page: browser,
  }) => {
    await browser.setViewportSize({ width, height: 900 });
    await browser.emulateMedia({ colorScheme });
    const errors = await visit(browser, fragment({ ...short, off: "encoder.0.0", other: "t9 t9 t5" }));
    await expect(browser.getByRole("tab").first()).toBeVisible();
    const views = await browser.getByRole("tab").allTextContents();
    expect(views).toEqual(expect.arrayContaining(["What if", "Compare", "Meaning", "Step by step"]));
    for (const view of views) {
      await browser.getByRole("tab", { name: view }).click();
      if (view === "What if")
        await expect(browser.getByRole("heading", { name: "After", exact: true })).toBeVisible();
      if (view === "Compare") await expect(browser.locator(".split svg")).toHaveCount(2);
      const parts = view === views[0] ? [] : ["#view"];
      expect(await violations(browser, ...parts), view).toEqual([]);
      const overflow = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(overflow, view).toBeLessThanOrEqual(0);
    }
    expect(errors).toEqual([]);
  });

test("parameters of a layer are requested when its steps are shown", async ({ page: browser }) => {
  const errors = await visit(
    browser,
    fragment({ ...short, view: "steps", head: "cross.1.0", step: "2", feature: "1", column: "3" }),
  );
  await expect(browser.getByText("is the model's own K: largest difference")).toBeVisible();
  const answer = await browser.request.post(`${server.url}/attend`, {
    data: { ...asked, generate: 6, values: true, parameters: true, kind: "cross", layers: [1] },
  });
  const { parameters, values } = ((await answer.json()) as Capture).attention[0]!;
  const weight = rowsOf(parameters!.key.weight);
  await expect(browser.locator(".terms tbody tr")).toHaveCount(weight.length);
  const key = rowsOf(values!.key)[3]![1]!;
  await expect(browser.locator(".steps .formula b")).toHaveText(
    new RegExp(`^${key.toFixed(2).replace("-", "−")}`),
  );
  await browser.getByRole("button", { name: "W_O", exact: true }).click();
  await expect(browser.getByText("The model's own number:")).toBeVisible();
  expect(errors).toEqual([]);
});

test("a head that is switched off changes what the server computes", async ({ page: browser }) => {
  await visit(browser, fragment({ ...short, view: "whatif" }));
  await expect(browser.getByText("All heads are on.")).toBeVisible();
  let requests = 0;
  browser.on("request", (sent) => (requests += sent.url().endsWith("/attend") ? 1 : 0));
  await browser.getByRole("button", { name: "Switch off Encoder self-attention, layer 0, head 1" }).click();
  await expect(browser).toHaveURL(/off=encoder\.0\.1/);
  await expect(browser.getByText("Attention that changes")).toBeVisible();
  expect(requests, "one request for before and after").toBe(1);
  const request = (more: object) =>
    browser.request.post(`${server.url}/attend`, { data: { ...asked, generate: 6, ...more } });
  const before = (await (await request({})).json()) as Capture;
  const after = (await (
    await request({ ablate: "encoder.0.1", written: before.tokens.written!.ids })
  ).json()) as Capture;
  const lost = after.steps!.map((step, i) => {
    const one = before.steps![i]!;
    return step.log_sum_exp - step.written_logit - (one.log_sum_exp - one.written_logit);
  });
  const free = (await (await request({ ablate: "encoder.0.1" })).json()) as Capture;
  const written = browser.locator(".two .written");
  await expect(written).toHaveText([before.translation!, free.translation!]);
  const mean = lost.reduce((sum, x) => sum + x, 0) / lost.length;
  await expect(browser.getByText(`lose ${mean.toFixed(3).replace("-", "−")} nats`)).toBeVisible();
  await browser.getByRole("button", { name: "Undo" }).click();
  await expect(browser.getByText("All heads are on.")).toBeVisible();
  await browser.getByRole("button", { name: "Measure every head" }).click();
  const heads = before.attention.length;
  await expect(browser.getByRole("button", { name: "Measure every head" })).toBeVisible();
  await expect(browser.locator(".ranking li")).toHaveCount(Math.min(12, heads));
});

test("a decoder needs one request for before and after", async ({ page: browser }) => {
  const question = { text: tinyText, model: "writer", generate: 5 };
  await visit(browser, fragment({ text: tinyText, model: "writer", generate: "5", view: "whatif" }));
  await expect(browser.getByText("All heads are on.")).toBeVisible();
  let requests = 0;
  browser.on("request", (sent) => (requests += sent.url().endsWith("/attend") ? 1 : 0));
  await browser.getByRole("button", { name: "Switch off Decoder self-attention, layer 0, head 1" }).click();
  await expect(browser.getByText("Attention that changes")).toBeVisible();
  expect(requests).toBe(1);
  const request = async (more: object) =>
    (await (
      await browser.request.post(`${server.url}/attend`, { data: { ...question, ...more } })
    ).json()) as Capture;
  const before = await request({});
  const written = before.tokens.target!.ids!.slice(before.prompt_tokens);
  const after = await request({ ablate: "decoder.0.1", written, generate: 0 });
  expect(after.tokens.target).toEqual(before.tokens.target);
  const free = await request({ ablate: "decoder.0.1" });
  await expect(browser.locator(".two .written")).toHaveText([before.translation!, free.translation!]);
  const lost = lostBetween(before, after)!;
  await expect(browser.getByText(`lose ${lost.toFixed(3).replace("-", "−")} nats`)).toBeVisible();
});

test("the guided story is told from the first sentence to the last", async ({ page: browser }) => {
  const errors = await visit(browser, "");
  await browser.getByRole("button", { name: "Guided story" }).click();
  const story = browser.getByRole("region", { name: "Guided story" });
  for (const [index, { title, state, text }] of chapters.entries()) {
    await expect(story.getByRole("heading", { name: title })).toBeVisible();
    await expect(browser.getByLabel("Sentence", { exact: true })).toHaveValue(text);
    await expect(browser.locator(`#tab-${state["view"]!}`)).toHaveAttribute("aria-selected", "true");
    await expect(browser).toHaveURL(new RegExp(`story=${index + 1}`));
    if (state["other"]) await expect(browser.locator(".split svg")).toHaveCount(2);
    if (state["view"] === "whatif") {
      await browser.getByRole("button", { name: "Measure every head" }).click();
      await expect(browser.getByRole("button", { name: /until the text changes/ })).toBeVisible();
    }
    if (index === 0) expect(await violations(browser, ".story")).toEqual([]);
    if (index + 1 < chapters.length) await story.getByRole("button", { name: "Next" }).click();
  }
  // The address of a chapter opens it; the buttons Back and End work.
  await browser.reload();
  await expect(story.getByRole("heading", { name: chapters.at(-1)!.title })).toBeVisible();
  await story.getByRole("button", { name: "Back" }).click();
  await expect(story.getByRole("heading", { name: chapters.at(-2)!.title })).toBeVisible();
  await story.getByRole("button", { name: "End" }).click();
  await expect(browser).not.toHaveURL(/story=/);
  await expect(browser.locator("#tab-basics")).toHaveAttribute("aria-selected", "true");
  expect(errors).toEqual([]);
});

test("states are patched from another sentence", async ({ page: browser }) => {
  await visit(browser, fragment({ ...short, view: "whatif" }));
  await browser.getByLabel("Other sentence").fill("t9 t9 t9");
  await browser.getByRole("button", { name: "Patch every place" }).click();
  const cells = browser.locator(".patch-part td button");
  await expect(browser.getByRole("button", { name: "Patch every place" })).toBeVisible();
  await expect(cells.first()).toBeEnabled();
  await cells.first().click();
  await expect(
    browser.locator(".patch-part").getByRole("heading", { name: "After", exact: true }),
  ).toBeVisible();
});

test("a place is patched while the others are measured", async ({ page: browser }) => {
  await visit(browser, fragment({ ...short, view: "whatif" }));
  let measured = 0;
  await browser.route("**/attend", (route) => {
    const body = route.request().postDataJSON() as { heads?: number[] };
    // let only the first measurement reach the server
    return body.heads && ++measured > 1 ? undefined : route.continue();
  });
  await browser.getByLabel("Other sentence").fill("t9 t9 t9");
  await browser.getByRole("button", { name: "Patch every place" }).click();
  await browser.locator(".patch-part td button:not([disabled])").first().click();
  await expect(
    browser.locator(".patch-part").getByRole("heading", { name: "After", exact: true }),
  ).toBeVisible();
});

test("a refused patch shows the server's message", async ({ page: browser }) => {
  await visit(browser, fragment({ ...short, view: "whatif" }));
  await expect(browser.getByLabel("Other sentence")).toBeVisible();
  const refused = JSON.stringify({ error: "expected a shorter text" });
  await browser.route("**/attend", (route) => route.fulfill({ status: 400, body: refused }));
  await browser.getByLabel("Other sentence").fill("t9");
  await browser.getByRole("button", { name: "Patch every place" }).click();
  await expect(browser.locator(".patch-part").getByRole("alert")).toHaveText("expected a shorter text");
});

test("two texts are shown beside each other, linked", async ({ page: browser }) => {
  await visit(browser, fragment({ ...short, view: "compare" }));
  await browser.getByLabel("Second sentence").fill("t9 t9 t5");
  await browser.getByRole("button", { name: "Compare", exact: true }).click();
  const columns = browser.locator(".split svg").nth(0).locator('text[transform*="rotate"]');
  await columns.filter({ hasText: "t9" }).first().hover();
  await expect(browser.locator(".split svg").nth(1).locator("text.picked")).toHaveText("t9");
  await expect(browser.getByText("The same words in both texts")).toBeVisible();
});

test("errors are shown, and a running request can be cancelled", async ({ page: browser }) => {
  await visit(browser);
  await browser.getByLabel("Model").selectOption("translator");
  const refused = JSON.stringify({ error: "expected at most 1024 tokens, found 2000" });
  await browser.route("**/attend", (route) => route.fulfill({ status: 400, body: refused }));
  await browser.getByLabel("Sentence").fill("too long");
  await browser.keyboard.press("Enter");
  await expect(browser.getByRole("alert")).toHaveText("expected at most 1024 tokens, found 2000");
  await browser.unroute("**/attend");
  await browser.route("**/attend", () => undefined); // never answered
  await browser.keyboard.press("Enter");
  await expect(browser.getByText("Computing…")).toBeVisible();
  await browser.getByRole("button", { name: "Cancel" }).click();
  await expect(browser.getByRole("button", { name: "Show attention" })).toBeVisible();
  await browser.unroute("**/attend");
  await browser.route("**/attend", (route) => route.abort());
  await browser.getByLabel("Sentence").fill("t5");
  await browser.keyboard.press("Enter");
  await expect(browser.getByRole("alert")).toContainText("The server does not answer");
});

test("an answer that arrives after the user went back is not shown", async ({ page: browser }) => {
  const errors = await visit(browser, fragment({ ...asked, view: "lines" }));
  const pieces = browser.locator(".reading .piece");
  await expect(pieces.first()).toHaveText("t5");
  let answer = (): void => undefined;
  const held = new Promise<void>((done) => (answer = done));
  await browser.route(`${server.url}/attend`, async (route) => {
    await held;
    await route.continue().catch(() => undefined); // the page has cancelled the request
  });
  const go = (parts: Record<string, string>) =>
    browser.evaluate((address) => (location.hash = address), fragment(parts));
  await go({ ...asked, text: "t7 t7" });
  await expect(browser.getByText("Computing…")).toBeVisible();
  await browser.goBack();
  await expect(browser.getByText("Computing…")).toBeHidden();
  await expect(browser.getByLabel("Sentence")).toHaveValue(tinyText);
  // A change of the shown page during a request does not give the answer the address of that page.
  await go({ ...asked, text: "t7 t9" });
  await expect(browser.getByText("Computing…")).toBeVisible();
  await browser.getByRole("tab", { name: "Table" }).click();
  await expect(browser).toHaveURL(/text=t5/);
  answer();
  await expect(pieces.first()).toHaveText("t7");
  await expect(pieces.nth(1)).toHaveText("t9");
  await expect(browser).toHaveURL(/text=t7\+t9/);
  expect(errors).toEqual([]);
});

test("a server that is loading is asked again; one with keys gets the key", async ({ page: browser }) => {
  let asks = 0;
  const origin = "http://regard.test";
  await browser.route(`${origin}/`, (route) =>
    route.fulfill({ contentType: "text/html", body: pageWith(null) }),
  );
  await browser.route(`${origin}/models`, (route) => {
    ++asks;
    if (asks === 1) return route.fulfill({ status: 503, headers: { "Retry-After": "1" }, body: "{}" });
    if (route.request().headers()["authorization"] !== "Bearer secret")
      return route.fulfill({ status: 401, body: JSON.stringify({ error: "expected a valid API key" }) });
    const models = [{ name: "sample", abilities: ["attend"] }];
    return route.fulfill({ body: JSON.stringify({ models }) });
  });
  await browser.route(`${origin}/health`, (route) =>
    route.fulfill({ status: 503, body: JSON.stringify({ status: "loading" }) }),
  );
  await browser.route(`${origin}/attend`, (route) =>
    route.fulfill({ body: JSON.stringify(sampleCapture()) }),
  );
  await browser.goto(`${origin}/`);
  await expect(browser.getByText("The server is loading its models…")).toBeVisible();
  await expect(browser.getByLabel("API key")).toBeVisible();
  await browser.getByLabel("API key").fill("secret");
  await browser.getByRole("button", { name: "The exam was a piece of cake." }).click();
  await expect(browser.getByRole("tab", { name: "Heat map" })).toBeVisible();
  expect(browser.url()).not.toContain("secret");
  // A 503 means "wait" only while the server loads its models; otherwise it is an error.
  await browser.unroute(`${origin}/health`);
  await browser.route(`${origin}/health`, (route) =>
    route.fulfill({ body: JSON.stringify({ status: "ok" }) }),
  );
  await browser.unroute(`${origin}/attend`);
  const stopped = JSON.stringify({ error: "the request was cancelled" });
  await browser.route(`${origin}/attend`, (route) => route.fulfill({ status: 503, body: stopped }));
  await browser.getByRole("button", { name: "He ate a piece of cake." }).click();
  await expect(browser.getByRole("alert")).toHaveText("the request was cancelled");
  await expect(browser.getByRole("button", { name: "Show attention" })).toBeVisible();
});

test("words that the model never saw are marked", async ({ page: browser }) => {
  const capture = sampleCapture({ source: ["the", "zeb", "ra", "</s>"] });
  capture.unseen_words = ["zebra"];
  capture.tokens.source!.unseen = [false, true, true, false];
  await visitSample(browser, (route) => route.fulfill({ body: JSON.stringify(capture) }));
  await browser.getByLabel("Sentence").fill("the Zebra, the zebra");
  await browser.keyboard.press("Enter");
  await expect(browser.locator(".reading .piece.unknown")).toHaveText(["zeb", "ra"]);
  await expect(browser.getByText("no training sentence (underlined): zebra")).toBeVisible();
  await expect(browser.locator(".under-text mark")).toHaveText(["Zebra", "zebra"]);
  await browser.getByLabel("Sentence").fill("the zebra and more");
  await expect(browser.locator(".under-text mark")).toHaveText(["zebra"]);
  expect(await violations(browser)).toEqual([]);
});

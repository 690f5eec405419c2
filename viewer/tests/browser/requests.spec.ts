// Views that send requests: what they show until the answer arrives, after an error, and after Undo.
import { expect, type Page, type Route, test } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";
import { sampleBeams, sampleCapture, sampleSteps } from "../sample";
import { violations } from "./axe";
import { visitSample } from "./open";

const text = "the quick fox";

function sample(source: string[]): Capture {
  const capture = sampleCapture({ source: [...source, "</s>"] });
  capture.text = source.join(" ");
  capture.translation = `about ${source.at(-1)!}`;
  sampleSteps(capture);
  sampleBeams(capture);
  return capture;
}

/** Answer with a capture of the text that is asked for. */
function answer(route: Route): Promise<void> {
  const { text } = route.request().postDataJSON() as { text: string };
  return route.fulfill({ body: JSON.stringify(sample(text.split(" "))) });
}

/** Open a view of `text`. Each call of the returned function waits for a request of the view, which has no answer yet. */
async function visit(browser: Page, view: string): Promise<() => Promise<Route>> {
  const waiting: Route[] = [];
  let opened = false;
  const answers = (route: Route) => {
    if (opened) return void waiting.push(route);
    opened = true;
    return answer(route);
  };
  await visitSample(browser, answers, `#${new URLSearchParams({ text, view }).toString()}`);
  await expect(browser.getByRole("tab").first()).toBeVisible();
  return async () => {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    return waiting.shift()!;
  };
}

const refuse = (route: Route) => route.fulfill({ status: 503, body: JSON.stringify({ error: "too busy" }) });

const busy = (browser: Page) => browser.locator("#view").getByText("Computing…", { exact: true });

test("What if: an outcome is not shown beside other heads that are off", async ({ page: browser }) => {
  const next = await visit(browser, "whatif");
  const head = (index: number) =>
    browser.getByRole("button", { name: `Switch off Encoder self-attention, layer 0, head ${index}` });
  const outcome = browser.getByRole("heading", { name: "After", exact: true });
  await head(0).click();
  await expect(busy(browser)).toBeVisible();
  await answer(await next());
  await expect(outcome).toBeVisible();
  await expect(busy(browser)).toHaveCount(0);
  await head(1).click();
  await expect(busy(browser)).toBeVisible();
  await expect(outcome).toHaveCount(0);
  await refuse(await next());
  await expect(browser.getByRole("alert").filter({ hasText: "too busy" })).toBeVisible();
  await browser.getByRole("button", { name: "Try again" }).click();
  await expect(busy(browser)).toBeVisible();
  await answer(await next());
  await expect(outcome).toBeVisible();
});

test("Compare: Undo returns to the comparison before, or to none", async ({ page: browser }) => {
  const next = await visit(browser, "compare");
  const field = browser.getByLabel("Second sentence");
  const second = browser.locator(".split h3").nth(1);
  const undo = browser.getByRole("button", { name: "Undo" });
  const compare = async (other: string) => {
    await field.fill(other);
    await field.press("Enter");
  };
  const answered = async (other: string) => {
    await expect(busy(browser)).toBeVisible();
    await expect(second).toHaveCount(0);
    await answer(await next());
    await expect(second).toHaveText(other);
    await expect(busy(browser)).toHaveCount(0);
  };
  await compare("the slow fox");
  await answered("the slow fox");
  await compare("the slow dog");
  await answered("the slow dog");
  await undo.click();
  await expect(field).toHaveValue("the slow fox");
  await answered("the slow fox");
  await undo.click();
  await expect(field).toHaveValue("");
  await expect(second).toHaveCount(0);
  await expect(busy(browser)).toHaveCount(0);
  await expect(browser.getByText("Two texts beside each other")).toBeVisible();
  // A text that is typed stays while the page is drawn again.
  await field.fill("the dog");
  await browser.locator(".grid button").first().click();
  await expect(field).toHaveValue("the dog");
});

test("Compare: a refused text can be sent again", async ({ page: browser }) => {
  const next = await visit(browser, "compare");
  await browser.getByLabel("Second sentence").fill("the dog");
  for (const name of ["Compare", "Try again"]) {
    await browser.getByRole("button", { name, exact: true }).click();
    await expect(busy(browser), name).toBeVisible();
    await refuse(await next());
    await expect(browser.locator("#view").getByRole("alert")).toHaveText("too busy");
  }
  await browser.getByRole("button", { name: "Compare", exact: true }).click();
  await expect(busy(browser)).toBeVisible();
  await answer(await next());
  await expect(browser.locator(".split h3").nth(1)).toHaveText("the dog");
  await expect(browser.locator("#view").getByRole("alert")).toHaveCount(0);
});

test("Beams: a search that failed can be repeated", async ({ page: browser }) => {
  const next = await visit(browser, "beams");
  const found = browser.locator(".results tbody tr");
  let width = 1000;
  const search = async (beams: string) => {
    await browser.getByLabel("Number of beams").fill(beams);
    // A number that is typed stays while the page is drawn again.
    width = width === 1000 ? 1100 : 1000;
    await browser.setViewportSize({ width, height: 800 });
    await browser.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    await browser.getByLabel("Number of beams").press("Enter");
  };
  await expect(found).toHaveCount(2); // of the page's capture, without a request
  await search("5");
  await expect(busy(browser)).toBeVisible();
  await expect(found).toHaveCount(0);
  await refuse(await next());
  await expect(browser.locator("#view").getByRole("alert")).toHaveText("too busy");
  await expect(found).toHaveCount(0);
  expect(await violations(browser, "#view")).toEqual([]);
  await browser.getByRole("button", { name: "Try again" }).click();
  await expect(busy(browser)).toBeVisible();
  await answer(await next());
  await expect(found).toHaveCount(2);
  await search("6");
  await expect(busy(browser)).toBeVisible();
  await search("2");
  await expect(busy(browser)).toHaveCount(0);
  await expect(found).toHaveCount(2);
});

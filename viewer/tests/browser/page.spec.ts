import { readFileSync } from "node:fs";
import AxeBuilder from "@axe-core/playwright";
import { expect, type Page, test } from "@playwright/test";

const page = process.env["PAGE"]!;
const capture = JSON.parse(readFileSync(process.env["CAPTURE"]!, "utf8"));

async function open(browser: Page, fragment = ""): Promise<string[]> {
  const errors: string[] = [];
  browser.on("pageerror", (error) => errors.push(String(error)));
  browser.on("request", (request) => {
    if (!request.url().startsWith("file:") && !request.url().startsWith("blob:")) errors.push(request.url());
  });
  await browser.goto(`file://${page}${fragment}`);
  await expect(browser.locator("h1")).toHaveText(capture.text);
  return errors;
}

async function saved(browser: Page, format: string): Promise<string> {
  const download = browser.waitForEvent("download");
  await browser.getByLabel("Save as").selectOption(format);
  return readFileSync((await (await download).path())!, "utf8");
}

for (const width of [390, 1280])
  for (const colorScheme of ["light", "dark"] as const)
    test(`every view opens without errors or violations at ${width} pixels, ${colorScheme}`, async ({
      page: browser,
    }) => {
      await browser.setViewportSize({ width, height: 900 });
      await browser.emulateMedia({ colorScheme });
      const errors = await open(browser);
      for (const view of ["Heat map", "Lines", "Step by step", "Table"]) {
        await browser.getByRole("tab", { name: view }).click();
        const result = await new AxeBuilder({ page: browser }).analyze();
        expect(result.violations.map((v) => [v.id, v.nodes[0]?.html])).toEqual([]);
        const overflow = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        expect(overflow).toBeLessThanOrEqual(0);
      }
      expect(errors).toEqual([]);
    });

test("the exported numbers are those of the capture", async ({ page: browser }) => {
  await open(browser);
  expect(JSON.parse(await saved(browser, "json"))).toEqual(capture);
  for (const head of capture.attention.slice(0, 3)) {
    await open(browser, `#head=${head.kind}.${head.layer}.${head.head}`);
    await browser.reload();
    const rows = (await saved(browser, "csv")).trim().split("\r\n").slice(1);
    const numbers = rows.map((row) =>
      row
        .replace(/^"(?:[^"]|"")*",/, "")
        .split(",")
        .map(Number),
    );
    expect(numbers).toEqual(head.weights);
  }
});

test("steps compute the model's own weights from its vectors", async ({ page: browser }) => {
  const head = capture.attention.find((each: { values?: unknown }) => each.values);
  await open(browser, `#head=${head.kind}.${head.layer}.${head.head}&view=steps&row=1`);
  await browser.getByRole("button", { name: "Softmax" }).click();
  await expect(browser.getByText("The model's own weights: largest difference")).toBeVisible();
  await browser.getByLabel("K = Q").check();
  await expect(browser.getByText("A switch is changed")).toBeVisible();
  await browser.getByRole("button", { name: "Q Kᵀ" }).click();
  await expect(browser.getByText("This matrix is symmetric.")).toBeVisible();
});

test("keys select heads and tokens, undo goes back, the address keeps the state", async ({
  page: browser,
}) => {
  await open(browser, "#head=encoder.0.0");
  await browser.keyboard.press("ArrowRight");
  await expect(browser).toHaveURL(/head=encoder\.0\.1/);
  await browser.keyboard.press("j");
  await expect(browser).toHaveURL(/row=0/);
  await expect(browser.getByRole("heading", { name: "attends to" })).toBeVisible();
  await browser.keyboard.press("Control+z");
  await browser.keyboard.press("Control+z");
  await expect(browser).toHaveURL(/head=encoder\.0\.0/);
});

test("several heads are drawn together", async ({ page: browser }) => {
  await open(browser, "#head=encoder.0.0&view=lines");
  await browser.getByRole("button", { name: /layer 0, head 1\b/ }).click({ modifiers: ["Shift"] });
  await expect(browser.locator(".legend")).toContainText("head 1");
});

// Models of pictures in the served page: a file is chosen, and its attention shown over the picture.
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import type { Capture } from "../../src/capture.gen";
import { rowsOf } from "../../src/packed";
import { violations } from "./axe";
import { folderOf, program } from "./model";
import { saved, visitModelOfFiles } from "./open";
import { serve } from "./server";

const media = "../tests/data/page";
const picture = join(media, "picture.png");

test("live: a picture file is chosen, a head switched off, a caption shown", async ({ page: browser }) => {
  const [vit, caption] = [folderOf("vit"), folderOf("vit-gpt2")];
  copyFileSync(join(media, "vit.preprocessor_config.json"), join(vit, "preprocessor_config.json"));
  const server = await serve({ vit, caption, text: folderOf("bart") });
  try {
    await visitModelOfFiles(browser, server.url, "vit");
    await browser.getByRole("button", { name: "Show attention" }).click();
    await expect(browser.getByRole("alert")).toHaveText("Expected a picture file, found none.");
    await browser.getByLabel("Picture file").setInputFiles(picture);
    await expect(browser.locator("#view image")).toBeVisible();
    await expect(browser).toHaveURL(/file=picture\.png/);
    // The numbers are those of the program, which families.spec.ts compares with transformers.
    const shown = JSON.parse(await saved(browser, "json")) as Capture;
    const expected = JSON.parse(
      execFileSync(program, ["attend", vit, picture, "--json", "-q"], { maxBuffer: 1 << 28 }).toString(),
    ) as Capture;
    expect(shown.text).toBe("picture.png");
    expect(shown.attention.map((head) => head.weights)).toEqual(
      expected.attention.map((head) => head.weights),
    );
    // Select another query and another head.
    const grid = shown.drawing!.patches!;
    await expect(browser.locator(".patch")).toHaveCount(grid.rows * grid.columns);
    await browser.getByLabel("Query").selectOption({ index: 2 });
    await expect(browser).toHaveURL(/row=2/);
    const head = shown.attention[0]!;
    await browser.locator(".grid button").first().click();
    const row = rowsOf(head.weights!)[2]!.slice(grid.specials);
    const best = row.indexOf(Math.max(...row));
    await expect(browser.locator(".patch").nth(best)).toHaveAttribute("fill-opacity", "0.000");
    await browser.getByRole("tab", { name: "What if" }).click();
    await browser.getByRole("button", { name: "Switch off Encoder self-attention, layer 0, head 1" }).click();
    await expect(browser.getByText("Attention that changes")).toBeVisible();
    for (const view of ["Picture", "Heat map"]) {
      await browser.getByRole("tab", { name: view, exact: true }).click();
      expect(await violations(browser, "#view", ".box"), view).toEqual([]);
    }
    await browser.getByLabel("Picture file").setInputFiles("package.json");
    await expect(browser.getByRole("alert")).toContainText("cannot be read");
    await browser.getByLabel("Model", { exact: true }).selectOption("caption");
    await browser.getByLabel("Picture file").setInputFiles(picture);
    await expect(browser.locator(".translation")).toBeVisible();
    await browser.locator(".kind", { hasText: "Cross-attention" }).locator("button").first().click();
    await browser.getByRole("tab", { name: "Picture", exact: true }).click();
    await expect(browser.locator("#view image")).toBeVisible();
  } finally {
    await server.stop();
  }
});

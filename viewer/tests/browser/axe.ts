// Accessibility of a page, checked by axe-core.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "@playwright/test";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * The violations that axe-core finds in the elements that match `selectors`, or in the whole page if there are none:
 * the rule and the first element of each. The pages have no frames, so axe-core is loaded once into each page; the
 * package for Playwright would load it again for every check and open a second page to collect the results.
 */
export async function violations(browser: Page, ...selectors: string[]): Promise<[string, string][]> {
  if (!(await browser.evaluate(() => "axe" in window))) await browser.evaluate(source);
  return browser.evaluate(async (include) => {
    const { axe } = window as unknown as { axe: { run(where: unknown, how: unknown): Promise<AxeResults> } };
    const options = { resultTypes: ["violations"], selectors: false };
    const result = await axe.run(include.length > 0 ? { include } : document, options);
    return result.violations.map((found): [string, string] => [found.id, found.nodes[0]?.html ?? ""]);
  }, selectors);
}

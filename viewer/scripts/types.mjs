// Write src/capture.gen.ts from docs/capture.schema.json; with --check, compare only.
import { readFileSync, writeFileSync } from "node:fs";
import { compile } from "json-schema-to-typescript";
import { format, resolveConfig } from "prettier";

const schema = new URL("../../docs/capture.schema.json", import.meta.url);
const output = new URL("../src/capture.gen.ts", import.meta.url);
const json = JSON.parse(readFileSync(schema, "utf8"));
const banner = "// Types of docs/capture.schema.json. Written by `npm run types`; do not edit.";
const types = await compile(json, "Capture", { bannerComment: banner, additionalProperties: false });
const text = await format(types, { ...(await resolveConfig(output)), parser: "typescript" });
if (!process.argv.includes("--check")) writeFileSync(output, text);
else if (readFileSync(output, "utf8") !== text) {
  console.error("src/capture.gen.ts is not what docs/capture.schema.json says: run npm run types");
  process.exit(1);
}

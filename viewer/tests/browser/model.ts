// The program, and tiny models with a tokenizer for it.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** REGARD: the program. */
export const program = process.env["REGARD"]!;
export const goldens = "../tests/data/hf-tiny";

/** A copy of a model with a tokenizer that reads "t5 t7" as the ids 5 and 7. */
export function folderOf(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  for (const file of readdirSync(join(goldens, name)))
    if (!file.startsWith("golden")) copyFileSync(join(goldens, name, file), join(folder, file));
  const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as { vocab_size: number };
  const vocab = Object.fromEntries(Array.from({ length: config.vocab_size }, (_, i) => [`t${i}`, i]));
  writeFileSync(
    join(folder, "tokenizer.json"),
    JSON.stringify({
      version: "1.0",
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: { type: "WhitespaceSplit" },
      post_processor: null,
      decoder: null,
      model: { type: "WordLevel", vocab, unk_token: "t0" },
    }),
  );
  return folder;
}

/** A text for these tokenizers. */
export const tinyText = "t5 t9 t5 t11 t20 t7";

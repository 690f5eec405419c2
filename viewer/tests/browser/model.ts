// The program's path, and folders of tiny models with a tokenizer.
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** Path of the program, from the environment variable REGARD. */
export const program = process.env["REGARD"]!;
export const goldens = "../tests/data/hf-tiny";
export const whisper = "../tests/data/sound/whisper-small"; // has a tokenizer, short.wav and long.wav

/** A copy of a model's folder without its goldens. */
export function copyOf(source: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${basename(source)}-`));
  for (const file of readdirSync(source))
    if (!file.startsWith("golden")) copyFileSync(join(source, file), join(folder, file));
  return folder;
}

/** A copy of a model with a tokenizer that reads "t5 t7" as the ids 5 and 7. */
export function folderOf(name: string): string {
  const folder = copyOf(join(goldens, name));
  const config = JSON.parse(readFileSync(join(folder, "config.json"), "utf8")) as {
    vocab_size?: number;
    decoder?: { vocab_size: number };
  };
  const size = config.decoder?.vocab_size ?? config.vocab_size;
  if (!size) return folder;
  const vocab = Object.fromEntries(Array.from({ length: size }, (_, i) => [`t${i}`, i]));
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

// Use `regard serve` through OpenAI's client for Node.
// usage: node check.mjs URL KEY SOUND: URL ends in /v1; the server has the models gpt, embed and whisper; SOUND is
// a WAV file. Prints one JSON object with the answers, which tools/check_serve.py compares with the program's.
import fs from "node:fs";
import OpenAI from "openai";

const [baseURL, apiKey, sound] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

const models = [];
for await (const model of client.models.list()) models.push(model.id);

const prompt = { model: "gpt", prompt: "the quick", max_tokens: 12, temperature: 0 };
const whole = await client.completions.create(prompt);
let streamed = "";
for await (const part of await client.completions.create({ ...prompt, stream: true })) streamed += part.choices[0].text;

const chat = { model: "gpt", messages: [{ role: "user", content: "a dog" }], max_completion_tokens: 10, seed: 3 };
const answer = await client.chat.completions.create(chat);
let pieces = "";
const options = { stream: true, stream_options: { include_usage: true } };
for await (const part of await client.chat.completions.create({ ...chat, ...options }))
  pieces += part.choices[0]?.delta?.content ?? "";

const vectors = await client.embeddings.create({ model: "embed", input: ["a river"] });
const transcript = await client.audio.transcriptions.create({
  model: "whisper", file: fs.createReadStream(sound), language: "en", response_format: "srt" });

let refused = "";
try {
  await client.completions.create({ model: "none", prompt: "a" });
} catch (error) {
  if (!(error instanceof OpenAI.NotFoundError)) throw error;
  refused = error.code;
}
console.log(JSON.stringify({ models, completion: whole.choices[0].text, streamed,
  chat: answer.choices[0].message.content, pieces, vector: Array.from(vectors.data[0].embedding), transcript, refused }));

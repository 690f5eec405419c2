// Requests to `regard serve`, which also serves this page: GET models, POST attend, POST attend/sound, POST
// attend/picture, GET health. Addresses are relative, so a proxy can serve both below a path.
import { type Capture, readCapture } from "../capture";

/** What a model reads. */
export type Reads = "text" | "sound" | "picture";

export interface Question {
  model: string; // "" if the server has only one model
  text: string; // for a sound or picture: the name of its file
  file?: { reads: Exclude<Reads, "text">; content: File }; // sent instead of a text
  written?: readonly number[]; // ids of the given translation or continuation
  off?: readonly string[]; // heads that are switched off
  interventions?: readonly string[]; // in the syntax of the option `--intervene`
  generate?: number; // number of tokens to generate, for decoders
  beam?: number; // number of beams of the generated text
  free?: boolean; // with `written`: also generate a text without it
  page?: boolean; // include vectors and activations, as `regard attend --html` does
  parameters?: boolean; // include W_Q, W_K, W_V and W_O
  kind?: string; // return the attention of this kind only
  layers?: readonly number[]; // return the attention of these layers only
  heads?: readonly number[]; // return the attention of these heads only
}

export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number, // HTTP status; 0: the server did not answer
    readonly retryAfter = 0, // seconds
  ) {
    super(message);
  }
}

/** Return the message of an error response: {"error": "…"} or {"error": {"message": "…"}}. */
function messageOf(body: unknown): string | undefined {
  const error = (body as { error?: unknown } | null)?.error;
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : undefined;
}

/** Return the seconds of a header Retry-After; 0 if there is none, or if it is a date, as proxies send it. */
export function secondsOf(header: string | null): number {
  return header !== null && /^\d+$/.test(header.trim()) ? Number(header) : 0;
}

async function request(path: string, key: string, init: RequestInit): Promise<unknown> {
  const headers = new Headers(init.headers);
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let response: Response;
  let body: unknown;
  try {
    response = await fetch(path, { ...init, headers });
    body = await response.json().catch(() => undefined);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ServerError("The server does not answer. Is `regard serve` still running?", 0);
  }
  if (init.signal?.aborted) throw new DOMException("cancelled", "AbortError");
  if (response.ok && body !== undefined) return body;
  throw new ServerError(
    messageOf(body) ?? `The server answered with status ${response.status} and no JSON.`,
    response.status,
    secondsOf(response.headers.get("Retry-After")),
  );
}

/** Whether the server is loading its models (GET health). */
export async function isLoading(key: string, signal: AbortSignal): Promise<boolean> {
  const headers = new Headers(key ? { Authorization: `Bearer ${key}` } : {});
  try {
    const response = await fetch("health", { headers, signal });
    const body = (await response.json()) as { status?: unknown } | null;
    return body?.status === "loading";
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

export interface Model {
  name: string;
  reads: Reads;
}

/** The models of the server that show attention. */
export async function listModels(key: string, signal: AbortSignal): Promise<Model[]> {
  const body = (await request("models", key, { signal })) as {
    models?: { name?: unknown; abilities?: unknown }[];
  };
  return (body.models ?? []).flatMap(({ name, abilities }) => {
    const can = (ability: string) => Array.isArray(abilities) && abilities.includes(ability);
    const reads: Reads | undefined = can("attend_sound")
      ? "sound"
      : can("attend_picture")
        ? "picture"
        : can("attend")
          ? "text"
          : undefined;
    return typeof name === "string" && reads ? [{ name, reads }] : [];
  });
}

/** The body of POST attend, without empty members. */
export function bodyOf(question: Question): Record<string, unknown> {
  const { model, text, file, written, off, interventions, generate, free } = question;
  const { page, parameters, kind, layers, heads, beam } = question;
  return {
    ...(file ? {} : { text }),
    ...(model ? { model } : {}),
    ...(written ? { written } : {}),
    ...(off && off.length > 0 ? { ablate: off.join(",") } : {}),
    ...(interventions && interventions.length > 0 ? { interventions } : {}),
    ...(generate ? { generate } : {}),
    ...(beam ? { beam } : {}),
    ...(free ? { free } : {}),
    ...(page ? { page, values: true } : {}),
    ...(parameters ? { parameters } : {}),
    ...(kind ? { kind } : {}),
    ...(layers ? { layers } : {}),
    ...(heads ? { heads } : {}),
  };
}

function sent(question: Question): [string, RequestInit] {
  const body = JSON.stringify(bodyOf(question));
  const { file } = question;
  if (!file) return ["attend", { headers: { "Content-Type": "application/json" }, body }];
  const form = new FormData();
  form.set("request", body);
  form.set("file", file.content, question.text);
  return [`attend/${file.reads}`, { body: form }];
}

/** The capture of one pass. Throws ServerError, CaptureError, or AbortError if `signal` is aborted. */
export async function attend(question: Question, key: string, signal: AbortSignal): Promise<Capture> {
  const [path, init] = sent(question);
  return readCapture(await request(path, key, { method: "POST", ...init, signal }));
}

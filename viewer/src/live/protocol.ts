// Requests to `regard serve`, which also serves this page: GET v1/models, POST attend. Addresses are relative, so
// that a proxy may serve both below a path.
import { type Capture, readCapture } from "../capture";

export interface Question {
  model: string; // "": the only one
  text: string;
  written?: readonly number[]; // encoder–decoders: ids of the given translation
  off?: readonly string[]; // heads that are switched off
  interventions?: readonly string[]; // in the syntax of `--intervene`
  generate?: number; // decoders: tokens to generate
  page?: boolean; // with vectors and activations, as in a written page
  kind?: string; // attention of this kind only
  layers?: readonly number[]; // attention of these layers only
  heads?: readonly number[]; // attention of these heads only
}

export class ServerError extends Error {
  constructor(
    message: string,
    readonly status: number, // 0: no answer
    readonly retryAfter = 0, // seconds
  ) {
    super(message);
  }
}

/** The message of an error body: {"error": "…"} or {"error": {"message": "…"}}. */
function messageOf(body: unknown): string | undefined {
  const error = (body as { error?: unknown } | null)?.error;
  if (typeof error === "string") return error;
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : undefined;
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
    Number(response.headers.get("Retry-After") ?? 0),
  );
}

/** Names of the models that the server has. */
export async function listModels(key: string, signal: AbortSignal): Promise<string[]> {
  const body = (await request("v1/models", key, { signal })) as { data?: { id?: unknown }[] };
  return (body.data ?? []).map(({ id }) => id).filter((id): id is string => typeof id === "string");
}

/** The body of POST attend; what is empty is left out. */
export function bodyOf(question: Question): Record<string, unknown> {
  const { model, text, written, off, interventions, generate, page, kind, layers, heads } = question;
  return {
    text,
    ...(model ? { model } : {}),
    ...(written ? { written } : {}),
    ...(off && off.length > 0 ? { ablate: off.join(",") } : {}),
    ...(interventions && interventions.length > 0 ? { interventions } : {}),
    ...(generate ? { generate } : {}),
    ...(page ? { page, values: true } : {}),
    ...(kind ? { kind } : {}),
    ...(layers ? { layers } : {}),
    ...(heads ? { heads } : {}),
  };
}

/** The capture of one pass. Throws ServerError, CaptureError, or AbortError if `signal` is aborted. */
export async function attend(question: Question, key: string, signal: AbortSignal): Promise<Capture> {
  return readCapture(
    await request("attend", key, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(bodyOf(question)),
      signal,
    }),
  );
}

// The page as `regard serve` serves it: without a capture. It asks the server for one.
import { type Capture, CaptureError } from "../capture";
import { h } from "../dom";
import { show } from "../page";
import { box } from "./box";
import { Live, questionIn } from "./live";
import { attend, isLoading, listModels, type Model, type Question, ServerError } from "./protocol";

const wait = (seconds: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

/** Repeat while the server loads its models. Any other 503 (a server that stops, a lack of memory) is an error. */
async function whenReady<T>(
  action: () => Promise<T>,
  key: string,
  signal: AbortSignal,
  loading: () => void,
): Promise<T> {
  for (;;) {
    try {
      return await action();
    } catch (error) {
      if (!(error instanceof ServerError) || error.status !== 503) throw error;
      if (!(await isLoading(key, signal))) throw error;
      loading();
      await wait(Math.max(1, Math.min(10, error.retryAfter)), signal);
      if (signal.aborted) throw new DOMException("cancelled", "AbortError");
    }
  }
}

export function start(root: HTMLElement): void {
  let running: AbortController | undefined;
  let dispose: (() => void) | undefined;
  let shown: Question | undefined;
  let known: Model[] = [];
  const holder = h("div");
  const ask = box(
    () => {
      const { text, model, sound, hears } = ask.value();
      if (sound) void run({ text: sound.name, sound, model, page: true }, "");
      else if (hears) ask.setError("Expected a sound file, found none.");
      else if (text) void run({ text, model, page: true }, "");
      else ask.setError("Expected a text, found none.");
    },
    () => running?.abort(),
  );
  const failed = (error: unknown) => {
    if (error instanceof ServerError && error.status === 401) ask.setKeyNeeded();
    ask.setError(error instanceof Error ? error.message : String(error));
  };
  const models = async (signal: AbortSignal) => {
    if (known.length > 0) return;
    known = await whenReady(
      () => listModels(ask.value().key, signal),
      ask.value().key,
      signal,
      () => ask.setBusy("The server loads its models…"),
    );
    ask.setModels(known, questionIn(location.hash)?.model ?? "");
  };
  const present = (capture: Capture, question: Question, fragment: string) => {
    dispose?.();
    shown = question;
    const live = new Live(question);
    live.key = ask.value().key;
    if (!fragment) history.pushState(null, "", `#${new URLSearchParams(live.address()).toString()}`);
    ask.setUnknown(capture.unseen_words ?? []);
    dispose = show(holder, capture, live);
  };
  const run = async (question: Question, fragment: string) => {
    running?.abort();
    const control = (running = new AbortController());
    const { signal } = control;
    ask.setError("");
    ask.setUnknown([]);
    if (!question.sound) ask.setText(question.text);
    ask.setBusy(question.sound ? "The model listens…" : "The model reads…");
    try {
      await models(signal);
      const model = question.model || (known.length > 1 ? ask.value().model : "");
      const asked = { ...question, model };
      const begin = performance.now();
      const capture = await whenReady(
        () => attend(asked, ask.value().key, signal),
        ask.value().key,
        signal,
        () => ask.setBusy("The server loads its models…"),
      );
      if (signal.aborted) return;
      performance.measure("answer", { start: begin, end: performance.now() });
      present(capture, asked, fragment);
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      // An error of the page itself is also one of the console.
      if (!(error instanceof ServerError || error instanceof CaptureError)) console.error(error);
    } finally {
      if (running === control) ask.setBusy("");
    }
  };
  const fromAddress = () => {
    const question = questionIn(location.hash);
    if (!question) return;
    if (shown && shown.text === question.text && shown.model === question.model) return; // the page's state only
    ask.setModels(known, question.model);
    void run(question, location.hash);
  };
  root.replaceChildren(ask.node, holder);
  window.addEventListener("hashchange", fromAddress);
  if (questionIn(location.hash)) return fromAddress();
  holder.replaceChildren(
    h(
      "p",
      { class: "quiet intro" },
      "Type a sentence, or select one. The page then shows what the model does with it: which token attends to which, head by head, with the model's own numbers.",
    ),
  );
  running = new AbortController();
  const { signal } = running;
  models(signal)
    .catch((error: unknown) => {
      if (signal.aborted) return;
      if (error instanceof ServerError && error.status === 401) ask.setKeyNeeded();
      else ask.setError(error instanceof Error ? error.message : String(error));
    })
    .finally(() => {
      if (!signal.aborted) ask.setBusy("");
    });
}

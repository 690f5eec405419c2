// Start of the page that `regard serve` serves. It contains no capture and requests one from the server.
import { type Capture, CaptureError } from "../capture";
import { h } from "../dom";
import { show } from "../page";
import { box } from "./box";
import { computing } from "./latest_request";
import { Live, questionIn } from "./live";
import { attend, isLoading, listModels, type Model, type Question, ServerError } from "./protocol";
import { chapterAddress, chapterIn, storyPart } from "./story";

const wait = (seconds: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    const timer = setTimeout(done, 1000 * seconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    });
  });

/** Repeat while the server loads its models. Any other 503 (server stopping, out of memory) is an error. */
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
  let shown: { question: Question; capture: Capture; live: Live } | undefined;
  let known: Model[] = [];
  const holder = h("div");
  const ask = box(
    () => {
      const { text, model, file, reads } = ask.value();
      if (file) void run({ text: file.content.name, file, model, page: true }, "");
      else if (reads !== "text") ask.setError(`Expected a ${reads} file, found none.`);
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
      () => ask.setBusy("The server is loading its models…"),
    );
    ask.setModels(known, questionIn(location.hash)?.model ?? "");
  };
  const present = (capture: Capture, question: Question, fragment: string) => {
    dispose?.();
    const live = new Live(question);
    live.key = ask.value().key;
    // Read the current address, because the story may have ended during the request.
    live.story = fragment ? chapterIn(location.hash) : 0;
    shown = { question, capture, live };
    if (!fragment) story.draw(0);
    if (!fragment) history.pushState(null, "", `#${new URLSearchParams(live.address()).toString()}`);
    // A change on the page that was shown during the request may have replaced the address by that page's.
    else if (!live.shows(location.hash)) history.replaceState(null, "", fragment);
    ask.setUnknown(capture.unseen_words ?? []);
    dispose = show(holder, capture, live);
    if (fragment) showStep(location.hash);
  };
  /** If the chapter names a word, show the step that writes it. Needs the tokens, so it runs after the answer. */
  const showStep = (fragment: string) => {
    const number = chapterIn(fragment);
    if (!number || !shown || new URLSearchParams(fragment.slice(1)).has("written")) return;
    const address = `#${chapterAddress(number, shown.question.model, shown.capture)}`;
    if (new URLSearchParams(address.slice(1)).has("written")) location.replace(address);
  };
  /** Return the chosen model, or the first that reads texts if it reads none; "" if the server has one model. */
  const textModel = () => {
    const texts = known.filter(({ reads }) => reads === "text").map(({ name }) => name);
    const chosen = shown?.question.model || ask.value().model;
    if (known.length < 2) return "";
    return texts.includes(chosen) ? chosen : (texts[0] ?? "");
  };
  const story = storyPart((number) => {
    if (number > 0) {
      location.hash = chapterAddress(number, textModel(), shown?.capture);
      return;
    }
    story.draw(0);
    if (shown) shown.live.story = 0;
    const parts = new URLSearchParams(location.hash.slice(1));
    parts.delete("story");
    history.replaceState(null, "", `#${parts.toString()}`);
  });
  const run = async (question: Question, fragment: string) => {
    running?.abort();
    const control = (running = new AbortController());
    const { signal } = control;
    ask.setError("");
    ask.setUnknown([]);
    if (!question.file) ask.setText(question.text);
    ask.setBusy(computing);
    try {
      await models(signal);
      const model = question.model || (known.length > 1 ? ask.value().model : "");
      const asked = { ...question, model };
      const begin = performance.now();
      const capture = await whenReady(
        () => attend(asked, ask.value().key, signal),
        ask.value().key,
        signal,
        () => ask.setBusy("The server is loading its models…"),
      );
      if (signal.aborted) return;
      performance.measure("answer", { start: begin, end: performance.now() });
      present(capture, asked, fragment);
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
      // Any other error is a defect of the page.
      if (!(error instanceof ServerError || error instanceof CaptureError)) console.error(error);
    } finally {
      if (running === control) ask.setBusy("");
    }
  };
  const fromAddress = () => {
    const question = questionIn(location.hash);
    if (!question) return;
    const number = chapterIn(location.hash);
    story.draw(number);
    if (shown?.live.shows(location.hash)) {
      running?.abort(); // a request for another question, whose address the user has left
      ask.setError("");
      ask.setModels(known, shown.question.model);
      if (!shown.question.file) ask.setText(shown.question.text);
      ask.setUnknown(shown.capture.unseen_words ?? []);
      shown.live.story = number;
      return showStep(location.hash); // the listener in page.ts restores the rest of the state
    }
    ask.setModels(known, question.model);
    void run(question, location.hash);
  };
  root.replaceChildren(ask.node, story.node, holder);
  window.addEventListener("hashchange", fromAddress);
  if (questionIn(location.hash)) return fromAddress();
  holder.replaceChildren(
    h(
      "p",
      { class: "quiet intro" },
      "Type a sentence or select an example. The page shows which token attends to which, head by head, with the model's own numbers. The guided story shows the views one after another.",
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

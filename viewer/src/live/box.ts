// The box to type in: a text, the model, the articles' sentences; busy, cancel and errors.
import { h } from "../dom";
import { examples } from "./examples";
import type { Model } from "./protocol";

export interface Box {
  node: HTMLElement;
  setModels(models: readonly Model[], chosen: string): void;
  setText(text: string): void;
  /** Mark these words wherever they stand in the text. */
  setUnknown(words: readonly string[]): void;
  /** `words`: what is going on, "" if nothing is. */
  setBusy(words: string): void;
  setError(message: string): void;
  /** Ask for an API key. */
  setKeyNeeded(): void;
  /** `sound`: of a model that reads sound files, the chosen one. */
  value(): { text: string; model: string; key: string; sound: File | undefined; hears: boolean };
}

/** The text with the words marked, upper and lower case being the same. */
export function withMarks(text: string, words: ReadonlySet<string>): (HTMLElement | string)[] {
  return text
    .split(/([\p{L}\p{M}\p{N}_]+)/u)
    .filter((part) => part !== "")
    .map((part) => (words.has(part.toLowerCase()) ? h("mark", {}, part) : part));
}

export function box(submit: () => void, cancel: () => void): Box {
  const text = h("textarea", {
    rows: 1,
    maxlength: 20000,
    placeholder: "Type a sentence",
    "aria-label": "Sentence",
    dir: "auto",
    spellcheck: "false",
  });
  const under = h("div", { class: "under-text", "aria-hidden": "true", dir: "auto" });
  let unknown: ReadonlySet<string> = new Set();
  const scroll = () => {
    under.scrollTop = text.scrollTop;
  };
  const fit = () => {
    text.style.height = "auto";
    text.style.height = `${Math.min(180, text.scrollHeight + 2)}px`;
    under.replaceChildren(...(unknown.size > 0 ? withMarks(text.value, unknown) : []), "\u200b");
    scroll();
  };
  text.addEventListener("input", fit);
  text.addEventListener("scroll", scroll);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const model = h("select", { "aria-label": "Model" });
  const modelField = h("label", { class: "model" }, h("span", { class: "quiet" }, "Model"), model);
  modelField.hidden = true;
  let known: readonly Model[] = [];
  const hears = () => known.find(({ name }) => name === model.value)?.hears ?? false;
  const file = h("input", {
    type: "file",
    accept: "audio/*,.wav,.flac,.ogg,.mp3",
    "aria-label": "Sound file",
  });
  const fileField = h("label", { class: "file" }, h("span", { class: "quiet" }, "Sound file"), file);
  file.addEventListener("change", () => file.files?.length && submit());
  model.addEventListener("change", () => {
    suit();
    if (hears() ? file.files?.length : text.value.trim() !== "") submit();
  });
  const key = h("input", { type: "password", autocomplete: "off", "aria-label": "API key" });
  const keyField = h("label", { class: "key" }, h("span", { class: "quiet" }, "API key"), key);
  keyField.hidden = true;
  const go = h("button", { type: "submit", class: "primary" }, "Show attention");
  const stop = h("button", { type: "button" }, "Cancel");
  stop.hidden = true;
  stop.addEventListener("click", cancel);
  const status = h("p", { class: "quiet busy", role: "status" });
  const error = h("p", { class: "note", role: "alert" });
  error.hidden = true;
  const chips = examples.map((sentence) => {
    const chip = h("button", { type: "button", class: "chip" }, sentence);
    chip.addEventListener("click", () => {
      text.value = sentence;
      fit();
      submit();
    });
    return chip;
  });
  const typed = h("div", { class: "typed" }, under, text);
  const group = h("div", { class: "chips", role: "group", "aria-label": "Examples" }, ...chips);
  /** Show the input that the chosen model reads. */
  const suit = () => {
    typed.hidden = group.hidden = hears();
    fileField.hidden = !hears();
  };
  const form = h(
    "form",
    { class: "box" },
    h("div", { class: "ask" }, typed, fileField, go, stop),
    h("div", { class: "fields" }, modelField, keyField),
    group,
    status,
    error,
  );
  suit();
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  return {
    node: form,
    setModels: (models, chosen) => {
      known = models;
      model.replaceChildren(
        ...models.map(({ name }) => h("option", { value: name, selected: name === chosen }, name)),
      );
      modelField.hidden = models.length < 2;
      suit();
    },
    setUnknown: (words) => {
      unknown = new Set(words.map((word) => word.toLowerCase()));
      fit();
    },
    setText: (value) => {
      if (text.value !== value) text.value = value;
      fit();
    },
    setBusy: (words) => {
      status.textContent = words;
      stop.hidden = words === "";
      go.hidden = words !== "";
      form.toggleAttribute("aria-busy", words !== "");
    },
    setError: (message) => {
      error.textContent = message;
      error.hidden = message === "";
    },
    setKeyNeeded: () => {
      keyField.hidden = false;
      key.focus();
    },
    value: () => ({
      text: text.value.trim(),
      model: model.value,
      key: key.value,
      sound: hears() ? file.files?.[0] : undefined,
      hears: hears(),
    }),
  };
}

// The form of the served page: text or file, model, examples, messages, Cancel.
import { h } from "../dom";
import { examples } from "./examples";
import type { Model, Question, Reads } from "./protocol";

export interface Box {
  node: HTMLElement;
  setModels(models: readonly Model[], chosen: string): void;
  setText(text: string): void;
  /** Mark these words in the text. */
  setUnknown(words: readonly string[]): void;
  /** Show the message and the button Cancel; "" hides both. */
  setBusy(words: string): void;
  setError(message: string): void;
  /** Show the field for the API key. */
  setKeyNeeded(): void;
  /** What the user entered. `file`: the chosen file, if the model reads files. */
  value(): { text: string; model: string; key: string; file: Question["file"] | undefined; reads: Reads };
}

const fileTypes = {
  sound: { label: "Sound file", accept: "audio/*,.wav,.flac,.ogg,.mp3" },
  picture: { label: "Picture file", accept: "image/*,.png,.jpg,.jpeg,.webp,.ppm,.pgm" },
} as const;

/** Return the text with the words marked. Case is ignored. */
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
  const reads = () => known.find(({ name }) => name === model.value)?.reads ?? "text";
  const file = h("input", { type: "file" });
  const fileLabel = h("span", { class: "quiet" });
  const fileField = h("label", { class: "file" }, fileLabel, file);
  file.addEventListener("change", () => file.files?.length && submit());
  model.addEventListener("change", () => {
    suit();
    if (reads() === "text" ? text.value.trim() !== "" : file.files?.length) submit();
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
  let shown: Reads = "text";
  /** Show the text field or the file field, as the chosen model needs. */
  const suit = () => {
    const now = reads();
    typed.hidden = group.hidden = now !== "text";
    fileField.hidden = now === "text";
    if (now === "text" || now === shown) return;
    shown = now;
    file.value = "";
    file.accept = fileTypes[now].accept;
    file.ariaLabel = fileLabel.textContent = fileTypes[now].label;
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
    value: () => {
      const [now, content] = [reads(), file.files?.[0]];
      return {
        text: text.value.trim(),
        model: model.value,
        key: key.value,
        file: now !== "text" && content ? { reads: now, content } : undefined,
        reads: now,
      };
    },
  };
}

// The box to type in: a text, the model, the articles' sentences; busy, cancel and errors.
import { h } from "../dom";

export const examples = [
  "The exam was a piece of cake.",
  "He ate a piece of cake.",
  "I deposit money at the bank.",
  "I sit on the bank of the river.",
  "The man beats the boy.",
  "The boy beats the man.",
  "What is the capital of France?",
];

export interface Box {
  node: HTMLElement;
  setModels(names: readonly string[], chosen: string): void;
  setText(text: string): void;
  /** `words`: what is going on, "" if nothing is. */
  setBusy(words: string): void;
  setError(message: string): void;
  /** Ask for an API key. */
  setKeyNeeded(): void;
  value(): { text: string; model: string; key: string };
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
  const fit = () => {
    text.style.height = "auto";
    text.style.height = `${Math.min(180, text.scrollHeight + 2)}px`;
  };
  text.addEventListener("input", fit);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const model = h("select", { "aria-label": "Model" });
  const modelField = h("label", { class: "model" }, h("span", { class: "quiet" }, "Model"), model);
  modelField.hidden = true;
  model.addEventListener("change", () => text.value.trim() !== "" && submit());
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
  const form = h(
    "form",
    { class: "box" },
    h("div", { class: "ask" }, text, go, stop),
    h("div", { class: "fields" }, modelField, keyField),
    h("div", { class: "chips", role: "group", "aria-label": "Examples" }, ...chips),
    status,
    error,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  return {
    node: form,
    setModels: (names, chosen) => {
      model.replaceChildren(
        ...names.map((name) => h("option", { value: name, selected: name === chosen }, name)),
      );
      modelField.hidden = names.length < 2;
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
    value: () => ({ text: text.value.trim(), model: model.value, key: key.value }),
  };
}

// Start the page: show the capture that it contains; if the server sent it without one, show the form.
import "./style.css";
import { CaptureError, readCapture } from "./capture";
import { h } from "./dom";
import { start } from "./live/start";
import { show } from "./page";

const root = document.getElementById("page")!;
try {
  const data: unknown = JSON.parse(document.getElementById("data")!.textContent);
  if (data === null && location.protocol.startsWith("http")) start(root);
  else show(root, readCapture(data));
} catch (error) {
  if (!(error instanceof CaptureError || error instanceof SyntaxError)) throw error;
  root.replaceChildren(h("p", {}, `This page has no valid capture: ${error.message}.`));
}

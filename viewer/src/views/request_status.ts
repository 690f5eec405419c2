// What a view shows of its request to the server until the answer arrives.
import { h } from "../dom";
import { computing, type LatestRequest } from "../live/latest_request";

/** Return the message while the request runs; after an error, its message and a button that sends the request again. */
export function requestStatus(request: LatestRequest<unknown>): HTMLElement[] {
  if (request.runs()) return [h("p", { class: "quiet" }, computing)];
  if (request.error === undefined) return [];
  const again = h("button", { type: "button" }, "Try again");
  again.addEventListener("click", () => request.retry());
  return [h("p", { class: "note", role: "alert" }, request.error), h("p", {}, again)];
}

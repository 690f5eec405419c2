import { beforeEach, describe, expect, test } from "vitest";
import { LatestRequest } from "../../src/live/latest_request";

interface Sent {
  name: string;
  signal: AbortSignal;
  answer: (text: string) => void;
  fail: (error: Error) => void;
}

/** A view with a request; each sent one is listed in `sent`. */
function view() {
  const [end, sent, draws] = [new AbortController(), [] as Sent[], { count: 0 }];
  const request = new LatestRequest<string>(end.signal, () => ++draws.count);
  const ask = (name: string) =>
    request.ask(
      name,
      (signal) => new Promise<string>((answer, fail) => sent.push({ name, signal, answer, fail })),
    );
  return { end, sent, draws, request, ask };
}

const settled = () => new Promise((done) => setTimeout(done));

describe("the latest request of a view", () => {
  let { end, sent, draws, request, ask } = view();
  beforeEach(() => ({ end, sent, draws, request, ask } = view()));

  test("runs until its answer arrives, and is sent once", async () => {
    expect(request.runs()).toBe(false);
    ask("a");
    ask("a");
    expect([sent.length, request.runs()]).toEqual([1, true]);
    sent[0]!.answer("A");
    await settled();
    ask("a");
    expect([sent.length, request.runs(), request.answer, draws.count]).toEqual([1, false, "A", 1]);
  });

  test("replaces the one before, whose answer is forgotten or dropped", async () => {
    ask("a");
    sent[0]!.answer("A");
    await settled();
    ask("b");
    expect([request.runs(), request.answer]).toEqual([true, undefined]);
    ask("c");
    expect([sent[1]!.signal.aborted, sent[2]!.signal.aborted]).toEqual([true, false]);
    sent[2]!.answer("C");
    sent[1]!.answer("B");
    await settled();
    expect([request.answer, request.error, draws.count]).toEqual(["C", undefined, 2]);
  });

  test("is sent again after an error, if the user asks for it", async () => {
    ask("a");
    sent[0]!.fail(new Error("no answer"));
    await settled();
    ask("a");
    expect([sent.length, request.runs(), request.error]).toEqual([1, false, "no answer"]);
    request.retry();
    expect([sent.length, request.runs(), request.error, draws.count]).toEqual([2, true, undefined, 2]);
    request.retry(); // without effect while it runs
    sent[1]!.answer("A");
    await settled();
    request.retry(); // and after an answer
    expect([sent.length, request.answer]).toEqual([2, "A"]);
  });

  test("is cancelled if nothing is asked for, and can then be sent", async () => {
    ask("a");
    request.clear();
    expect([sent[0]!.signal.aborted, request.runs()]).toEqual([true, false]);
    sent[0]!.answer("A");
    await settled();
    expect([request.answer, draws.count]).toEqual([undefined, 0]);
    ask("a");
    expect([sent.length, request.runs()]).toEqual([2, true]);
  });

  test("is cancelled when the page shows another capture", async () => {
    ask("a");
    end.abort();
    expect(sent[0]!.signal.aborted).toBe(true);
    sent[0]!.fail(new Error("cancelled"));
    await settled();
    expect([request.error, draws.count]).toEqual([undefined, 0]);
  });
});

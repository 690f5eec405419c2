// The latest request of a view: whether it runs, its answer, its error.

/** Message while a request runs. */
export const computing = "Computing…";

/** A request of a view to the server. A new request replaces the one before: that is cancelled, and its answer dropped. */
export class LatestRequest<T> {
  private key: string | undefined; // undefined: no request
  private control = new AbortController();
  private action: ((signal: AbortSignal) => Promise<T>) | undefined;
  answer: T | undefined;
  error: string | undefined;

  /** `end`: aborted when the page shows another capture. `changed` is called when an answer or an error arrives. */
  constructor(
    end: AbortSignal,
    private readonly changed: () => void,
  ) {
    end.addEventListener("abort", () => this.control.abort());
  }

  /** Whether a request was sent and has neither an answer nor an error. */
  runs(): boolean {
    return this.key !== undefined && this.answer === undefined && this.error === undefined;
  }

  /** Send a request, unless it is the latest one. Requests of the same `key` are the same. */
  ask(key: string, action: (signal: AbortSignal) => Promise<T>): void {
    if (key === this.key) return;
    this.clear();
    [this.key, this.action] = [key, action];
    void this.send(action);
  }

  /** Send the latest request again if it failed. */
  retry(): void {
    if (this.error === undefined || !this.action) return;
    this.error = undefined;
    void this.send(this.action);
    this.changed();
  }

  /** Cancel the request, and forget its answer. */
  clear(): void {
    this.control.abort();
    this.key = this.action = this.answer = this.error = undefined;
  }

  private async send(action: (signal: AbortSignal) => Promise<T>): Promise<void> {
    const { signal } = (this.control = new AbortController());
    try {
      const answer = await action(signal);
      if (signal.aborted) return;
      this.answer = answer;
    } catch (error) {
      if (signal.aborted) return;
      this.error = error instanceof Error ? error.message : String(error);
    }
    this.changed();
  }
}

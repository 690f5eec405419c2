// `regard serve` with tiny models, for tests of the page that it serves.
import { type ChildProcess, spawn } from "node:child_process";
import { program } from "./model";

export interface Server {
  url: string;
  stop(): Promise<void>;
}

/** Start the server on a free port. `folders`: name → folder. */
export async function serve(folders: Record<string, string>, options: string[] = []): Promise<Server> {
  const names = Object.entries(folders).flatMap(([name, folder]) => ["--name", `${name}=${folder}`]);
  const child: ChildProcess = spawn(program, ["serve", ...names, "--port", "0", ...options]);
  let said = "";
  const url = await new Promise<string>((done, failed) => {
    const read = (bytes: Buffer) => {
      said += bytes.toString();
      const found = /http:\/\/[\d.]+:\d+/.exec(said);
      if (found) done(found[0]);
    };
    child.stdout!.on("data", read);
    child.stderr!.on("data", read);
    child.on("exit", () => failed(new Error(`regard serve ended: ${said}`)));
  });
  return {
    url,
    stop: () =>
      new Promise((done) => {
        child.removeAllListeners("exit");
        child.on("exit", () => done());
        child.kill("SIGTERM");
      }),
  };
}

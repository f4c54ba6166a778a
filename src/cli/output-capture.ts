// Runs the CLI inside this process and keeps what it prints: the demo shows real commands this way, and tests use it.
import { Writable } from "node:stream";
import type { InStream, Io, OutStream } from "./io.ts";

export interface CommandOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface OutputCaptureOptions {
  readonly env?: Io["env"];
  readonly cwd?: string;
  readonly script?: string;
  readonly stdin?: InStream;
  readonly signal?: AbortSignal;
  /** Makes stdout and stderr terminals of this width. */
  readonly columns?: number;
  /** Called with each piece of stdout as it is written. */
  readonly onStdout?: (text: string) => void;
}

export async function captureOutput(
  main: (argv: string[], io: Partial<Io>) => Promise<number>,
  argv: readonly string[],
  options: OutputCaptureOptions = {},
): Promise<CommandOutput> {
  const stdout = collector(options.columns, options.onStdout);
  const stderr = collector(options.columns);
  const code = await main([...argv], {
    stdout: stdout.stream,
    stderr: stderr.stream,
    stdin: options.stdin ?? noInput(),
    env: options.env ?? {},
    cwd: options.cwd ?? process.cwd(),
    ...(options.script === undefined ? {} : { script: options.script }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(
  columns: number | undefined,
  onStdout?: OutputCaptureOptions["onStdout"],
): { readonly stream: OutStream; text(): string } {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      onStdout?.(chunk.toString("utf8"));
      done();
    },
  });
  const terminal = columns === undefined ? {} : { isTTY: true, columns };
  return { stream: Object.assign(stream, terminal), text: () => Buffer.concat(chunks).toString("utf8") };
}

async function* noInput(): AsyncGenerator<Uint8Array> {}

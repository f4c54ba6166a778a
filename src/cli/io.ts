// The process as the CLI uses it: streams, environment, working directory. Tests and the demo pass their own.

export interface OutStream {
  write(chunk: string | Uint8Array, done: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface InStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
  /** Outside raw mode, the terminal echoes keys and sends input line by line. */
  setRawMode?(isRaw: boolean): unknown;
  /** Stops reading, so that the process can end. */
  destroy?(): unknown;
}

export interface Io {
  readonly stdout: OutStream;
  readonly stderr: OutStream;
  readonly stdin: InStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The file that Node was started with. */
  readonly script?: string | undefined;
  /** Stops commands that never end by themselves (`--follow`). In the real process Ctrl-C aborts it. */
  readonly signal?: AbortSignal;
}

/** A signal that Ctrl-C and SIGTERM abort. Until `release` is called, they do not end the process. */
export function interruption(io: Io): { readonly signal: AbortSignal; release(): void } {
  if (io.signal !== undefined) return { signal: io.signal, release: () => {} };
  const controller = new AbortController();
  const stop = () => controller.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  return {
    signal: controller.signal,
    release: () => {
      process.removeListener("SIGINT", stop);
      process.removeListener("SIGTERM", stop);
    },
  };
}

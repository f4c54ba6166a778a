// The CLI's way to the outside: streams, environment and working directory. Tests and the demo hand in their own.

export interface OutStream {
  write(chunk: string | Uint8Array, done: (error?: Error | null) => void): boolean;
  on(event: "error", listener: (error: Error) => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface InStream extends AsyncIterable<Uint8Array | string> {
  readonly isTTY?: boolean;
  /** Without: the terminal echoes what is typed, and hands it on line by line. */
  setRawMode?(isRaw: boolean): unknown;
  /** Ends the wait for what nobody is going to say. */
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
  /** Ends what would go on for ever (`--follow`). The real process aborts it on Ctrl-C. */
  readonly signal?: AbortSignal;
}

export function processIo(given: Partial<Io> = {}): Io {
  return {
    // Made when they are used first: most commands read no input.
    get stdout() {
      return process.stdout;
    },
    get stderr() {
      return process.stderr;
    },
    get stdin() {
      return process.stdin;
    },
    env: process.env,
    cwd: process.cwd(),
    script: process.argv[1],
    ...given,
  };
}

/** A signal that aborts when the user wants to stop: Ctrl-C no longer kills until `release` is called. */
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

// What a part of `npm run torture` is, and how it divides its time.
import type { Engine } from "../real/stores.ts";

export interface TortureContext {
  /** For its files; kept when the part fails. */
  readonly folder: string;
  /** How long it may go on; what it has begun is ended after that. */
  readonly ms: number;
  /** Where a part runs on both, and only one was asked for. */
  readonly engines: readonly Engine[];
  readonly workers: number;
  readonly runs: number;
  readonly progress: (line: string) => void;
}

export interface TorturePart {
  readonly name: string;
  /** One line for --help. */
  readonly about: string;
  /** Throws when something does not hold; says what it has done, one line for each engine or kind. */
  run(context: TortureContext): Promise<readonly string[]>;
}

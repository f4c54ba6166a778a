// The interface of a suite: named benches in a folder, each of which measures one or more metrics.
import type { Result } from "./report.ts";

export interface Setting {
  /** A new folder on a real disk for the benches' files. */
  readonly folder: string;
  /** Seconds each contender of a bench is measured, over all its rounds. */
  readonly seconds: number;
  /** The folder of data sets that the repository may not contain. */
  readonly data: string | undefined;
  /** Whether this metric was asked for. */
  isSelected(metric: string): boolean;
  /** Prints progress. */
  say(text: string): void;
}

export interface Bench {
  readonly metrics: readonly string[];
  run(setting: Setting): Promise<readonly Result[]>;
}

export interface Suite {
  readonly about: string;
  readonly benches: readonly Bench[];
  /** A note that is printed with the machine. */
  readonly pragmas: string;
  /** Other systems that the suite measures, with their versions. */
  readonly peers?: string;
  /** The server's version, if the suite has used a server. */
  postgresVersion(): string | null;
  /** Stops the servers and programs that the benches shared. */
  close(): Promise<void>;
}

/** The benches that measure one of the metrics; "append" also selects metrics that begin with "append.". */
export function chosen(benches: readonly Bench[], only: readonly string[]): readonly Bench[] {
  if (only.length === 0) return benches;
  return benches.filter((bench) => bench.metrics.some((metric) => isNamed(metric, only)));
}

export function isNamed(metric: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((name) => metric === name || metric.startsWith(`${name}.`));
}

// What a suite is: named benches that measure one or more metrics each, in a folder of their own.
import type { Result } from "./report.ts";

export interface Setting {
  /** A new folder on a real disk for the benches' files. */
  readonly folder: string;
  /** Seconds each contender of a bench is measured, over all its rounds. */
  readonly seconds: number;
  /** Whether this metric was asked for. */
  isSelected(metric: string): boolean;
  /** Progress, for people. */
  say(text: string): void;
}

export interface Bench {
  readonly metrics: readonly string[];
  run(setting: Setting): Promise<readonly Result[]>;
}

export interface Suite {
  readonly about: string;
  readonly benches: readonly Bench[];
  /** Said with the machine. */
  readonly pragmas: string;
  /** Other systems that it measures, with their versions. */
  readonly peers?: string;
  /** The server's version once one was used. */
  postgresVersion(): string | null;
  /** Ends what the benches shared. */
  close(): Promise<void>;
}

/** Those that measure one of the metrics; "append" also names all that begin with "append.". */
export function chosen(benches: readonly Bench[], only: readonly string[]): readonly Bench[] {
  if (only.length === 0) return benches;
  return benches.filter((bench) => bench.metrics.some((metric) => isNamed(metric, only)));
}

export function isNamed(metric: string, only: readonly string[]): boolean {
  return only.length === 0 || only.some((name) => metric === name || metric.startsWith(`${name}.`));
}

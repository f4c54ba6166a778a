// Collects the issues of a check. Every part is checked twice before an issue is reported, because a change in
// progress is finished, or looks different, the second time.
import type { CheckIssue, CheckKind } from "../contracts/check.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { KINDS } from "./kinds.ts";

/**
 * At most so many findings of the first pass are remembered; beyond that, every finding of the second pass is reported.
 */
const COMPARED_MAX = 100_000;

const PHYSICAL: ReadonlySet<CheckKind> = new Set(["index-damaged", "page-damaged", "schema-damaged"]);

/** Reports one issue. */
type ReportIssue = (kind: CheckKind, rows: readonly string[], details?: JsonObject) => void;

export interface IssueReporter {
  readonly report: ReportIssue;
  /** Whether any of these kinds is to be reported. */
  isRequested(...kinds: readonly CheckKind[]): boolean;
}

export class Findings {
  readonly #kinds: ReadonlySet<CheckKind>;
  readonly #issues: CheckIssue[] = [];
  #count = 0;

  constructor(kinds: ReadonlySet<CheckKind>) {
    this.#kinds = kinds;
  }

  get count(): number {
    return this.#count;
  }

  get issues(): readonly CheckIssue[] {
    return this.#issues;
  }

  /** Whether the engine found damage: then a read may return anything. */
  get hasPhysicalDamage(): boolean {
    return this.#issues.some(({ kind }) => PHYSICAL.has(kind));
  }

  isRequested(...kinds: readonly CheckKind[]): boolean {
    return kinds.some((kind) => this.#kinds.has(kind));
  }

  async confirm(visit: (reporter: IssueReporter) => Promise<void>): Promise<void> {
    const first = new Set<string>();
    await visit(this.#reporterTo((key) => void (first.size < COMPARED_MAX && first.add(key))));
    if (first.size === 0) return;
    const seen = new Set<string>();
    await visit(
      this.#reporterTo((key, issue) => {
        if (seen.has(key) || (first.size < COMPARED_MAX && !first.has(key))) return;
        seen.add(key);
        this.#add(issue);
      }),
    );
  }

  #reporterTo(receive: (key: string, issue: CheckIssue) => void): IssueReporter {
    return {
      isRequested: (...kinds) => this.isRequested(...kinds),
      report: (kind, rows, details = {}) => {
        if (!this.#kinds.has(kind)) return;
        receive(JSON.stringify([kind, rows, details]), { kind, rows, hint: KINDS[kind].hint, details });
      },
    };
  }

  #add(issue: CheckIssue): void {
    this.#count++;
    if (this.#issues.length < LIMITS.checkIssues) this.#issues.push(issue);
  }
}

// The findings of one look at a part of the store. Every part is looked at twice before it is reported: a change in
// progress is gone, or different, the second time.
import type { CheckIssue, CheckKind } from "../contracts/check.ts";
import type { JsonObject } from "../contracts/json.ts";
import { LIMITS } from "../contracts/limits.ts";
import { KINDS } from "./kinds.ts";

/** Findings of one part that are compared one by one; where there are more, the first look counts. */
const COMPARED_MAX = 100_000;

const PHYSICAL: ReadonlySet<CheckKind> = new Set(["index-damaged", "page-damaged", "schema-damaged"]);

/** How a check says what it found. */
type Report = (kind: CheckKind, rows: readonly string[], details?: JsonObject) => void;

export interface SecondLook {
  readonly report: Report;
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

  /** The engine found damage of its own: what is read may be anything. */
  get hasPhysicalDamage(): boolean {
    return this.#issues.some(({ kind }) => PHYSICAL.has(kind));
  }

  isRequested(...kinds: readonly CheckKind[]): boolean {
    return kinds.some((kind) => this.#kinds.has(kind));
  }

  async twice(look: (found: SecondLook) => Promise<void>): Promise<void> {
    const first = new Set<string>();
    await look(this.#looking((key) => void (first.size < COMPARED_MAX && first.add(key))));
    if (first.size === 0) return;
    const seen = new Set<string>();
    await look(
      this.#looking((key, issue) => {
        if (seen.has(key) || (first.size < COMPARED_MAX && !first.has(key))) return;
        seen.add(key);
        this.#add(issue);
      }),
    );
  }

  #looking(see: (key: string, issue: CheckIssue) => void): SecondLook {
    return {
      isRequested: (...kinds) => this.isRequested(...kinds),
      report: (kind, rows, details = {}) => {
        if (!this.#kinds.has(kind)) return;
        see(JSON.stringify([kind, rows, details]), { kind, rows, hint: KINDS[kind].hint, details });
      },
    };
  }

  #add(issue: CheckIssue): void {
    this.#count++;
    if (this.#issues.length < LIMITS.checkIssues) this.#issues.push(issue);
  }
}

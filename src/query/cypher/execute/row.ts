// Rows between clauses: one array per row, where every variable has a slot. Slots beyond the variables are scratch space for the
// variables of comprehensions and for what was computed ahead.

import type { CypherValue } from "../values/value.ts";
import { sizeOfValue } from "./meter.ts";

export type Row = (CypherValue | FailedCell)[];

/** What could not be computed ahead. The error is thrown when the value is needed, which may be never: CASE may take another way. */
export class FailedCell {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Rows come in batches; a clause pauses between batches. */
export type RowStream = AsyncIterable<Row[]>;

export const BATCH_ROWS = 512;

/** Begins a name that no query can write, because queries are well-formed Unicode. */
const HIDDEN = "\ud800";

/** A part of a pattern without a variable has a hidden name. */
export function hiddenName(name: string): string {
  return HIDDEN + name;
}

export function isHidden(name: string): boolean {
  return name.startsWith(HIDDEN);
}

export class SlotScope {
  readonly slots: ReadonlyMap<string, number>;
  readonly #counter: { next: number };

  private constructor(slots: ReadonlyMap<string, number>, counter: { next: number }) {
    this.slots = slots;
    this.#counter = counter;
  }

  static of(names: Iterable<string>): SlotScope {
    const slots = new Map([...names].map((name, index) => [name, index]));
    return new SlotScope(slots, { next: slots.size });
  }

  /** The same rows with one more variable. */
  with(name: string): SlotScope {
    const known = this.slots.get(name);
    if (known !== undefined) return this;
    return new SlotScope(new Map([...this.slots, [name, this.takeSlot()]]), this.#counter);
  }

  /** The same rows with a variable of an expression, which may hide one of the rows. */
  withLocal(name: string): { readonly scope: SlotScope; readonly slot: number } {
    const slot = this.takeSlot();
    return { scope: new SlotScope(new Map([...this.slots, [name, slot]]), this.#counter), slot };
  }

  /** The same rows with variables in these slots; they hide others of the same name. */
  withSlots(slots: Iterable<readonly [string, number]>): SlotScope {
    return new SlotScope(new Map([...this.slots, ...slots]), this.#counter);
  }

  /** Without what only one clause names. */
  withoutHidden(): SlotScope {
    return new SlotScope(new Map([...this.slots].filter(([name]) => !isHidden(name))), this.#counter);
  }

  /** A slot that no variable has. */
  takeSlot(): number {
    return this.#counter.next++;
  }

  slotOf(name: string): number {
    const slot = this.slots.get(name);
    if (slot === undefined) throw new Error(`bug: the variable ${name} was not checked`);
    return slot;
  }
}

/** How much the rows of a batch count while they are kept. */
export function sizeOfRows(rows: readonly Row[]): number {
  let size = 0;
  for (const row of rows) for (const cell of row) size += sizeOfValue(cell ?? null);
  return size;
}

export function cellAt(row: Row, slot: number): CypherValue {
  const cell = row[slot] ?? null;
  if (cell instanceof FailedCell) throw cell.error;
  return cell;
}

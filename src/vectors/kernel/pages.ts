// Codes of vectors, packed in pages of 1,024 slots: a page is one BLOB, so that loading a collection reads few rows. Pages are derived
// from the stored vectors and can be made again. A page's bytes, little endian:
//
//   16   header: "HFVP", version (1 byte), bits per coordinate (1), slots in use (2), bytes of a code (2), zeros
//   8 n  row numbers as 64-bit floats; 0 is a removed slot
//   4 n  scales, 4 n norms as 32-bit floats (VectorCode)
//   the codes in blocks of 16: the first byte of the 16 codes, then the second … One vector instruction reads such a column.
import { HoldfastError } from "../../contracts/errors.ts";
import type { VectorCode } from "./code.ts";

export const PAGE_SLOTS = 1024;
/** Rows of a block. */
export const BLOCK_ROWS = 16;

const MAGIC = [0x48, 0x46, 0x56, 0x50] as const;
const VERSION = 1;
const BITS = 2;
const HEADER_BYTES = 16;
const SLOT_BYTES = 16;

/** A removed slot is used again: outside of the page a slot names no vector. */
export interface CodePage {
  readonly codeBytes: number;
  /** Slots that are or were in use. */
  usedSlots: number;
  /** Row numbers of the vectors; 0 in slots that are not in use. */
  readonly rows: Float64Array;
  readonly scales: Float32Array;
  readonly norms: Float32Array;
  /** All blocks of the page. */
  readonly codes: Uint8Array;
}

export function createPage(codeBytes: number): CodePage {
  return {
    codeBytes,
    usedSlots: 0,
    rows: new Float64Array(PAGE_SLOTS),
    scales: new Float32Array(PAGE_SLOTS),
    norms: new Float32Array(PAGE_SLOTS),
    codes: new Uint8Array(PAGE_SLOTS * codeBytes),
  };
}

/** The slot it is in now; null when the page is full. Row numbers are positive whole numbers. */
export function appendCode(page: CodePage, row: number, { bits, scale, norm }: VectorCode): number | null {
  if (!isRowNumber(row)) throw new Error(`bug: ${row} is no row number`);
  if (bits.length !== page.codeBytes) throw new Error(`bug: a code of ${bits.length} bytes, not ${page.codeBytes}`);
  const removed = page.rows.subarray(0, page.usedSlots).indexOf(0);
  const slot = removed >= 0 ? removed : page.usedSlots;
  if (slot === PAGE_SLOTS) return null;
  page.usedSlots = Math.max(page.usedSlots, slot + 1);
  page.rows[slot] = row;
  page.scales[slot] = scale;
  page.norms[slot] = norm;
  for (let i = 0; i < bits.length; i++) page.codes[codeAddress(page.codeBytes, slot, i)] = bits[i] as number;
  return slot;
}

/** Its bytes are cleared: nothing of a deleted vector stays. */
export function removeSlot(page: CodePage, slot: number): void {
  page.rows[slot] = 0;
  page.scales[slot] = 0;
  page.norms[slot] = 0;
  for (let i = 0; i < page.codeBytes; i++) page.codes[codeAddress(page.codeBytes, slot, i)] = 0;
  while (page.usedSlots > 0 && page.rows[page.usedSlots - 1] === 0) page.usedSlots--;
}

/** null when no vector is in the slot. */
export function readSlot(page: CodePage, slot: number): (VectorCode & { readonly row: number }) | null {
  const row = page.rows[slot] ?? 0;
  if (row === 0) return null;
  const bits = new Uint8Array(page.codeBytes);
  for (let i = 0; i < bits.length; i++) bits[i] = page.codes[codeAddress(page.codeBytes, slot, i)] as number;
  return { row, bits, scale: page.scales[slot] as number, norm: page.norms[slot] as number };
}

/** Of byte i of a slot's code. */
function codeAddress(bytesOfCode: number, slot: number, i: number): number {
  const inBlock = slot % BLOCK_ROWS;
  return (slot - inBlock) * bytesOfCode + i * BLOCK_ROWS + inBlock;
}

function bytesOfBlocks(slots: number, bytesOfCode: number): number {
  return Math.ceil(slots / BLOCK_ROWS) * BLOCK_ROWS * bytesOfCode;
}

export function encodePage(page: CodePage): Uint8Array {
  const slots = page.usedSlots;
  const codes = page.codes.subarray(0, bytesOfBlocks(slots, page.codeBytes));
  const bytes = new Uint8Array(HEADER_BYTES + slots * SLOT_BYTES + codes.length);
  const view = new DataView(bytes.buffer);
  bytes.set([...MAGIC, VERSION, BITS]);
  view.setUint16(6, slots, true);
  view.setUint16(8, page.codeBytes, true);
  for (let slot = 0; slot < slots; slot++) {
    view.setFloat64(HEADER_BYTES + slot * 8, page.rows[slot] as number, true);
    view.setFloat32(HEADER_BYTES + slots * 8 + slot * 4, page.scales[slot] as number, true);
    view.setFloat32(HEADER_BYTES + slots * 12 + slot * 4, page.norms[slot] as number, true);
  }
  bytes.set(codes, HEADER_BYTES + slots * SLOT_BYTES);
  return bytes;
}

/**
 * Checks all that a scan relies on. StoreCorrupted: the bytes are no page of that collection; UnsupportedSchemaVersion: they are of a
 * later version.
 */
export function decodePage(bytes: Uint8Array, codeBytes: number, what: string): CodePage {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const slots = checkHeader(view, codeBytes, what);
  const page = createPage(codeBytes);
  page.usedSlots = slots;
  for (let slot = 0; slot < slots; slot++) {
    const row = view.getFloat64(HEADER_BYTES + slot * 8, true);
    const scale = view.getFloat32(HEADER_BYTES + slots * 8 + slot * 4, true);
    const norm = view.getFloat32(HEADER_BYTES + slots * 12 + slot * 4, true);
    if (row !== 0 && !isRowNumber(row)) throw corrupted(what, `slot ${slot} has no row number`);
    if (!isFactor(scale) || !isFactor(norm))
      throw corrupted(what, `slot ${slot} has a scale or norm that is no length`);
    page.rows[slot] = row;
    page.scales[slot] = scale;
    page.norms[slot] = norm;
  }
  page.codes.set(bytes.subarray(HEADER_BYTES + slots * SLOT_BYTES));
  return page;
}

/** The number of slots in use. */
function checkHeader(view: DataView, codeBytes: number, what: string): number {
  if (view.byteLength < HEADER_BYTES) throw corrupted(what, `it has ${view.byteLength} bytes`);
  if (MAGIC.some((byte, i) => view.getUint8(i) !== byte)) throw corrupted(what, "it does not begin as a page does");
  const version = view.getUint8(4);
  if (version > VERSION) {
    throw new HoldfastError(
      "UnsupportedSchemaVersion",
      `${what} has version ${version}; this release reads ${VERSION}`,
      {
        hint: "Use the release that wrote it, or build the collection's pages again.",
        details: { what, version, supported: VERSION },
      },
    );
  }
  const [bits, slots, found] = [view.getUint8(5), view.getUint16(6, true), view.getUint16(8, true)];
  if (version !== VERSION || bits !== BITS) throw corrupted(what, `it says version ${version} and ${bits} bits`);
  if (found !== codeBytes)
    throw corrupted(what, `its codes have ${found} bytes and those of its collection ${codeBytes}`);
  if (slots > PAGE_SLOTS) throw corrupted(what, `it says ${slots} slots`);
  const expected = HEADER_BYTES + slots * SLOT_BYTES + bytesOfBlocks(slots, codeBytes);
  if (view.byteLength !== expected) throw corrupted(what, `it has ${view.byteLength} bytes instead of ${expected}`);
  return slots;
}

function isRowNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function isFactor(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

function corrupted(what: string, why: string): HoldfastError {
  return new HoldfastError("StoreCorrupted", `${what} is damaged: ${why}`, {
    hint: "Pages are derived from the stored vectors: build the collection's pages again.",
    details: { what },
  });
}

// Writes src/vectors/kernel/wasm-bytes.ts: the WebAssembly module that scores vector codes. It is written by hand in the few
// opcodes that it needs, so that no compiler is a dependency and every byte can be reviewed. A test builds it anew and compares.
//
//   node scripts/vector-kernel.ts          prints the file
//   node scripts/vector-kernel.ts --write  writes it
import { writeFileSync } from "node:fs";
import * as path from "node:path";

const TARGET = path.resolve(import.meta.dirname, "../src/vectors/kernel/wasm-bytes.ts");
const LINE_BYTES = 75;

type Bytes = readonly number[];

const I32 = 0x7f;
const V128 = 0x7b;
const FUNCTION_TYPE = 0x60;
const EMPTY_BLOCK = 0x40;
const END = 0x0b;

/** LEB128 of a natural number. */
function natural(value: number): Bytes {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...natural(value >>> 7)];
}

/** Signed LEB128, for constants. */
function signed(value: number): Bytes {
  const low = value & 0x7f;
  const rest = value >> 7;
  const isLast = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
  return isLast ? [low] : [low | 0x80, ...signed(rest)];
}

function text(value: string): Bytes {
  return [...natural(value.length), ...Buffer.from(value, "latin1")];
}

function section(id: number, ...entries: readonly Bytes[]): Bytes {
  const content = [...natural(entries.length), ...entries.flat()];
  return [id, ...natural(content.length), ...content];
}

const get = (local: number): Bytes => [0x20, ...natural(local)];
const set = (local: number): Bytes => [0x21, ...natural(local)];
const constant = (value: number): Bytes => [0x41, ...signed(value)];
const add = [0x6a];
const subtract = [0x6b];
const multiply = [0x6c];
const isLessUnsigned = [0x49];
const loop = (...body: readonly Bytes[]): Bytes => [0x03, EMPTY_BLOCK, ...body.flat(), END];
const continueIf = [0x0d, 0];

const simd = (opcode: number): Bytes => [0xfd, ...natural(opcode)];
const ALIGNED_16 = 4;
const vectorLoad = (offset: number): Bytes => [...simd(0), ALIGNED_16, ...natural(offset)];
const vectorStore = (offset: number): Bytes => [...simd(11), ALIGNED_16, ...natural(offset)];
const vectorConstant = (byte: number): Bytes => [...simd(12), ...Array.from({ length: 16 }, () => byte)];
const swizzle = simd(14);
const and = simd(78);
const shiftBytesRight = simd(109);
const addBytes = simd(110);
const extendLow = simd(137);
const extendHigh = simd(138);
const addShorts = simd(142);

/** Parameters, then locals. */
const CODES = 0;
const TABLES = 1;
const SUMS = 2;
const BLOCKS = 3;
const CODE_BYTES = 4;
const TABLE = 5;
const BLOCK_END = 6;
const LOW_SUMS = 7;
const HIGH_SUMS = 8;
const COLUMN = 9;
const PARTS = 10;

/** Looks up the table entries of 16 rows for one byte of their codes: for its low four bits and for its high four bits. */
function lookUp(column: number): Bytes {
  return [
    ...[...get(CODES), ...vectorLoad(column * 16), ...set(COLUMN)],
    ...[...get(TABLE), ...vectorLoad(column * 32), ...get(COLUMN), ...vectorConstant(0x0f), ...and, ...swizzle],
    ...[...get(TABLE), ...vectorLoad(column * 32 + 16), ...get(COLUMN), ...constant(4), ...shiftBytesRight, ...swizzle],
    ...addBytes,
  ];
}

const addTo = (local: number, extend: Bytes): Bytes => [
  ...[...get(local), ...get(PARTS), ...extend, ...addShorts, ...set(local)],
];
const advance = (local: number, by: Bytes): Bytes => [...get(local), ...by, ...add, ...set(local)];

/**
 * score(codes, tables, sums, blocks, codeBytes): for each of 16 rows a block, the sum of the table entries that its code
 * chooses, as an unsigned 16-bit number. A pass of the inner loop reads two bytes of 16 codes: four entries of at most 63 fit a byte.
 */
const SCORE: Bytes = loop(
  [...vectorConstant(0), ...set(LOW_SUMS), ...vectorConstant(0), ...set(HIGH_SUMS)],
  [...get(TABLES), ...set(TABLE)],
  [...get(CODES), ...get(CODE_BYTES), ...constant(16), ...multiply, ...add, ...set(BLOCK_END)],
  loop(
    [...lookUp(0), ...lookUp(1), ...addBytes, ...set(PARTS)],
    [...addTo(LOW_SUMS, extendLow), ...addTo(HIGH_SUMS, extendHigh)],
    [...advance(TABLE, constant(64)), ...advance(CODES, constant(32))],
    [...get(CODES), ...get(BLOCK_END), ...isLessUnsigned, ...continueIf],
  ),
  [...get(SUMS), ...get(LOW_SUMS), ...vectorStore(0), ...get(SUMS), ...get(HIGH_SUMS), ...vectorStore(16)],
  advance(SUMS, constant(32)),
  [...get(BLOCKS), ...constant(1), ...subtract, 0x22, BLOCKS, ...continueIf],
);

function buildKernel(): Uint8Array {
  const locals: readonly Bytes[] = [
    [2, I32],
    [4, V128],
  ];
  const body = [...natural(locals.length), ...locals.flat(), ...SCORE, END];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [FUNCTION_TYPE, 5, I32, I32, I32, I32, I32, 0]),
    ...section(2, [...text("kernel"), ...text("memory"), 0x02, 0x00, 0x00]),
    ...section(3, [0]),
    ...section(7, [...text("score"), 0x00, 0]),
    ...section(10, [...natural(body.length), ...body]),
  ]);
}

export function kernelFile(): string {
  const base64 = Buffer.from(buildKernel()).toString("base64");
  const lines = base64.match(new RegExp(`.{1,${LINE_BYTES}}`, "g")) ?? [];
  return [
    "// The WebAssembly module that scores vector codes, in base64. `node scripts/vector-kernel.ts --write` writes this file.",
    "export const WASM_BASE64 = [",
    ...lines.map((line) => `  "${line}",`),
    '].join("");',
    "",
  ].join("\n");
}

if (import.meta.main) {
  if (process.argv.includes("--write")) writeFileSync(TARGET, kernelFile());
  else process.stdout.write(kernelFile());
}

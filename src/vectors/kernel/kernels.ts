// Two implementations of the same sums over codes: a WebAssembly module with vector instructions, and plain JavaScript for places that
// do not have them. The sums are integers, so both give the same ones. Each keeps the codes of a collection's pages.
import { once } from "../../core/memoize.ts";
import type { QueryTables } from "./code.ts";
import { BLOCK_ROWS, PAGE_SLOTS } from "./pages.ts";
import { WASM_BASE64 } from "./wasm-bytes.ts";

export interface CodeKernel {
  readonly name: "wasm" | "javascript";
  /** Keeps a copy of the page's codes, in the place of what this page number had. */
  setPage(page: number, codes: Uint8Array): void;
  /** The tables that scorePage() uses. Scans that take turns load theirs after every pause. */
  loadQuery(query: QueryTables): void;
  /** Sums of the blocks from `first` to before `end`, by slot. The array is valid until the next call. */
  scorePage(page: number, first: number, end: number): Uint16Array;
}

type Score = (codes: number, tables: number, sums: number, blocks: number, codeBytes: number) => void;

interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** What is used of it; the types of Node do not have it. */
export interface WasmPlatform {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Memory: new (size: { readonly initial: number }) => WasmMemory;
  readonly Instance: new (
    module: object,
    imports: { readonly kernel: { readonly memory: WasmMemory } },
  ) => { readonly exports: { readonly score: Score } };
}

interface CompiledKernel {
  readonly platform: WasmPlatform;
  readonly module: object;
}

/** null: there is no WebAssembly, or one without vector instructions, or a host that does not compile at run time. */
export function compileKernel(platform: WasmPlatform | undefined): CompiledKernel | null {
  if (platform === undefined) return null;
  try {
    return { platform, module: new platform.Module(Buffer.from(WASM_BASE64, "base64")) };
  } catch {
    return null;
  }
}

const kernelOfHost = once(() =>
  compileKernel((globalThis as unknown as { readonly WebAssembly?: WasmPlatform }).WebAssembly),
);

export function createKernel(codeBytes: number, compiled = kernelOfHost()): CodeKernel {
  if (compiled === null) return new JavaScriptKernel(codeBytes);
  try {
    return new WasmKernel(codeBytes, compiled);
  } catch {
    // A memory reserves more addresses than it uses, and a process may be limited in those.
    return new JavaScriptKernel(codeBytes);
  }
}

const WASM_PAGE = 65_536;

/** The memory: tables of a query, sums of a page, codes of all pages. */
export class WasmKernel implements CodeKernel {
  readonly name = "wasm";
  readonly #codeBytes: number;
  readonly #memory: WasmMemory;
  readonly #score: Score;
  readonly #sumsAt: number;
  readonly #codesAt: number;
  /** Views of the memory; it gets a new buffer when it grows. */
  #bytes: Uint8Array;
  #sums: Uint16Array;

  constructor(codeBytes: number, kernel = kernelOfHost()) {
    if (kernel === null) throw new Error("bug: there is no WebAssembly here");
    this.#codeBytes = codeBytes;
    this.#sumsAt = codeBytes * 2 * 16;
    this.#codesAt = this.#sumsAt + PAGE_SLOTS * 2;
    this.#memory = new kernel.platform.Memory({ initial: Math.ceil(this.#codesAt / WASM_PAGE) });
    const { exports } = new kernel.platform.Instance(kernel.module, { kernel: { memory: this.#memory } });
    this.#score = exports.score;
    [this.#bytes, this.#sums] = this.#views();
  }

  setPage(page: number, codes: Uint8Array): void {
    const at = this.#addressOf(page);
    const missing = at + PAGE_SLOTS * this.#codeBytes - this.#bytes.length;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / WASM_PAGE));
      [this.#bytes, this.#sums] = this.#views();
    }
    this.#bytes.set(codes, at);
  }

  loadQuery(query: QueryTables): void {
    this.#bytes.set(query.entries);
  }

  scorePage(page: number, first: number, end: number): Uint16Array {
    const block = BLOCK_ROWS * this.#codeBytes;
    const sums = this.#sumsAt + first * BLOCK_ROWS * 2;
    if (end > first) this.#score(this.#addressOf(page) + first * block, 0, sums, end - first, this.#codeBytes);
    return this.#sums;
  }

  #addressOf(page: number): number {
    return this.#codesAt + page * PAGE_SLOTS * this.#codeBytes;
  }

  #views(): [Uint8Array, Uint16Array] {
    const { buffer } = this.#memory;
    return [new Uint8Array(buffer), new Uint16Array(buffer, this.#sumsAt, PAGE_SLOTS)];
  }
}

/** A table of 256 entries for every byte of a code, each the sum of its two entries of 16. */
export class JavaScriptKernel implements CodeKernel {
  readonly name = "javascript";
  readonly #codeBytes: number;
  readonly #pages: Uint8Array[] = [];
  readonly #sums = new Uint16Array(PAGE_SLOTS);
  readonly #tables: Uint8Array;
  #loaded: QueryTables | null = null;

  constructor(codeBytes: number) {
    this.#codeBytes = codeBytes;
    this.#tables = new Uint8Array(codeBytes * 256);
  }

  setPage(page: number, codes: Uint8Array): void {
    this.#pages[page] = codes.slice();
  }

  loadQuery(query: QueryTables): void {
    if (query === this.#loaded) return;
    this.#loaded = query;
    const { entries } = query;
    for (let byte = 0; byte < this.#codeBytes; byte++) {
      const tables = byte * 32;
      for (let value = 0; value < 256; value++) {
        const low = entries[tables + (value & 15)] as number;
        this.#tables[byte * 256 + value] = low + (entries[tables + 16 + (value >> 4)] as number);
      }
    }
  }

  scorePage(page: number, first: number, end: number): Uint16Array {
    const codes = this.#pages[page];
    if (codes === undefined) throw new Error(`bug: page ${page} has no codes`);
    const tables = this.#tables;
    const bytesOfCode = this.#codeBytes;
    for (let slot = first * BLOCK_ROWS; slot < end * BLOCK_ROWS; slot++) {
      const inBlock = slot % BLOCK_ROWS;
      let at = (slot - inBlock) * bytesOfCode + inBlock;
      let sum = 0;
      for (let table = 0; table < tables.length; table += 256) {
        sum += tables[table + (codes[at] as number)] as number;
        at += BLOCK_ROWS;
      }
      this.#sums[slot] = sum;
    }
    return this.#sums;
  }
}

// Pages of terms in memory, the last used ones, up to a number of bytes. A page never changes within a version of its segment.
import type { Storage } from "../../contracts/storage/storage.ts";
import { damagedPage, verifyPage } from "./byte-stream.ts";
import type { IndexKind } from "./reader.ts";
import { StaleSnapshot } from "./stale.ts";
import { readFirstTerm } from "./term-pages.ts";

export interface PageName {
  readonly kind: IndexKind;
  readonly segment: number;
  readonly version: number;
  readonly page: number;
  /** The term that it must begin with. */
  readonly first: string;
}

const BYTES_MAX = 24 * 1024 * 1024;

export class PageCache {
  /** The page used last is the last one. */
  readonly #pages = new Map<string, Uint8Array>();
  #bytes = 0;

  async read(name: PageName, storage: Storage): Promise<Uint8Array> {
    const key = `${prefixOf(name.kind, name.segment, name.version)}/${name.page}`;
    const known = this.#pages.get(key);
    if (known !== undefined) {
      this.#pages.delete(key);
      this.#pages.set(key, known);
      return known;
    }
    const { kind, segment, version, page } = name;
    const [row] = await storage.query("index.page", { kind, segment, version, page });
    if (row === undefined) throw new StaleSnapshot();
    const content = verifyPage(row.body);
    if (readFirstTerm(content) !== name.first) throw damagedPage();
    this.#add(key, content);
    return content;
  }

  #add(key: string, content: Uint8Array): void {
    if (this.#pages.has(key)) return;
    this.#pages.set(key, content);
    this.#bytes += content.byteLength;
    for (const [oldest, bytes] of this.#pages) {
      if (this.#bytes <= BYTES_MAX) return;
      this.#pages.delete(oldest);
      this.#bytes -= bytes.byteLength;
    }
  }

  /** Forgets the pages of other segments, and of other versions of these. */
  retain(kind: IndexKind, segments: readonly { readonly segment: number; readonly version: number }[]): void {
    const current = new Set(segments.map(({ segment, version }) => prefixOf(kind, segment, version)));
    for (const [key, bytes] of this.#pages) {
      if (!key.startsWith(`${kind}/`) || current.has(key.slice(0, key.lastIndexOf("/")))) continue;
      this.#pages.delete(key);
      this.#bytes -= bytes.byteLength;
    }
  }

  clear(): void {
    this.#pages.clear();
    this.#bytes = 0;
  }
}

function prefixOf(kind: IndexKind, segment: number, version: number): string {
  return `${kind}/${segment}/${version}`;
}

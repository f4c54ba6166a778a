// Numbers and bytes of the index's pages, written and read one after the other. A page ends with a checksum of the bytes before it,
// so that a damaged page is noticed before its numbers are believed.
import { crc32 } from "node:zlib";
import { HoldfastError } from "../../contracts/errors.ts";

const CHECKSUM_BYTES = 4;

export class ByteWriter {
  #bytes: Uint8Array = new Uint8Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** The bytes so far. Those written after clear() overwrite them. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  clear(): void {
    this.#length = 0;
  }

  /** A whole number from 0 to 2^53 - 1: seven bits a byte, the lowest first. */
  writeNumber(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest > 0x7f_ff_ff_ff) {
      this.#bytes[this.#length++] = (rest % 128) | 128;
      rest = Math.floor(rest / 128);
    }
    while (rest > 127) {
      this.#bytes[this.#length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** A whole number of any sign: small ones of either sign take one byte. */
  writeDifference(value: number): void {
    this.writeNumber(value < 0 ? -2 * value - 1 : 2 * value);
  }

  writeBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The bytes so far with their checksum; the writer is empty again. */
  finish(): Uint8Array {
    const page = new Uint8Array(this.#length + CHECKSUM_BYTES);
    page.set(this.written);
    new DataView(page.buffer).setUint32(this.#length, crc32(this.written));
    this.clear();
    return page;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + more));
    grown.set(this.written);
    this.#bytes = grown;
  }
}

/** The content of a page; StoreCorrupted if its checksum is wrong. */
export function verifyPage(page: Uint8Array): Uint8Array {
  const length = page.length - CHECKSUM_BYTES;
  if (length < 0) throw damagedPage();
  const content = page.subarray(0, length);
  const checksum = new DataView(page.buffer, page.byteOffset, page.byteLength).getUint32(length);
  if (crc32(content) !== checksum) throw damagedPage();
  return content;
}

export class ByteReader {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at >= this.bytes.length;
  }

  readNumber(): number {
    const { bytes } = this;
    const first = bytes[this.at++];
    if (first === undefined) throw damagedPage();
    if (first < 128) return first;
    let value = first & 127;
    for (let scale = 128; ; scale *= 128) {
      const byte = bytes[this.at++];
      if (byte === undefined || scale > 2 ** 53) throw damagedPage();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  readDifference(): number {
    const value = this.readNumber();
    return value % 2 === 1 ? -(value + 1) / 2 : value / 2;
  }

  readBytes(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.bytes.length) throw damagedPage();
    const read = this.bytes.subarray(this.at, end);
    this.at = end;
    return read;
  }
}

export function damagedPage(): HoldfastError {
  return new HoldfastError("StoreCorrupted", "a page of the text index is damaged", {
    hint: "The index is made of the stored texts, and can be made again: run `npx holdfast reindex`.",
  });
}

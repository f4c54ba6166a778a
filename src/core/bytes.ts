// Converts between bytes and text, and hashes both.
import { hash } from "node:crypto";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** False for a proxy of bytes, and for bytes that were transferred to another thread. */
export function isBytes(value: unknown): value is Uint8Array {
  if (!ArrayBuffer.isView(value) || !(value instanceof Uint8Array)) return false;
  return !("detached" in value.buffer && value.buffer.detached === true);
}

export function encodeText(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

/** Throws a TypeError when the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

const DIGEST_BYTES = 32;

/**
 * Converts through a text: an array of 32 bytes is allocated on the heap and costs a third of a Buffer, which is not.
 */
export function sha256(bytes: Uint8Array): Uint8Array {
  const text = hash("sha256", bytes, "binary");
  const digest = new Uint8Array(DIGEST_BYTES);
  for (let i = 0; i < DIGEST_BYTES; i++) digest[i] = text.charCodeAt(i);
  return digest;
}

export function sha256Hex(text: string | Uint8Array): string {
  return hash("sha256", text, "hex");
}

const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

export function toHex(bytes: Uint8Array): string {
  // Every append converts a digest. Converting it directly is faster than making a Buffer.
  if (bytes.byteLength <= DIGEST_BYTES) {
    let text = "";
    for (let i = 0; i < bytes.byteLength; i++) text += HEX[bytes[i] as number];
    return text;
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** null when the text is not an even number of lower-case hex digits. */
export function fromHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return null;
  return Uint8Array.from(Buffer.from(text, "hex"));
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && Buffer.compare(a, b) === 0;
}

/** Negative when `a` comes first, as both databases order bytes. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

const REF = /^sha256:([0-9a-f]{64})$/;

export function toRef(digest: Uint8Array): string {
  return `sha256:${toHex(digest)}`;
}

/** null when it is not a ref. */
export function fromRef(ref: string): Uint8Array | null {
  const match = REF.exec(ref);
  return match?.[1] === undefined ? null : fromHex(match[1]);
}

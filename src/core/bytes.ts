// Bytes and text: the one place that turns one into the other and hashes either.
import { hash } from "node:crypto";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function encodeText(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}

/** Throws a TypeError when the bytes are not UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

export function sha256(bytes: Uint8Array): Uint8Array {
  return hash("sha256", bytes, "buffer");
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** null when the text is not an even number of lower-case hex digits. */
export function fromHex(text: string): Uint8Array | null {
  if (text.length % 2 !== 0 || !/^[0-9a-f]*$/.test(text)) return null;
  return Uint8Array.from(Buffer.from(text, "hex"));
}

export function toBase64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64url");
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && Buffer.compare(a, b) === 0;
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

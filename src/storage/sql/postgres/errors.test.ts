// Which errors leave open whether a commit happened: a batch that met one must never be tried again by itself.
import { expect, test } from "vitest";
import { isUnreachable } from "./errors.ts";

const failed = (code: string, severity?: string) =>
  Object.assign(new Error(code), { code }, severity === undefined ? {} : { severity });

test.each([
  "ECONNRESET",
  "EPIPE",
  "ENETDOWN",
  "ECONNABORTED",
  "EHOSTDOWN",
  "EPROTO",
  "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC",
  "ERR_SOCKET_CLOSED",
  "CONNECTION_CLOSED",
])("ST2 %s from the network leaves it open", (code) => {
  expect(isUnreachable(failed(code))).toBe(true);
});

test.each(["57P01", "57P03", "08006", "53300"])("ST2 %s from the server leaves it open", (code) => {
  expect(isUnreachable(failed(code, "FATAL"))).toBe(true);
});

test.each([
  failed("23505", "ERROR"),
  failed("22012", "ERROR"),
  failed("42601", "ERROR"),
  failed("UNDEFINED_VALUE"),
  new Error("plain"),
  null,
])("ST2 what was refused did not happen: %s", (error) => {
  expect(isUnreachable(error)).toBe(false);
});

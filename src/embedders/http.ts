// Requests to an HTTP API: JSON there and back. The key is in no error and in no log, also if the server repeats it, and it never follows
// a redirect.
import type { EmbedOptions } from "../contracts/embedders.ts";
import { HoldfastError } from "../contracts/errors.ts";
import { checkRecord, invalid, isObject } from "../core/check.ts";
import { failureOf, ModelError } from "../models/failure.ts";
import { withRetries } from "./retries.ts";
import {
  checkDimensions,
  checkModelName,
  checkParams,
  checkSettings,
  EMBEDDER_OPTIONS,
  type EmbedderOptions,
  type EmbedderSettings,
} from "./settings.ts";

export interface EndpointOptions extends EmbedderOptions {
  /** The address of the API, up to its version: "http://127.0.0.1:11434/v1". */
  readonly url?: string;
  readonly model: string;
  /** How many numbers each vector has. Needed unless the model is known. */
  readonly dimensions?: number;
  readonly apiKey?: string;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields of every request. They are part of the id. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Instead of the platform's fetch. */
  readonly fetch?: typeof fetch;
}

const ENDPOINT_OPTIONS = [
  ...EMBEDDER_OPTIONS,
  "url",
  "model",
  "dimensions",
  "apiKey",
  "headers",
  "params",
  "fetch",
] as const satisfies readonly (keyof EndpointOptions)[];

/** What is known of an API. */
export interface ProviderDefaults {
  readonly provider: string;
  readonly url: string | null;
  readonly maxBatch: number;
  /** How many numbers the vectors of a model have by default. */
  dimensionsOf(model: string): number | undefined;
}

export interface Endpoint extends EmbedderSettings {
  readonly model: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The value of `dimensions`, if it is not what the model gives by itself. */
  readonly shortenedTo: number | null;
  post(path: string, body: object, options: Required<EmbedOptions>): Promise<unknown>;
}

export function createEndpoint(options: EndpointOptions, defaults: ProviderDefaults): Endpoint {
  const given = checkRecord(options, "options", ENDPOINT_OPTIONS);
  const model = checkModelName(given.model);
  const known = defaults.dimensionsOf(model);
  const dimensions = checkDimensions(given.dimensions, model, known);
  const params = checkParams(given.params, "params");
  const { provider, maxBatch } = defaults;
  const settings = checkSettings(given, { provider, model, dimensions, maxBatch, variant: params });
  const url = checkUrl(given.url ?? defaults.url);
  const key = checkKey(given.apiKey);
  const headers = checkHeaders(given.headers, key);
  const { fetch: send = (...call: Parameters<typeof fetch>) => fetch(...call) } = given;
  if (typeof send !== "function") throw invalid("fetch", "a function", send);
  const server: Server = { provider, url, headers, hide: hideSecrets(key, headers, url), send: send as typeof fetch };
  return {
    ...settings,
    model,
    params,
    shortenedTo: known !== undefined && known !== dimensions ? dimensions : null,
    post: (path, body, options) => withRetries(settings, options, (limited) => post(server, path, body, limited)),
  };
}

interface Server {
  readonly provider: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Removes keys from a text. */
  hide(text: string): string;
  readonly send: typeof fetch;
}

async function post({ provider, url, headers, hide, send }: Server, path: string, body: object, signal: AbortSignal) {
  const address = new URL(url);
  address.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  let response: Response;
  try {
    response = await send(address, { method: "POST", headers, body: JSON.stringify(body), signal, redirect: "manual" });
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { code } = failureOf(provider, thrown);
    throw new ModelError(code, `${provider}: no connection to ${url.origin} (${code})`);
  }
  if (response.status >= 300 && response.status < 400) {
    await response.body?.cancel();
    const message = `${provider}: ${url.origin} redirects to another address (HTTP ${response.status}); give that address as url`;
    throw new ModelError("Redirected", message, { status: response.status, retryable: false });
  }
  const text = await readText(provider, response);
  const answer = parseJson(text);
  if (!response.ok) throw statusError(provider, response, answer, hide);
  // A proxy that is overloaded sometimes answers with a page of its own.
  if (answer === undefined)
    throw new ModelError("InvalidAnswer", `${provider}: the answer of ${url.origin} is no JSON`);
  return answer;
}

/** The largest answer that is read: larger ones would fill the memory. */
const MOST_CHARS = 256 * 1024 * 1024;

async function readText(provider: string, response: Response): Promise<string> {
  if (response.body === null) return "";
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body) {
    text += decoder.decode(piece, { stream: true });
    if (text.length > MOST_CHARS) {
      throw new ModelError("InvalidAnswer", `${provider}: the answer is longer than ${MOST_CHARS} characters`, {
        retryable: false,
      });
    }
  }
  return text + decoder.decode();
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const SHOWN_CHARS = 300;

function statusError(provider: string, response: Response, answer: unknown, hide: Server["hide"]): ModelError {
  const { status, headers } = response;
  const { code, retryable, retryAfterMs } = failureOf(provider, { status, headers, error: answer });
  const reason = hide(reasonOf(answer)).slice(0, SHOWN_CHARS);
  return new ModelError(
    hide(code).slice(0, SHOWN_CHARS),
    `${provider}: HTTP ${status}${reason === "" ? "" : `: ${reason}`}`,
    {
      status,
      retryable,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    },
  );
}

/** What the server says in any of the usual fields, as one line without control characters. */
function reasonOf(answer: unknown): string {
  const fields = isObject(answer) ? answer : {};
  const inner = isObject(fields.error) ? fields.error : fields;
  const found = [inner.message, inner.detail, fields.error, fields.message].find((one) => typeof one === "string");
  return String(found ?? "")
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
}

/** The error does not show the address: it may have a password. */
function checkUrl(value: unknown): URL {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new HoldfastError("BadUrl", "url must be the address of an HTTP API", {
      hint: 'For example "http://127.0.0.1:11434/v1".',
    });
  }
  if (url.username !== "" || url.password !== "") {
    throw new HoldfastError("BadUrl", "url contains a user name or a password", {
      hint: "Give the key as apiKey, or as a header.",
    });
  }
  return url;
}

/** fetch would refuse another key with an error that shows it. */
function checkKey(value: unknown): string | null {
  if (value === undefined) return null;
  if (typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) return value;
  throw new HoldfastError("InvalidArgument", "apiKey must be a text of visible ASCII characters", {
    hint: "Is there a line break at its end?",
    details: { what: "apiKey" },
  });
}

function checkHeaders(value: unknown, key: string | null): Readonly<Record<string, string>> {
  const given = checkRecord(value, "headers");
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (key !== null) headers.authorization = `Bearer ${key}`;
  for (const [name, text] of Object.entries(given)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || typeof text !== "string" || !/^[\x20-\x7e]*$/.test(text)) {
      throw new HoldfastError("InvalidArgument", `headers.${name.slice(0, 40)} is no HTTP header`, {
        details: { what: "headers" },
      });
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** Parts of header values and of a URL's query that are shorter are no keys, but words such as "Bearer". */
const SHORTEST_KEY = 7;

/** A part of a path with so many letters and digits in a row may be a key. */
const PATH_KEY = /[\w-]{20}/;

/** A server may repeat a key in its answer without the word that stands before it in a header, and a URL as it is or decoded. */
function hideSecrets(key: string | null, headers: Readonly<Record<string, string>>, url: URL): Server["hide"] {
  const values = Object.entries(headers).flatMap(([name, text]) => (name === "content-type" ? [] : [text]));
  const parts = [...values, ...partsOfUrl(url)].flatMap((text) => [
    text,
    text.replace(/[\s\p{Cc}]+/gu, " "),
    ...text.split(/[\s\p{Cc}]+/u),
  ]);
  const secrets = [...(key === null ? [] : [key]), ...parts.filter((text) => text.length >= SHORTEST_KEY)];
  const longestFirst = secrets.sort((a, b) => b.length - a.length);
  return (text) => longestFirst.reduce((hidden, secret) => hidden.replaceAll(secret, "[key]"), text);
}

/** What may be a key in a URL, in every form in which a server may repeat it. */
function partsOfUrl({ search, searchParams, pathname }: URL): readonly string[] {
  const pairs = search === "" ? [] : search.slice(1).split("&");
  const raw = pairs.map((pair) => pair.slice(pair.indexOf("=") + 1));
  const segments = pathname.split("/").filter((segment) => PATH_KEY.test(decode(segment)));
  const found = [search, ...raw, ...searchParams.values(), ...segments];
  return found.flatMap((text) => [
    ...[text, text.replaceAll("+", " ")].flatMap((form) => [form, decode(form)]),
    encodeURIComponent(text),
  ]);
}

/** The text itself if it is not percent-encoded UTF-8. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

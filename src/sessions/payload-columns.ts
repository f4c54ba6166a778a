// Rows with several payloads: each column refers to a blob, and one column holds the salts of their commitments,
// sixteen bytes each, in the order of the columns.
import type { Json } from "../contracts/json.ts";
import type { Commit } from "../contracts/storage/commit.ts";
import type { Prepare, PreparedPayload } from "../contracts/storage/payloads.ts";
import { encodeJson } from "../core/check.ts";

const SALT = 16;

export type Columns<N extends string> = Readonly<Partial<Record<N, PreparedPayload>>>;

export async function preparePayloads<N extends string>(
  prepare: Prepare,
  given: Readonly<Partial<Record<N, Json | undefined>>>,
): Promise<Columns<N>> {
  const entries = Object.entries(given) as [N, Json | undefined][];
  // Encode everything before the first await, because the caller may change its objects afterwards.
  const encoded = entries.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, encodeJson(value, name, "payloadBytes")] as const],
  );
  const prepared: Partial<Record<N, PreparedPayload>> = {};
  for (const [name, bytes] of encoded) {
    prepared[name] = await prepare(bytes, { media: "application/json", utf8: true, owned: true });
  }
  return prepared;
}

/** The payloads of an earlier version, whose blobs get one more reference. */
export interface PriorPayloads<N extends string> {
  readonly refs: Readonly<Partial<Record<N, Uint8Array | null>>>;
  readonly salts: Uint8Array | null;
}

export interface WrittenPayloads<N extends string> {
  readonly refs: Readonly<Record<N, Uint8Array | null>>;
  readonly salts: Uint8Array | null;
  readonly commit: Pick<Commit, "blobs" | "writes" | "uses">;
}

export function writePayloads<N extends string>(
  names: readonly N[],
  fresh: Columns<N>,
  held?: PriorPayloads<N>,
): WrittenPayloads<N> {
  const refs = {} as Record<N, Uint8Array | null>;
  const salts = new Uint8Array(names.length * SALT);
  const uses: NonNullable<Commit["uses"]>[number][] = [];
  for (const [i, name] of names.entries()) {
    const payload = fresh[name];
    const before = held?.refs[name] ?? null;
    refs[name] = payload?.sha256 ?? before;
    if (payload !== undefined) salts.set(payload.salt, i * SALT);
    else if (before !== null) {
      salts.set(held?.salts?.subarray(i * SALT, (i + 1) * SALT) ?? new Uint8Array(SALT), i * SALT);
      uses.push([before, 1]);
    }
  }
  const all = Object.values(fresh) as PreparedPayload[];
  return {
    refs,
    salts: Object.values(refs).every((ref) => ref === null) ? null : salts,
    commit: {
      blobs: all.flatMap(({ blobs }) => blobs),
      writes: all.flatMap(({ writes }) => writes),
      uses: [...uses, ...all.flatMap((payload) => payload.uses)],
    },
  };
}

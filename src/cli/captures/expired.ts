// Captures whose time is over: until they are swept they can be kept after all, and whoever looks for one is told so.
import type { Capture } from "../../contracts/captures.ts";
import { HoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import { quoted } from "../terminal.ts";
import { formatSpan } from "../units.ts";

/** Those whose time is over and which were not swept yet, the last first. */
export async function expiredCaptures({ captures }: Holdfast): Promise<Capture[]> {
  const { removed } = await captures.deleteExpired({ dryRun: true });
  const found: Capture[] = [];
  for (const { id } of removed) {
    const one = await captures.get(id);
    if (one !== null) found.push(one);
  }
  return found.toSorted((a, b) => (b.expiresAt ?? 0) - (a.expiresAt ?? 0));
}

/** By the store's clock. */
export function isExpired({ clock }: Holdfast, { expiresAt }: Capture): boolean {
  return expiresAt !== null && expiresAt <= clock().now;
}

/** "cap_… expired 2 h ago and was not swept yet" */
export function expiredWords({ clock }: Holdfast, { id, expiresAt }: Capture): string {
  return `${id} expired ${formatSpan(clock().now - (expiresAt ?? 0))} ago and was not swept yet`;
}

export function captureExpired(holdfast: Holdfast, capture: Capture): HoldfastError {
  return new HoldfastError("CaptureExpired", expiredWords(holdfast, capture), {
    hint:
      `\`holdfast captures keep ${capture.id}\` keeps it, and then it can be put back; ` +
      `\`holdfast handover --request ${quoted(capture.request)}\` tells what was done`,
    details: { kind: "capture", id: capture.id, expiresAt: capture.expiresAt },
  });
}

// One run at a time works on a request: two that begin at once would both begin anew, and two that resume would go apart.
import type { ClaimOwner, CodingAgent, RequestClaim } from "../../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context } from "../command.ts";
import { formatAge, formatTime } from "../units.ts";
import { untilSignal } from "./store-opening.ts";

/** RequestBusy when another run works on it, unless --wait says to wait for its end. */
export async function claimRequest(
  { args, output }: Context,
  store: Holdfast,
  request: string,
  agent: CodingAgent,
): Promise<RequestClaim> {
  const wait = args.flag("wait");
  const onWait = (owner: ClaimOwner) => {
    const who = describeOwner(owner, store.clock().now);
    const what = wait ? "waiting until it has ended" : "waiting for a sign of life from it, as long as its lease lasts";
    void output.note(`holdfast: ${who} works on request ${JSON.stringify(request)}; ${what}`);
  };
  try {
    return await untilSignal((signal) => store.captures.claim(request, agent, { wait, signal, onWait }));
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "RequestBusy") throw error;
    const { message, details, retryable } = error;
    const since = Number(details.since);
    const begun = `since ${formatTime(since)} (${formatAge(since, store.clock().now)})`;
    throw new HoldfastError("RequestBusy", `${message} ${begun}; the agent was not started`, {
      ...{ details, retryable },
      hint: "Wait for its end and resume what it leaves with --wait, or work beside it with --beside: both results are kept.",
    });
  }
}

function describeOwner({ host, pid, since }: ClaimOwner, now: number): string {
  const who = pid === null ? "another process" : `process ${pid} on ${host}`;
  return `${who}, begun ${formatAge(since, now)},`;
}

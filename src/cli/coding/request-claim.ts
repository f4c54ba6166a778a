// One run at a time works on a request: two that begin at once would both begin anew, and two that resume would go apart. An agent
// that works on after its run was killed counts as that run.
import type { ClaimOwner, CodingAgent, RequestClaim } from "../../contracts/captures.ts";
import { HoldfastError, isHoldfastError } from "../../contracts/errors.ts";
import type { Holdfast } from "../../contracts/holdfast.ts";
import type { Context } from "../command.ts";
import { formatAge, formatTime } from "../units.ts";
import { agentNotStarted, untilSignal } from "./store-opening.ts";

export interface ClaimedRequest {
  readonly claim: RequestClaim;
  /** Another run worked on it, and its end was waited for. */
  readonly hasWaited: boolean;
}

/** RequestBusy when another run works on it, unless --wait says to wait for its end. */
export async function claimRequest(
  { args, output }: Context,
  store: Holdfast,
  request: string,
  agent: CodingAgent,
): Promise<ClaimedRequest> {
  const wait = args.flag("wait");
  let hasWaited = false;
  const onWait = (owner: ClaimOwner) => {
    hasWaited = wait;
    const who = describeOwner(owner, store.clock().now);
    const what = wait ? "waiting until it has ended" : "waiting for a sign of life from it, as long as its lease lasts";
    void output.note(`holdfast: ${who} works on request ${JSON.stringify(request)}; ${what}${howToEnd(owner)}`);
  };
  try {
    const claim = await untilSignal((signal) => store.captures.claim(request, agent, { wait, signal, onWait }));
    return { claim, hasWaited };
  } catch (error) {
    const isBusy = isHoldfastError(error) && error.code === "RequestBusy";
    throw isBusy ? requestBusy(error, store.clock().now) : agentNotStarted(error);
  }
}

function requestBusy({ message, details, retryable }: HoldfastError, now: number): HoldfastError {
  const { host, pid, orphan, isStalled } = details;
  const since = Number(details.since);
  const begun = `since ${formatTime(since)} (${formatAge(since, now)})`;
  const request = JSON.stringify(details.request);
  const busy = (what: string, ending: string) =>
    new HoldfastError("RequestBusy", `${what}; the agent was not started`, {
      ...{ details, retryable },
      hint: `Wait for its end and resume what it leaves with --wait, ${ending}or work beside it with --beside: both results are kept.`,
    });
  if (typeof orphan === "number") {
    const killed = `the holdfast run of process ${pid} on ${host} was killed`;
    const works = `its agent, process ${orphan}, still works on request ${request} ${begun}`;
    return busy(`${killed}, and ${works}`, `end it with \`kill ${orphan}\`, `);
  }
  if (isStalled !== true) return busy(`${message} ${begun}`, "");
  const works = `process ${pid} on ${host} works on request ${request} ${begun}`;
  return busy(`${works}, and does not answer: it is stopped (Ctrl-Z), or it hangs`, `${continuing(Number(pid))}, `);
}

function describeOwner({ host, pid, since, orphan, isStalled }: ClaimOwner, now: number): string {
  const begun = `begun ${formatAge(since, now)},`;
  if (orphan !== null) return `process ${orphan}, the agent of a holdfast run that was killed, ${begun}`;
  if (isStalled) return `process ${pid} on ${host}, which is stopped or hangs, ${begun}`;
  return `${pid === null ? "another process" : `process ${pid} on ${host}`}, ${begun}`;
}

function howToEnd({ pid, orphan, isStalled }: ClaimOwner): string {
  if (orphan !== null) return ` (end it with \`kill ${orphan}\`)`;
  return isStalled && pid !== null ? ` (${continuing(pid)})` : "";
}

/** A process that is stopped obeys SIGTERM only when it continues. */
function continuing(pid: number): string {
  return `continue it with \`fg\` in its terminal or with \`kill -CONT ${pid}\`, end it with \`kill ${pid}; kill -CONT ${pid}\``;
}

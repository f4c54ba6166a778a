// The Claude Agent SDK of the agents under test. It is no dependency of this package, so the little that tests use of it
// is typed here by its shape.
import * as path from "node:path";
import { pathToFileURL } from "node:url";
import { type Machine, type Machines, MODEL } from "./machine.ts";

export interface SdkMessage {
  readonly type: string;
  readonly subtype?: string;
  readonly session_id?: string;
  readonly uuid?: string;
  readonly result?: string;
  readonly [field: string]: unknown;
}

export interface SdkQuery extends AsyncIterable<SdkMessage> {
  rewindFiles(userMessageId: string, options?: { dryRun?: boolean }): Promise<{ canRewind: boolean }>;
  close(): void;
}

export interface Sdk {
  query(params: { prompt: string | AsyncIterable<unknown>; options: Readonly<Record<string, unknown>> }): SdkQuery;
  readonly [name: string]: unknown;
}

/**
 * The SDK runs inside this process, so this process forgets its own home and its own agent's settings first; every test
 * file has a process of its own.
 */
export async function loadSdk(machines: Machines): Promise<Sdk> {
  for (const name of Object.keys(process.env)) {
    if (/^(CLAUDE|ANTHROPIC)/.test(name)) delete process.env[name];
  }
  process.env.HOME = path.join(machines.folder, "nobody");
  return await import(pathToFileURL(path.join(machines.agents.sdk, "sdk.mjs")).href);
}

/** Options of `query()` for an agent on that machine, all tools allowed. */
export function sdkOptions(machines: Machines, machine: Machine): Record<string, unknown> {
  return {
    cwd: machine.cwd,
    env: { ...machine.env },
    pathToClaudeCodeExecutable: machines.agents.claude,
    model: MODEL,
    permissionMode: "bypassPermissions",
    allowDangerouslySkipPermissions: true,
  };
}

/** All messages until the agent has ended; the one of type `result` comes near the end. */
export async function runTurn(query: SdkQuery): Promise<SdkMessage[]> {
  const messages: SdkMessage[] = [];
  for await (const message of query) messages.push(message);
  return messages;
}

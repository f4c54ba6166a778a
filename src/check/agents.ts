// Agents and blocks belong to no session and are in no log, so the checker compares them with each other: every column
// can be read, an agent's row and its tag rows agree, every block has its versions.
import { agentOf, BLOCK_COLUMNS, VERSION_COLUMNS } from "../agents/rows.ts";
import type { Queries } from "../contracts/storage/queries.ts";
import type { AgentRow } from "../contracts/storage/rows.ts";
import type { Storage } from "../contracts/storage/storage.ts";
import type { CheckedBlockRow } from "../contracts/storage/store-check-queries.ts";
import { decodeRow, jsonTexts } from "../core/decode.ts";
import { checkDecoding } from "./decoding.ts";
import type { IssueReporter } from "./findings.ts";
import { BEFORE_ALL, PAGE, rowsOf } from "./pages.ts";

export async function checkAgents(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const row of rowsOf<AgentRow>((last) =>
    storage.query("check.agents", { after: last?.no ?? BEFORE_ALL, limit: PAGE }),
  )) {
    checkDecoding(reporter, "agents", row.id, () => agentOf(row));
    const tags = row.tags === null || row.deleted_at !== null ? [] : (jsonTexts.read(row.tags) ?? []);
    const found = (await storage.query("check.agentTags", { agent: row.no })).map(({ tag }) => tag);
    if (JSON.stringify([...new Set(tags)].sort()) !== JSON.stringify(found.sort())) {
      reporter.report("agent-tags-wrong", [row.id], { tags: [...tags], found });
    }
  }
  for (const { tag, agent_no } of await storage.query("check.strayTags", { limit: PAGE })) {
    reporter.report("agent-tags-wrong", [tag], { agentNumber: agent_no });
  }
}

export async function checkBlocks(storage: Storage, reporter: IssueReporter): Promise<void> {
  for await (const row of rowsOf<CheckedBlockRow>((last) =>
    storage.query("check.blocks", { after: last?.id ?? "", limit: PAGE }),
  )) {
    checkDecoding(reporter, "blocks", row.id, () => decodeRow({ kind: "block", block: row.id }, row, BLOCK_COLUMNS));
    const { version, newest, versions } = row;
    if (newest !== version || versions !== version) {
      reporter.report("block-wrong", [row.id], { table: "blocks", version, newest, versions });
    } else if (row.created_at !== row.first_at || row.updated_at !== row.newest_at) {
      const column = row.created_at === row.first_at ? "updated_at" : "created_at";
      reporter.report("block-wrong", [row.id], { table: "blocks", column });
    }
  }
  for await (const row of rowsOf<Queries["check.blockRefs"]["row"]>((last) =>
    storage.query("check.blockRefs", {
      afterBlock: last?.block_id ?? "",
      afterVersion: last?.version ?? 0,
      limit: PAGE,
    }),
  )) {
    const name = { kind: "block version", block: row.block_id, version: row.version };
    checkDecoding(reporter, "block_versions", row.block_id, () => decodeRow(name, row, VERSION_COLUMNS));
    if (row.block === null)
      reporter.report("block-wrong", [row.block_id], { table: "block_versions", version: row.version });
  }
  for (const { agent, agent_no, block_id } of await storage.query("check.strayBlocks", { limit: PAGE })) {
    reporter.report("block-wrong", [block_id], { table: "agent_blocks", agent, agentNumber: agent_no });
  }
}

// Draws sessions as a tree: under each session its heads, branches, forks and invocations in the order of the log.
// Every line fits the terminal.
import type { Tree, TreeSession } from "../contracts/archive.ts";
import { rowId } from "../core/row-id.ts";
import { shortHead } from "./locate.ts";
import type { Frame } from "./table.ts";
import type { Style } from "./terminal.ts";
import { displayWidth, safeLine, truncate } from "./terminal.ts";
import { plural } from "./units.ts";

/** A node of the tree: a line made of pieces, and the nodes below it. */
interface TreeNode {
  readonly pieces: readonly Piece[];
  readonly below: readonly TreeNode[];
}

export interface Piece {
  readonly text: string;
  readonly paint?: (text: string) => string;
}

export interface DrawingOptions {
  /** The session that the user named. */
  readonly marked: string | null;
  /** The head that the user named. */
  readonly head?: string | null;
  /** How many of the newest heads of a branch are shown. */
  readonly heads: number;
}

export function treeLines(tree: Tree, drawing: DrawingOptions, frame: Frame): string[] {
  const builder = new TreeBuilder(tree, drawing, frame.style);
  return builder.roots().flatMap((root) => drawNode(root, frame));
}

function drawNode(node: TreeNode, frame: Frame): string[] {
  const lines: string[] = [];
  const draw = ({ pieces, below }: TreeNode, first: string, rest: string) => {
    lines.push(fitLine(first, pieces, frame));
    below.forEach((one, i) => {
      const last = i === below.length - 1;
      draw(one, `${rest}${last ? "└─ " : "├─ "}`, `${rest}${last ? "   " : "│  "}`);
    });
  };
  draw(node, "", "");
  return lines;
}

/** Fits the pieces into one line: a piece that is too long is cut, and the rest is left out. */
export function fitLine(lead: string, pieces: readonly Piece[], { width, style }: Frame): string {
  // If the tree is too deep for the terminal, the left part of the line is cut, so that names have room.
  const most = Math.floor(width / 2);
  const prefix = lead.length > most ? `…${lead.slice(1 - most)}` : lead;
  let line = style.faint(prefix);
  let left = width - displayWidth(prefix);
  for (const { text, paint } of pieces) {
    if (left <= 0) break;
    const cut = truncate(safeLine(text), left);
    left -= displayWidth(cut);
    line += paint === undefined ? cut : paint(cut);
  }
  return line.trimEnd();
}

type Edge = { readonly seq: number; readonly rank: number; readonly node: () => TreeNode };

class TreeBuilder {
  readonly #sessions: ReadonlyMap<string, TreeSession>;
  readonly #drawing: DrawingOptions;
  /** Whether the tree leaves out sessions, so that a missing one may exist. */
  readonly #isCut: boolean;
  readonly #style: Style;
  /** Sessions that are already drawn; a second reference to one of them only names it. */
  readonly #drawn = new Set<string>();

  constructor({ sessions, more }: Tree, drawing: DrawingOptions, style: Style) {
    this.#sessions = new Map(sessions.map((session) => [session.id, session]));
    this.#drawing = drawing;
    // At a head the tree has only the sessions that lead to it.
    this.#isCut = more || (drawing.head ?? null) !== null;
    this.#style = style;
  }

  roots(): readonly TreeNode[] {
    const all = [...this.#sessions.values()];
    const first = all.filter((session) => this.#parent(session) === null).map((session) => this.#session(session, []));
    // Sessions that invoke each other in a circle have no root, so any of them becomes one.
    const rest = all.flatMap((session) => (this.#drawn.has(session.id) ? [] : [this.#session(session, [])]));
    return [...first, ...rest];
  }

  /** The session under which this one is drawn: its fork source, or its caller. */
  #parent(session: TreeSession): string | null {
    if (session.from !== null && this.#sessions.has(session.from.session)) return session.from.session;
    if (session.kind === "entry") return null;
    const callers = [...this.#sessions.values()].filter(({ invocations }) =>
      invocations.some(({ callee }) => callee === session.id),
    );
    return callers.find(({ id }) => id !== session.id)?.id ?? null;
  }

  #session(session: TreeSession, before: readonly Piece[]): TreeNode {
    const { faint, name, strong, warn } = this.#style;
    this.#drawn.add(session.id);
    const isMarked = session.id === this.#drawing.marked;
    const facts = [
      plural(session.messages, "message"),
      ...(session.status === "closed" ? ["closed"] : []),
      ...(session.branches.length < 2 ? [] : [`on branch ${session.branch}`]),
    ];
    const lost = session.from !== null && !this.#sessions.has(session.from.session);
    const pieces: Piece[] = [
      ...before,
      { text: session.id, paint: isMarked ? (text) => strong(name(text)) : name },
      ...(isMarked ? [{ text: " ←", paint: warn }] : []),
      { text: `  ${facts.join(", ")}`, paint: faint },
      ...(lost ? [{ text: `, a fork at ${session.from?.session}#${session.from?.seq}`, paint: faint }] : []),
      ...(session.title === null ? [] : [{ text: `  ${session.title}` }]),
    ];
    const [first] = session.branches;
    return { pieces, below: first === undefined ? [] : this.#branch(session, first) };
  }

  /** The heads, branches, forks and invocations on a branch, in the order of the log. */
  #branch(session: TreeSession, branch: TreeSession["branches"][number]): readonly TreeNode[] {
    const leaves = (from: { readonly session: string; readonly branch: number } | null) =>
      from?.session === session.id && from.branch === branch.branch;
    const edges: Edge[] = [
      ...this.#heads(session, branch),
      ...session.branches
        .filter((other) => other !== branch && leaves(other.from))
        .map((other) => ({ seq: other.from?.seq ?? 0, rank: 1, node: () => this.#subBranch(session, other) })),
      ...[...this.#sessions.values()]
        .filter((other) => leaves(other.from))
        .map((other) => ({ seq: other.from?.seq ?? 0, rank: 2, node: () => this.#fork(other) })),
      ...session.invocations
        .filter((one) => one.branch === branch.branch)
        .map((one) => ({ seq: one.seq, rank: 3, node: () => this.#invocation(session, one) })),
    ];
    return edges.sort((a, b) => a.seq - b.seq || a.rank - b.rank).map(({ node }) => node());
  }

  #heads(session: TreeSession, { heads }: TreeSession["branches"][number]): readonly Edge[] {
    const { faint, good, bad, name, warn } = this.#style;
    const most = this.#drawing.heads;
    const { head: markedHead } = this.#drawing;
    const shown = heads.filter(({ id }, i) => i >= heads.length - most || id === session.head || id === markedHead);
    const left = heads.length - shown.length;
    const older: Edge = {
      seq: 0,
      rank: 0,
      node: () => ({ pieces: [{ text: `… ${plural(left, "older head")} (--heads)`, paint: faint }], below: [] }),
    };
    const edges = shown.map(({ id, seq, status, summary }): Edge => {
      const isCurrent = id === session.head;
      const pieces: Piece[] = [
        { text: status === "aborted" ? "○ " : "● ", paint: isCurrent ? good : faint },
        { text: shortHead(id), paint: name },
        { text: ` ${rowId(session.id, seq)}`, paint: faint },
        ...(id === markedHead ? [{ text: " ←", paint: warn }] : []),
        ...(isCurrent && (markedHead ?? null) === null ? [{ text: " current", paint: good }] : []),
        ...(status === "aborted" ? [{ text: " aborted", paint: bad }] : []),
        ...(summary === null ? [] : [{ text: ` ${summary}` }]),
      ];
      return { seq, rank: 0, node: () => ({ pieces, below: [] }) };
    });
    return left === 0 ? edges : [older, ...edges];
  }

  #subBranch(session: TreeSession, branch: TreeSession["branches"][number]): TreeNode {
    const { faint, good } = this.#style;
    const text = `branch ${branch.branch}`;
    const pieces = [
      { text },
      { text: branch.from === null ? "" : ` from ${rowId(branch.from.session, branch.from.seq)}`, paint: faint },
      ...(branch.branch === session.branch ? [{ text: " current", paint: good }] : []),
    ];
    return { pieces, below: this.#branch(session, branch) };
  }

  #fork(session: TreeSession): TreeNode {
    const at = session.from === null ? "" : ` at ${rowId(session.from.session, session.from.seq)}: `;
    return this.#session(session, [{ text: session.from?.type ?? "fork" }, { text: at, paint: this.#style.faint }]);
  }

  #invocation(caller: TreeSession, one: TreeSession["invocations"][number]): TreeNode {
    const { faint, bad } = this.#style;
    const label = one.label === null ? "" : ` ${JSON.stringify(one.label)}`;
    const status = {
      text: one.status === "done" ? "" : ` ${one.status}`,
      ...(one.status === "failed" ? { paint: bad } : {}),
    };
    const before: Piece[] = [{ text: `${one.type}${label}` }, status, { text: " → ", paint: faint }];
    const callee = one.callee === null ? undefined : this.#sessions.get(one.callee);
    const isDrawnHere = callee !== undefined && this.#parent(callee) === caller.id && !this.#drawn.has(callee.id);
    if (isDrawnHere) return this.#session(callee, before);
    const absent = one.callee === null || this.#isCut ? "" : " (not here)";
    const elsewhere = callee === undefined ? absent : " (drawn elsewhere)";
    return { pieces: [...before, { text: one.callee ?? "?" }, { text: elsewhere, paint: faint }], below: [] };
  }
}

// What the real OpenCode has of its sessions on a machine, read without it: rows of its database, or the files of versions
// before 1.2. And a program in its place that counts how often it is started.
import * as fs from "node:fs";
import * as path from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Machine } from "./machine.ts";

type Row = Readonly<Record<string, unknown>>;

/** By id (todos: by session and position), without what names the machine or the moment of a row. */
export interface OpenCodeState {
  readonly sessions: ReadonlyMap<string, Row>;
  readonly messages: ReadonlyMap<string, Row>;
  readonly parts: ReadonlyMap<string, Row>;
  readonly todos: ReadonlyMap<string, Row>;
}

export function dataOf(machine: Machine): string {
  return path.join(machine.home, ".local", "share", "opencode");
}

export function openCodeState(machine: Machine): OpenCodeState {
  const file = path.join(dataOf(machine), "opencode.db");
  return fs.existsSync(file) ? inDatabase(file) : inFiles(path.join(dataOf(machine), "storage"));
}

function inDatabase(file: string): OpenCodeState {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const all = (table: string, keyOf: (row: Row) => string, without: readonly string[]) =>
      new Map(
        database
          .prepare(`select * from ${table}`)
          .all()
          .map((row) => [keyOf(row), cleaned(row, without)] as const),
      );
    const id = (row: Row) => String(row.id);
    const times = ["time_created", "time_updated"];
    return {
      sessions: all("session", id, ["project_id", "directory", "path"]),
      messages: all("message", id, ["time_updated"]),
      parts: all("part", id, times),
      todos: all("todo", (row) => `${row.session_id} ${row.position}`, []),
    };
  } finally {
    database.close();
  }
}

function cleaned(row: Row, without: readonly string[]): Row {
  const kept = Object.entries(row).filter(([name]) => !without.includes(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, name === "data" ? JSON.parse(String(value)) : value]));
}

function inFiles(storage: string): OpenCodeState {
  const names = fs.readdirSync(storage, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
  const of = (kind: string, without: readonly string[] = []) =>
    new Map(
      names
        .filter((name) => name.startsWith(`${kind}/`))
        .map((name) => [path.basename(name, ".json"), cleaned(readJson(path.join(storage, name)), without)] as const),
    );
  return {
    sessions: of("session", ["projectID", "directory"]),
    messages: of("message"),
    parts: of("part"),
    todos: new Map([...of("todo")].map(([id, todos]) => [id, Object.values(todos)] as never)),
  };
}

function readJson(file: string): Row {
  return JSON.parse(fs.readFileSync(file, "utf8")) as Row;
}

/** The same program, which writes the first word of each command line to a file. */
export class CountedProgram {
  readonly program: string;
  readonly #log: string;

  constructor(folder: string, real: string) {
    fs.mkdirSync(folder, { recursive: true });
    this.program = path.join(folder, "opencode");
    this.#log = path.join(folder, "starts");
    const lines = ["#!/bin/sh", `echo "$1" >> '${this.#log}'`, `exec '${real}' "$@"`];
    fs.writeFileSync(this.program, `${lines.join("\n")}\n`, { mode: 0o755 });
  }

  /** Since it was asked the last time. */
  starts(): string[] {
    if (!fs.existsSync(this.#log)) return [];
    const lines = fs.readFileSync(this.#log, "utf8").trim().split("\n");
    fs.rmSync(this.#log);
    return lines;
  }
}

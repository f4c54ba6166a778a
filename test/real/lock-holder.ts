// A child that takes SQLite's write lock past Holdfast: "hold <ms>" keeps it that long, and "lock" until "unlock".
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";

const { path }: { path: string } = JSON.parse(process.argv[2] ?? "{}");
const db = new DatabaseSync(path, { timeout: 10_000 });
writeSync(1, "ready\n");
for await (const line of createInterface({ input: process.stdin })) {
  const [command, ms] = line.split(" ");
  if (command !== "unlock") {
    db.exec("BEGIN IMMEDIATE");
    writeSync(1, "held\n");
  }
  if (command === "lock") continue;
  if (command === "hold") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
  db.exec("COMMIT");
  writeSync(1, "released\n");
}

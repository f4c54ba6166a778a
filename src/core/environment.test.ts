// A process is reported gone only when that is certain: same machine, same boot, same namespaces, and the pid is free
// or belongs to another process now.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { machineProcesses } from "./environment.ts";
import { describeProcess } from "./run-owner.ts";

const isLinux = process.platform === "linux";
const processes = machineProcesses();
const self = processes.self() ?? "";

function changed(index: number, value: string): string {
  const fields = self.split("/");
  fields[fields.length + index] = value;
  return fields.join("/");
}

/** The identity that a process of this machine has. */
function identityOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const start = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  const fields = self.split("/");
  fields[fields.length - 5] = String(pid);
  fields[fields.length - 4] = start;
  return fields.join("/");
}

describe.runIf(isLinux)("processes of this machine (skipped: only Linux reports them)", () => {
  test("RU3 this process is alive, and its name says where it runs", () => {
    expect(processes.liveness(self)).toBe("alive");
    expect(describeProcess(self)).toMatchObject({ pid: process.pid });
  });

  test("RU3 a pid that another process has now belongs to one that is gone", () => {
    expect(processes.liveness(changed(-4, "1"))).toBe("gone");
  });

  test("RU3 a process that was killed is gone, also while its parent has not read its exit code", async () => {
    // The shell becomes a program that never reads exit codes, so its killed child stays a zombie.
    const parent = spawn("bash", ["-c", "sleep 300 & echo $!; exec sleep 300"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    try {
      const [line] = (await once(parent.stdout, "data")) as [Buffer];
      const pid = Number(line.toString().trim());
      const child = identityOf(pid);
      expect(processes.liveness(child)).toBe("alive");
      // Until then the parent is a shell, which would read the exit code.
      await expect.poll(() => readFileSync(`/proc/${parent.pid}/comm`, "utf8").trim()).toBe("sleep");
      process.kill(pid, "SIGKILL");
      await expect.poll(() => processes.liveness(child)).toBe("gone");
      expect(readFileSync(`/proc/${pid}/stat`, "utf8")).toContain(") Z ");
    } finally {
      parent.kill("SIGKILL");
    }
  });

  test("RU3 a process that is stopped is alive", async () => {
    const child = spawn("sleep", ["300"]);
    try {
      await once(child, "spawn");
      const identity = identityOf(child.pid ?? 0);
      child.kill("SIGSTOP");
      await expect.poll(() => readFileSync(`/proc/${child.pid}/stat`, "utf8")).toContain(") T ");
      expect(processes.liveness(identity)).toBe("alive");
    } finally {
      child.kill("SIGKILL");
    }
  });

  test.each([
    ["host", changed(-6, "elsewhere")],
    ["boot", changed(-1, "00000000-0000-0000-0000-000000000000")],
    ["pid namespace", changed(-3, "1")],
    ["time namespace", changed(-2, "1")],
    ["pid of no number", changed(-5, "-1")],
    ["pid that no kernel has", changed(-5, "9999999999")],
    ["pid 0, which means a group", changed(-5, "0")],
    ["nothing", ""],
    ["something else", "worker"],
  ])("RU3 the state of a process on another %s is unknown", (_, identity) => {
    expect(processes.liveness(identity)).toBe("unknown");
  });
});

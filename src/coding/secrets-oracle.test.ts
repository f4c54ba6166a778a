// Another program's rules, which are maintained, as an oracle: every kind of secret that they find we find too, or a reason stands
// here. In ordinary code and text neither of them finds any.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { lintSource } from "@secretlint/core";
import { creator, rules } from "@secretlint/secretlint-rule-preset-recommend";
import { describe, expect, test } from "vitest";
import { scanSecrets } from "./secrets.ts";

const UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER = UPPER.toLowerCase();
const DIGITS = "0123456789";
const ALNUM = UPPER + LOWER + DIGITS;
const HEX = `${DIGITS}abcdef`;

/** Numbers that are the same in every run. */
class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2654435761 + 1;
  }

  next(below: number): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * below);
  }

  text(length: number, characters = ALNUM): string {
    return Array.from({ length }, () => characters.charAt(this.next(characters.length))).join("");
  }
}

type Make = (chance: Chance) => string;
const j = (...parts: string[]) => parts.join("");
const keyBody = (chance: Chance) =>
  Array.from({ length: 6 }, (_, i) => j(i === 0 ? "MII" : "", chance.text(i === 0 ? 61 : 64, `${ALNUM}+/`))).join("\n");

/** By rule, texts in which such secrets leak. The parts are joined here, so that a search of this file finds no secret. */
const CORPUS: Readonly<Record<string, readonly Make[]>> = {
  aws: [
    (c) => j("AWS_ACCESS_KEY_ID=", "AK", "IA", c.text(16, UPPER + DIGITS)),
    (c) => j('{"AccessKeyId": "', "AS", "IA", c.text(16, UPPER + DIGITS), '"}'),
    (c) => j("aws_secret_access_key = ", c.text(39, `${ALNUM}/+`), c.text(1)),
    (c) => j('"SecretAccessKey": "', c.text(39, `${ALNUM}/+`), c.text(1), '"'),
  ],
  privatekey: [(c) => j("-----BEGIN RSA PRI", "VATE KEY-----\n", keyBody(c), "\n-----END RSA PRI", "VATE KEY-----")],
  npm: [
    (c) => j("//registry.host/:_auth", "Token=", c.text(36)),
    (c) => j("export NPM=npm", "_", c.text(36)),
    (c) => j("https://", c.text(40, HEX), ":x-oauth", "-basic@github.com/a/b.git"),
  ],
  slack: [
    (c) => j("xox", "b-", c.text(12, DIGITS), "-", c.text(12, DIGITS), "-", c.text(24)),
    (c) => j("xap", "p-1-", c.text(11, UPPER + DIGITS), "-", c.text(13, DIGITS), "-", c.text(40, HEX)),
    (c) => j("https://hooks.slack.com/", "services/T", c.text(8, UPPER), "/B", c.text(8, UPPER), "/", c.text(24)),
  ],
  basicauth: [(c) => j("curl https://user:", c.text(12), "@api.host.com/v1")],
  openai: [
    (c) => j("OPENAI_API_KEY=sk", "-proj-", c.text(74), "T3Blbk", "FJ", c.text(74)),
    (c) => j("sk", "-", c.text(20), "T3Blbk", "FJ", c.text(20)),
  ],
  anthropic: [(c) => j("x-api-key: sk", "-ant-api03-", c.text(93, `${ALNUM}_-`), "AA")],
  groq: [(c) => j("gs", "k_", c.text(52))],
  huggingface: [(c) => j("HF_HOME=/x hf", "_", c.text(34, UPPER + LOWER))],
  linear: [(c) => j("lin", "_api_", c.text(40))],
  notion: [(c) => j("nt", "n_", c.text(11, DIGITS), c.text(35))],
  sendgrid: [(c) => j("S", "G.", c.text(22), ".", c.text(43))],
  shopify: [(c) => j("shp", "at_", c.text(32, HEX)), (c) => j("shp", "ss_", c.text(32, HEX))],
  stripe: [(c) => j("sk", "_live_", c.text(24)), (c) => j("rk", "_test_", c.text(99))],
  github: [
    ...["p", "o", "u", "s", "r"].map(
      (type): Make =>
        (c) =>
          j("gh", type, "_", c.text(36)),
    ),
    (c) => j("github", "_pat_", c.text(22), "_", c.text(59)),
    (c) => j("gh", "s_", c.text(8, DIGITS), "_ey", "J", c.text(60), ".", c.text(120), ".", c.text(86)),
  ],
  gitlab: [(c) => j("glp", "at-", c.text(20))],
  grafana: [(c) => j("gl", "c_", c.text(60)), (c) => j("gls", "a_", c.text(32), "_", c.text(8, HEX))],
  "1password": [
    (c) => {
      const inner = { signInAddress: "a.host", userAuth: { method: "x" }, secretKey: c.text(34), throttle: c.text(60) };
      const fields = { email: "a@b.c", srpX: c.text(64, HEX), muk: { k: c.text(43) }, deviceUuid: c.text(26) };
      // Theirs end with the brace in a group of its own.
      const padded = ["", "x", "xx"].map((pad) => JSON.stringify({ pad, ...inner, ...fields }));
      const json = padded.find(({ length }) => length % 3 === 1) ?? "";
      return j("op", "s_", Buffer.from(json).toString("base64"));
    },
  ],
  "database-connection-string": [
    (c) => j("postgres", "://app:", c.text(16), "@db.host:5432/prod"),
    (c) => j("mysql", "://app:", c.text(16), "@db.host/prod"),
    (c) => j("mongodb+srv", "://app:", c.text(16), "@cluster.host/prod?w=majority"),
  ],
  "hashicorp-vault": [
    (c) => j("hv", "s.", c.text(95)),
    (c) => j("hv", "b.", c.text(150)),
    (c) => j("hv", "r.", c.text(95)),
  ],
  vercel: ["p", "i", "a", "r", "k"].map(
    (type): Make =>
      (c) =>
        j("vc", type, "_", c.text(24)),
  ),
  databricks: [(c) => j("da", "pi", c.text(32, HEX))],
  docker: [(c) => j("dckr", "_pat_", c.text(27))],
  figma: [(c) => j("fi", "gd_", c.text(40))],
  cloudflare: ["cfk", "cfut", "cfat"].map(
    (type): Make =>
      (c) =>
        j(type, "_", c.text(40), c.text(8, HEX)),
  ),
  tailscale: [(c) => j("tskey", "-auth-", c.text(17), "-", c.text(32))],
};

/** Rules for which there is nothing in the corpus, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  gcp: "reads whole files that are named *.p12 or are a service account's; the private key in one is found as such",
  "filter-comments": "finds nothing: it lets comments switch rules off",
};

/** What they find and we do not, and why. */
const NOT_SECRET: readonly { readonly rule: string; readonly make: Make; readonly why: string }[] = [
  {
    rule: "aws",
    make: (c) => j("AR", "OA", c.text(16, UPPER + DIGITS)),
    why: "the id of a role, group or user opens nothing, and stands in every ARN and policy",
  },
  { rule: "aws", make: (c) => j("aws_account_id: ", c.text(12, DIGITS)), why: "an account's number opens nothing" },
];

const shortName = (id: string) => id.replace("@secretlint/secretlint-rule-", "");
const ids = rules.map(({ meta }) => shortName(meta.id));

const OPTIONS = [{ id: "@secretlint/secretlint-rule-aws", options: { enableIDScanRule: true } }];

/** As of a file in which each of its rules searches. */
async function oracle(content: string): Promise<readonly string[]> {
  const { messages } = await lintSource({
    source: { filePath: "/.npmrc", content, ext: "", contentType: "text" },
    options: {
      config: { rules: [{ id: creator.meta.id, rule: creator, options: {}, rules: OPTIONS }] },
      noPhysicFilePath: true,
    },
  });
  return messages.map(({ ruleId }) => shortName(ruleId));
}

const ours = (content: string) => scanSecrets(Buffer.from(content));

describe("CA1 compared with maintained rules", () => {
  test("every rule has something in the corpus, or a reason", () => {
    expect([...Object.keys(CORPUS), ...Object.keys(LEFT_OUT)].toSorted()).toEqual(ids.toSorted());
  });

  test.each(Object.entries(CORPUS))("what the rule %s finds is found", async (rule, makes) => {
    for (const [kind, make] of makes.entries()) {
      for (let seed = 1; seed <= 20; seed++) {
        const text = make(new Chance(seed * 1000 + kind));
        const found = await oracle(text);
        expect(found, `${rule} ${kind}, seed ${seed}: the oracle knows it`).not.toEqual([]);
        const line = JSON.stringify({ type: "user", message: { content: `$ cat .env\n${text}\n` } });
        expect(ours(text), `${rule} ${kind}, seed ${seed}`).not.toEqual([]);
        expect(ours(line), `${rule} ${kind}, seed ${seed}, in JSON`).not.toEqual([]);
      }
    }
  });

  test.each(NOT_SECRET)("what $rule finds and we do not: $why", async ({ rule, make }) => {
    const text = make(new Chance(7));
    expect(await oracle(text)).toContain(rule);
    expect(ours(text)).toEqual([]);
  });

  test("none in ordinary code, documentation and lists of hashes", () => {
    const root = new URL("../../", import.meta.url).pathname;
    const files = execFileSync("git", ["ls-files", "src", "docs", "bench", "*.md", "package-lock.json"], { cwd: root });
    const names = files.toString().trim().split("\n");
    const plain = names.filter((name) => !/\.test\.ts$|src\/testing\//.test(name));
    expect(plain.length).toBeGreaterThan(400);
    const findings = plain.flatMap((name) =>
      scanSecrets(readFileSync(root + name)).map(({ kind, line, excerpt }) => `${name}:${line} ${kind} ${excerpt}`),
    );
    expect(findings).toEqual([]);
  });
});

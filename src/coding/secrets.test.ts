// Likely secrets are found and masked, hashes and code are not, and no text takes long.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scaled } from "../testing/scale.ts";
import { KnownSecrets, learnSecrets, maskSecrets, maskSecretsIn, SecretScanner, scanSecrets } from "./secrets.ts";

// The parts are joined here, so that a search of this file finds no secret.
const join = (...parts: string[]) => parts.join("");
const R = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY";
const SECRETS: Record<string, { text: string; secret: string }[]> = {
  "anthropic-key": [plain(join("sk-", "ant-api03-", R, "_", R))],
  "api-key": [
    plain(join("sk-", "proj-", R)),
    plain(join("sk-", R)),
    plain(join("sk-", "f3a91bc04d5e6f70".repeat(3))),
    plain(join("hf", "_", R)),
    plain(join("pypi", "-", R, R)),
    plain(join("SG", ".", R.slice(0, 22), ".", R, "abcd")),
    plain(join("dop", "_v1_", "f3a91bc04d5e6f70".repeat(4))),
  ],
  "github-token": [plain(join("ghp", "_", R, "abcd")), plain(join("github", "_pat_", R))],
  "gitlab-token": [plain(join("glpat", "-", R))],
  "npm-token": [plain(join("npm", "_", R, "abcd"))],
  "slack-token": [plain(join("xox", "b-1234567890-", R))],
  "google-key": [plain(join("AI", "za", R, "abc")), plain(join("ya", "29.", R))],
  "stripe-key": [plain(join("sk", "_live_", R))],
  "aws-key-id": [plain(join("AK", "IAQ3EGRT7KLMNOPZZ7"))],
  jwt: [plain(join("ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiIxMjM0In0.dBjftJeZ4CVPmB92K27u"))],
  "url-password": [
    { text: "postgres://user:hunter2pass@db.host:5432/x", secret: "hunter2pass" },
    { text: "redis://:s3cr3t!x@cache/0", secret: "s3cr3t!x" },
  ],
  bearer: [
    { text: `Authorization: Basic ${base64("me:pw1")}`, secret: base64("me:pw1") },
    { text: `Authorization: Bearer ${R}`, secret: R },
    { text: `Authorization: Bearer ${"f3a91bc04d5e6f70".repeat(3)}`, secret: "f3a91bc04d5e6f70" },
  ],
  password: [
    { text: "DB_PASSWORD=Tr0ub4dor&3", secret: "Tr0ub4dor" },
    { text: 'password: "correct-h0rse-battery"', secret: "correct-h0rse-battery" },
    { text: "'apiKey' => 'f3a91bc04d5e6f708192a3b4c5d6e7f8'", secret: "f3a91bc04d5e6f708192a3b4c5d6e7f8" },
    {
      text: "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYKLMN9PQRS",
      secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYKLMN9PQRS",
    },
    { text: "curl -u admin:hunter2pass https://api.host/x", secret: "hunter2pass" },
    { text: "curl -sSu admin:hunter2pass https://api.host/x", secret: "hunter2pass" },
    { text: "curl --user=admin:hunter2pass https://api.host/x", secret: "hunter2pass" },
    { text: "curl https://api.host/x \\\n  --user 'admin:hunter2pass&x'", secret: "hunter2pass&x" },
    { text: "curl -H 'A: b' -X POST -d '{}' --proxy-user me:hunter2pass x", secret: "hunter2pass" },
    { text: JSON.stringify(["curl", "-u", "admin:hunter2pass"]), secret: "hunter2pass" },
  ],
  "azure-key": [
    {
      text: `DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=/${R}${R}+abcdefghijklmnopqrst==;EndpointSuffix=x`,
      secret: `${R}${R}`,
    },
    { text: `account_key: "${R}${R}+abcdefghijklmnopqrstu=="`, secret: `${R}${R}` },
  ],
  "docker-auth": [
    { text: `{"auths":{"ghcr.io":{"auth": "${base64("me:hunter2pass")}"}}}`, secret: base64("me:hunter2pass") },
    { text: `//registry.host/:_auth=${base64("me:hunter2pass")}`, secret: base64("me:hunter2pass") },
    plain(join("dckr", "_pat_", R.slice(0, 27))),
  ],
};
function base64(text: string) {
  return Buffer.from(text).toString("base64");
}
function plain(text: string) {
  return { text, secret: text };
}
const pem = (type: string) =>
  [`-----BEGIN ${type}PRIVATE KEY-----`, R + R, R + R, `${R}==`, `-----END ${type}PRIVATE KEY-----`].join("\n");
const all = Object.entries(SECRETS).flatMap(([kind, cases]) => cases.map((one) => ({ kind, ...one })));
const scan = (text: string) => scanSecrets(Buffer.from(text));
const mask = (text: string) => Buffer.from(maskSecrets(Buffer.from(text))).toString();

describe("CA1 likely secrets", () => {
  test.each(all)("$kind is found in text and in JSON, and never shown", ({ kind, text, secret }) => {
    const json = JSON.stringify({
      message: { content: `line\n${text}\nmore "${text}"`, nested: JSON.stringify({ text }) },
    });
    for (const [where, count] of [
      [text, 1],
      [`a ${text} b`, 1],
      [json, 3],
    ] as const) {
      const findings = scan(where);
      expect(
        findings.map((finding) => finding.kind),
        where,
      ).toEqual(Array(count).fill(kind));
      for (const { excerpt } of findings) expect(excerpt).not.toContain(secret.slice(-6));
      const masked = mask(where);
      expect(masked).not.toContain(secret);
      expect(masked).toContain(`[redacted:${kind}]`);
      expect(scan(masked)).toEqual([]);
    }
    expect(JSON.parse(mask(json)).message.content).toMatch(/^line\n.*\nmore ".*"$/s);
  });

  const names = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret access key",
    "client secret",
    "secret key",
    "secret",
    "api key",
    "api token",
    "access key",
    "access token",
    "auth token",
    "refresh token",
    "private token",
    "session token",
    "token",
  ];
  const capital = (part: string) => part.charAt(0).toUpperCase() + part.slice(1);
  const written = names.flatMap((name) => {
    const parts = name.split(" ");
    const mixed = [parts[0], ...parts.slice(1).map(capital)];
    const lists = [parts, parts.map(capital), mixed, parts.map((part) => part.toUpperCase())];
    return lists.flatMap((list) => ["", "_", "-"].map((between) => list.join(between)));
  });
  const tokens = [
    ...[..."pousr"].map((kind) => join("gh", kind, "_", R, "abcd")),
    ...[..."abeoprs"].map((kind) => join("xox", kind, "-1234567890-", R)),
    ...["sk_live_", "sk_test_", "rk_live_", "rk_test_"].map((begins) => join(begins, R)),
    ...["AKIA", "ASIA"].map((begins) => join(begins, "Q3EGRT7KLMNOPZZ7")),
    ...["Bearer ", "bearer ", "Basic ", "basic "].map((begins) => join(begins, R)),
  ];
  const beginnings = [...new Set(written)].map((name) => join(name, "=", R)).concat(tokens);
  test(`all ${beginnings.length} ways in which one begins are seen, wherever it stands`, () => {
    for (const text of beginnings) {
      for (const before of ["", " ", "  ", "   ", "s ", "pas ", "::/ "]) {
        expect(scan(before + text), before + text).toHaveLength(1);
      }
    }
  });

  test("private keys, whole or cut off, in text and in JSON", () => {
    for (const type of ["", "RSA ", "OPENSSH ", "EC ", "ENCRYPTED "]) {
      const whole = `before ${pem(type)} after`;
      expect(mask(whole)).toBe("before [redacted:private-key] after");
      expect(JSON.parse(mask(JSON.stringify({ a: whole, b: JSON.stringify(whole) })))).toEqual({
        a: "before [redacted:private-key] after",
        b: '"before [redacted:private-key] after"',
      });
    }
    const cut = JSON.stringify(pem("RSA ").slice(0, 90));
    expect(JSON.parse(mask(cut))).toBe("[redacted:private-key]");
    expect(scan("a -----BEGIN PRIVATE KEY----- is how it begins, and -----END PRIVATE KEY----- how it ends")).toEqual(
      [],
    );
  });

  test("an AWS key's secret beside it", () => {
    const secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYKLMN9PQRSz";
    const text = `${SECRETS["aws-key-id"]?.[0]?.text} ${secret}`;
    expect(scan(text).map((finding) => finding.kind)).toEqual(["aws-key-id", "aws-secret"]);
    expect(mask(text)).not.toContain(secret);
  });

  test("says where, by line and byte", () => {
    const [found, second] = scan(`é\n  ${all[0]?.text}\n\n${all[1]?.text}`);
    expect(found).toMatchObject({ line: 2, column: 3, excerpt: "sk-ant-…(78 bytes)" });
    expect(second).toMatchObject({ line: 4, column: 1 });
  });

  test("the letter of an escape is never part of a secret", () => {
    for (const text of [`\npm_${R}abcd`, `\rk_live_${R}`, `${SECRETS["aws-key-id"]?.[0]?.text} \n${R}abcdef7`]) {
      const json = JSON.stringify({ text, nested: JSON.stringify({ text }) });
      expect(JSON.parse(JSON.parse(mask(json)).nested).text).toBe(mask(text));
    }
    const secret = `${R}abcdef78`;
    expect(mask(JSON.stringify(`${SECRETS["aws-key-id"]?.[0]?.text}\n${secret}`))).not.toContain(secret);
  });

  test("stops at the limit", () => {
    expect(scanSecrets(Buffer.from(`${all[0]?.text}\n`.repeat(10)), { limit: 3 })).toHaveLength(3);
  });

  test.each([
    "sk-ant-api03-rUv07kRjyfc2Fe0nkyD3Qjc3Zkk8f3bnySJFwXXxxGeN8TsxZBDafK6qps6gbUHH9N5JRTToyVe3rTrHIJz8o1fmaBccyAA",
    "ghp_0123xxxxA9bC8dE7fG6hI5jK4lM3nO2pQ1rS",
    "ghp_dummyA9bC8dE7fG6hI5jK4lM3nO2pQ1rS0t9",
    "Bearer 7hq2xXxx9k3m1z8v0b4n6c5q2w7e1r9t",
  ])("a key that has filler by chance: %s", (text) => {
    expect(scan(text)).toHaveLength(1);
    expect(mask(text)).toContain("[redacted:");
  });

  test.each([
    "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx sk-ant-api03-your-api-key-here-0123456789",
    "ghp_XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX ghp_exampleTokenOfTheDocumentation000000",
    "sk-XXXXXXXXXXXXXXXXXXXXXXXXA1b2C3d4E5f6G7h8 sk_test_00000000000000000000000a",
    "Bearer dummy-token-1234567890-abcdef Bearer A1b2C3d4...w7X8y9Z0",
  ])("placeholders: none in %s", (text) => {
    expect(scan(text)).toEqual([]);
  });

  test.each([
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 3cb0e99f1f2a4c5d6e7f8091a2b3c4d5e6f70819",
    "1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d",
    "token: 1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d password=1d9a0c52-6a0e-4f0b-9c3e-0a5f6a1b2c3d",
    "password: string; const secret = process.env.SECRET_KEY_2; apiKey: config.apiKey1",
    "if (password === undefined) throw new MissingPassword1()",
    'password="<your password>" secret=$(SECRET1) apiKey=xxxxxxxxxxxx1 password=********** pwd=/home/me/dir2',
    "sk-loading-spinner-animated-container sk-is-a-css-prefix-of-some-kind",
    "risk-assessment-2024-with-a-long-name-and-2-numbers",
    '"input_tokens":12345678901,"secret":12345678901.5e10,"password":null',
    "https://example.com/path@2x.png http://localhost:8080/a:b@c ssh://git@github.com/a",
    "https://user:$(PASSWORD)@host https://user:your_password@host",
    "toolu_01AbCdEfGhIjKlMnOpQrStUv msg_01XyZaBcDeFgHiJkLmNoPq",
    "Bearer authentication-is-required Basic understanding-of-things",
    '"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+/="',
    "eyJust-a-word eyJ0",
    "docker run -u 1000:1000 image && curl -u $USER:$PASSWORD https://api.host -o file:name2",
    "curl https://a.b -u me && sudo -u other:grp2 id\ncurl -su $ME:$PASSWORD_1 x",
    "curl https://a.b\nsudo -u me:grp2x id",
    '"auth": "none", auth: true, "auth": "oauth2-device-flow", author = "Some Body 2"',
    "accountKey: accountKeyOfTheConfiguration AccountKey=<your-key> account key: none",
    "https://hooks.slack.com/services/ is where they go",
    "hvs.name vcr_cassette_of_the_test dapifoo glc_alpine_linux ops_eyes",
  ])("none in %s", (text) => {
    expect(scan(text)).toEqual([]);
    expect(mask(text)).toBe(text);
  });
});

describe("CA1 masking", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...all.map(({ text }) => text),
      pem("RSA "),
      "password=",
      'secret="',
      "\\",
      "\\n",
      "Bearer ",
      "\npm_",
      "\rk_live_",
      R,
      `${R}abcdef7`,
      "://a:b",
      "sk-",
    ),
    fc.string({ unit: "binary", maxLength: 20 }),
    fc.constantFrom("\u0000", "\ud800", "é", "à", "\u2028"),
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const value = fc.oneof(
    text,
    text.map((inner) => JSON.stringify({ password: inner })),
    fc.double(),
    fc.constant(null),
  );
  const line = fc.dictionary(fc.oneof(text, fc.constantFrom("password", "secret", "apiKey")), value, { maxKeys: 5 });

  test("every line of JSON stays one", () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 4 }), (lines) => {
        const jsonl = lines.map((one) => JSON.stringify(one)).join("\n");
        const masked = mask(jsonl).split("\n");
        expect(masked).toHaveLength(Math.max(1, lines.length));
        const shape = (one: object) => Object.values(one).map((of) => typeof of);
        for (const [i, one] of lines.entries())
          expect(shape(JSON.parse(masked[i] ?? "")).length).toBeLessThanOrEqual(shape(one).length);
      }),
      { numRuns: scaled({ short: 300, long: 1000 }) },
    );
  });

  test("however it comes in pieces, also across the edges of what is looked at together", async () => {
    const filler = "some text without anything in it. ".repeat(40_000);
    for (const shift of scaled({ short: [0, 40], long: [0, 7, 40, 90] })) {
      const around = `${filler.slice(0, 1024 * 1024 - 2 * 16 * 1024 - shift)} `;
      const bytes = Buffer.from(around + all.map((one) => one.text).join(" \n ") + filler + pem(""));
      const whole = Buffer.from(maskSecrets(bytes)).toString();
      expect(whole.match(/\[redacted:/g)?.length).toBe(all.length + 1);
      async function* pieces() {
        for (let from = 0; from < bytes.byteLength; from += 99_991) yield bytes.subarray(from, from + 99_991);
      }
      const parts: Uint8Array[] = [];
      for await (const part of maskSecretsIn(pieces())) parts.push(part);
      expect(Buffer.concat(parts).toString() === whole).toBe(true);
      const scanner = new SecretScanner();
      for await (const part of pieces()) scanner.push(part);
      expect(scanner.end()).toEqual(scanSecrets(bytes));
    }
  });

  test("where it is cut does not make a beginning of what is none", () => {
    for (const shift of [-1, 0, 1, 2]) {
      const around = "y".repeat(1024 * 1024 - 2 * 16 * 1024 + shift);
      expect(scan(`${around}${all[0]?.text}${" ".repeat(100_000)}`)).toEqual([]);
    }
  });

  test("bytes that are no text stay as they are", () => {
    const bytes = Buffer.from([0, 255, 254, 10, 128, 13]);
    expect(Buffer.compare(maskSecrets(bytes), bytes)).toBe(0);
  });
});

describe("CA1 hostile text", () => {
  const HOSTILE_MB = scaled({ short: 3, long: 12 });
  const patterns = [
    "eyJ",
    "eyJaaaaaaaaaa.",
    "sk-",
    "sk-a1B",
    "password=",
    "password:::",
    'secret="\\',
    "://",
    "a://b:c",
    "-----BEGIN ",
  ];
  const more = [
    "-----BEGIN PRIVATE KEY-----\\n",
    "Bearer ",
    "Bearer a",
    "AKIA",
    "AKIAABCDEFGHIJKLMNOP ",
    "curl ",
    "curl -u a:bcd ",
    " -u a:bcd",
    "AccountKey=",
    "a",
    "\\",
    "\n",
    "_",
    "=",
    "0",
  ];
  test.each([...patterns, ...more])(`${HOSTILE_MB} MB of %j take no more time than others`, (pattern) => {
    const bytes = Buffer.alloc(HOSTILE_MB * 1_000_000, pattern);
    // Much more than it takes; what it guards against would take many minutes.
    const started = performance.now();
    scanSecrets(bytes);
    expect(performance.now() - started).toBeLessThan(20_000);
  });
});

describe("CA1 a secret that was found once", () => {
  const password = "hunter2/pass&é";
  const learned = async (...texts: string[]) => {
    async function* pieces(text: string) {
      yield Buffer.from(text);
    }
    return learnSecrets(texts.map(pieces));
  };
  const maskKnown = (text: string, known: KnownSecrets) =>
    Buffer.from(maskSecrets(Buffer.from(text), known)).toString();

  test("is masked wherever it stands again, also as JSON has it", async () => {
    const known = await learned(`DB_PASSWORD=hunter2/pass9é`, `curl -u "me:${password}" x`);
    for (const value of ["hunter2/pass9é", password]) {
      let text = `it is ${value}, they said`;
      for (let depth = 0; depth < 4; depth++) {
        expect(maskKnown(text, known)).toContain("it is [redacted:password], they said");
        text = JSON.stringify({ text });
      }
      const escapes = `"it is ${value.replaceAll("/", "\\/").replace("é", "\\u00e9").replace("&", "\\u0026")}, they said"`;
      expect(JSON.parse(maskKnown(escapes, known))).toBe("it is [redacted:password], they said");
      const php = `"it is ${value.replaceAll("/", "\\/")}, they said"`;
      expect(JSON.parse(maskKnown(php, known))).toBe("it is [redacted:password], they said");
    }
    const key = pem("RSA ");
    const knownKey = await learned(JSON.stringify({ key }));
    expect(maskKnown(key.slice(5), knownKey)).toBe(key.slice(5));
    expect(maskKnown(`a\n${key}b`, knownKey)).toBe("a\n[redacted:private-key]b");
  });

  test("is no word that stands there by chance, and no part of one", async () => {
    const known = await learned("postgres://postgres:postgres@db.host/x password=Tr0ub4dor secret: abc123");
    const text = "postgres is a database; Tr0ub4dors and xTr0ub4dor are other words";
    expect(maskKnown(text, known)).toBe(text);
    expect(maskKnown("Tr0ub4dor.", known)).toBe("[redacted:password].");
  });

  test("is replaced so that JSON stays JSON, and nothing of it is left", () => {
    const value = fc.stringMatching(/^[nrtu"0-9][a-z0-9/&é]{7,12}$/);
    fc.assert(
      fc.property(value, fc.array(fc.string({ unit: "binary", maxLength: 8 }), { maxLength: 6 }), (secret, parts) => {
        const known = new KnownSecrets();
        known.add("api-key", Buffer.from(secret).toString("latin1"));
        const text = [...parts, "\n", ""].join(` ${secret} `);
        const masked = JSON.parse(maskKnown(JSON.stringify({ text }), known)).text as string;
        expect(masked).not.toContain(` ${secret} `);
        expect(masked.match(/\[redacted:api-key\]/g)?.length).toBeGreaterThanOrEqual(parts.length);
      }),
      { numRuns: scaled({ short: 150, long: 500 }) },
    );
  });

  test("is found across the edges of what is looked at together, however many are known", () => {
    const known = new KnownSecrets();
    for (let i = 0; i < 5000; i++) known.add("password", `Va1ue-${i}-of-many`);
    expect(known.size).toBeLessThan(5000);
    for (const shift of [0, 5, 12, 30]) {
      const around = "y".repeat(1024 * 1024 - 2 * 16 * 1024 - shift);
      const masked = maskKnown(`${around} Va1ue-77-of-many ${around}`, known);
      expect(masked === `${around} [redacted:password] ${around}`).toBe(true);
    }
  });
});

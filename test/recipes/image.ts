// A Dockerfile without a container daemon: its instructions as shell lines that root executes in a root directory of their own, an
// overlay over this machine's in a mount namespace. Nothing of it is left on the machine. What `FROM` names is this machine with its Node
// and without git, as in node:24-slim.

/** An instruction with what follows it. */
type Instruction = readonly [name: string, rest: string];

export interface Build {
  readonly instructions: readonly Instruction[];
  /** Where COPY takes files from. */
  readonly context: string;
  /** Folders that are seen inside as they are. */
  readonly shared: readonly string[];
  /** Shell lines that the image's user executes in its working directory; "$@" is the entry point. */
  readonly script: string;
}

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** For `unshare --mount sh -c`. */
export function buildScript({ instructions, context, shared, script }: Build): string {
  const [entry = "[]"] = instructions.filter(([name]) => name === "ENTRYPOINT").map(([, rest]) => rest);
  const user = instructions.findLast(([name]) => name === "USER")?.[1] ?? "root";
  const entrypoint = (JSON.parse(entry) as readonly string[]).map(quote).join(" ");
  const inside = [
    "set -eu",
    "umask 022",
    "export HOME=/root-of-image npm_config_prefix=/usr/local && mkdir -p $HOME",
    ...instructions.flatMap((one) => shellOf(one, context)),
    `export HOME=/home/${user} TMPDIR=/tmp`,
    `exec setpriv --reuid=${user} --regid=${user} --init-groups sh -euc ${quote(script)} sh ${entrypoint}`,
  ];
  return [
    "set -eu",
    "root=$(mktemp -d)",
    'mount -t tmpfs tmpfs "$root"',
    'mkdir "$root/upper" "$root/work" "$root/image"',
    'mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/image"',
    'for one in /dev /proc; do mount --rbind "$one" "$root/image$one"; done',
    'chmod 1777 "$root/image/tmp"',
    ...shared.map(
      (folder) =>
        `mkdir -p "$root/image"${quote(folder)} && mount --bind ${quote(folder)} "$root/image"${quote(folder)}`,
    ),
    `exec chroot "$root/image" sh -c ${quote(inside.join("\n"))}`,
  ].join("\n");
}

/** A package manager whose packages are the programs that the base image lacks. */
const APT = `#!/bin/sh
[ "$1" = install ] || exit 0
for one; do [ ! -e "/packages/$one" ] || mv "/packages/$one" /usr/bin/; done
`;

function shellOf([name, rest]: Instruction, context: string): readonly string[] {
  if (name === "FROM") {
    const apt = "/usr/local/bin/apt-get";
    return ["mkdir /packages && mv /usr/bin/git /packages/", `printf %s ${quote(APT)} > ${apt} && chmod 755 ${apt}`];
  }
  if (name === "ARG") {
    const [variable = "", value = ""] = rest.split("=");
    return [`export ${variable}="\${${variable}:-${value}}"`];
  }
  if (name === "WORKDIR") return [`mkdir -p ${rest} && cd ${rest}`];
  if (name === "RUN") return [`sh -c ${quote(rest)}`];
  if (name === "COPY") {
    const words = rest.split(" ");
    const mode = words.find((word) => word.startsWith("--chmod="))?.slice("--chmod=".length);
    const [target = "", ...sources] = words.filter((word) => !word.startsWith("--")).toReversed();
    // A pattern that fits nothing is left out.
    const copy = `install --mode=${mode ?? "644"} "$one" ${target}`;
    return sources.map((source) => `for one in ${quote(context)}/${source}; do [ ! -e "$one" ] || ${copy}; done`);
  }
  return [];
}

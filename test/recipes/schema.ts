// What a workflow of GitHub Actions and a Job of Kubernetes may consist of, as far as the recipes go: an unknown field, a missing one
// or one of the wrong type is named.

type Shape =
  | "text"
  | "number"
  | "any"
  | { readonly list: Shape }
  | { readonly map: Shape }
  | { readonly fields: Readonly<Record<string, Shape>>; readonly needs: readonly string[] };

const text = "text";
const env: Shape = {
  list: {
    fields: {
      name: text,
      value: text,
      valueFrom: {
        fields: { secretKeyRef: { fields: { name: text, key: text }, needs: ["name", "key"] } },
        needs: ["secretKeyRef"],
      },
    },
    needs: ["name"],
  },
};
const exec: Shape = { fields: { exec: { fields: { command: { list: text } }, needs: ["command"] } }, needs: ["exec"] };
const container: Shape = {
  fields: {
    ...{ name: text, image: text, command: { list: text }, args: { list: text }, env, resources: "any" },
    lifecycle: { fields: { preStop: exec, postStart: exec }, needs: [] },
  },
  needs: ["name", "image"],
};
const pod: Shape = {
  fields: { restartPolicy: text, terminationGracePeriodSeconds: "number", containers: { list: container } },
  needs: ["restartPolicy", "containers"],
};

export const JOB: Shape = {
  fields: {
    ...{ apiVersion: text, kind: text },
    metadata: { fields: { name: text, generateName: text, labels: { map: text } }, needs: [] },
    spec: {
      fields: {
        ...{ backoffLimit: "number", ttlSecondsAfterFinished: "number", activeDeadlineSeconds: "number" },
        template: { fields: { metadata: "any", spec: pod }, needs: ["spec"] },
      },
      needs: ["template"],
    },
  },
  needs: ["apiVersion", "kind", "metadata", "spec"],
};

const step: Shape = {
  fields: {
    name: text,
    id: text,
    if: text,
    uses: text,
    with: { map: "any" },
    run: text,
    env: { map: text },
    shell: text,
  },
  needs: [],
};
const job: Shape = {
  fields: {
    if: text,
    "runs-on": text,
    "timeout-minutes": "number",
    env: { map: text },
    steps: { list: step },
    needs: "any",
  },
  needs: ["runs-on", "steps"],
};
export const WORKFLOW: Shape = {
  fields: {
    ...{ name: text, on: { map: "any" }, permissions: { map: text }, env: { map: text }, jobs: { map: job } },
    concurrency: { fields: { group: text, "cancel-in-progress": "any" }, needs: ["group"] },
  },
  needs: ["on", "jobs"],
};

/** What is wrong, by path; none when it is right. */
export function faultsIn(value: unknown, shape: Shape, at = "$"): readonly string[] {
  if (shape === "any") return [];
  if (shape === "text") return typeof value === "string" && value !== "" ? [] : [`${at} is no text`];
  if (shape === "number") return Number.isInteger(value) ? [] : [`${at} is no whole number`];
  if ("list" in shape) {
    if (!Array.isArray(value) || value.length === 0) return [`${at} is no list with something in it`];
    return value.flatMap((one, i) => faultsIn(one, shape.list, `${at}[${i}]`));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${at} has no fields`];
  const entries = Object.entries(value);
  if ("map" in shape) return entries.flatMap(([name, one]) => faultsIn(one, shape.map, `${at}.${name}`));
  const missing = shape.needs.filter((name) => !(name in value)).map((name) => `${at}.${name} is missing`);
  const wrong = entries.flatMap(([name, one]) => {
    const known = shape.fields[name];
    return known === undefined ? [`${at}.${name} is unknown`] : faultsIn(one, known, `${at}.${name}`);
  });
  return [...missing, ...wrong];
}

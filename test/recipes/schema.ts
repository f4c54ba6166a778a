// Workflows of GitHub Actions against GitHub's own schema and expressions, manifests of Kubernetes against the schemas of its API.
import { registerHooks } from "node:module";
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { validate as validateJob } from "kubernetes-models/_schemas/IoK8sApiBatchV1Job";
import { validate as validateClaim } from "kubernetes-models/_schemas/IoK8sApiCoreV1PersistentVolumeClaim";

// The parser imports JSON without saying so: bundlers understand that, and Node does not.
const hooks = registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith(".json") ? { ...context, importAttributes: { type: "json" } } : context),
});
const { NoOperationTraceWriter, parseWorkflow } = await import("@actions/workflow-parser");
hooks.deregister();

/** What is wrong, with its place; none when it is right. */
export function faultsInWorkflow(text: string): readonly string[] {
  const { context } = parseWorkflow({ name: "workflow.yml", content: text }, new NoOperationTraceWriter());
  return context.errors.getErrors().map(({ message }) => message);
}

/** What an expression of a workflow gives where these contexts are. */
export function evaluateExpression(expression: string, contexts: Readonly<Record<string, unknown>>): string {
  const parsed = new Parser(new Lexer(expression).lex().tokens, Object.keys(contexts), []).parse();
  const known: data.ExpressionData = JSON.parse(JSON.stringify(contexts), data.reviver);
  if (!(known instanceof data.Dictionary)) throw new Error("the contexts are no object");
  return new Evaluator(parsed, known).evaluate().coerceString();
}

interface Validate {
  (value: unknown): boolean;
  readonly errors?:
    | readonly { readonly instancePath: string; readonly keyword: string; readonly params: unknown }[]
    | null;
}
const VALIDATES: Readonly<Record<string, Validate>> = {
  "batch/v1 Job": validateJob,
  "v1 PersistentVolumeClaim": validateClaim,
};

/**
 * What is wrong, by path; none when it is right. The published schemas let unknown fields pass, as the API does unless it is told to be
 * strict: a field that the validator never looks at is unknown.
 */
export function faultsInManifest(manifest: { readonly apiVersion: string; readonly kind: string }): readonly string[] {
  const validate = VALIDATES[`${manifest.apiVersion} ${manifest.kind}`];
  if (validate === undefined) return [`no schema of ${manifest.apiVersion} ${manifest.kind}`];
  const seen = new Set<string>();
  validate(watched(manifest, "", seen));
  const wrong = (validate.errors ?? []).map(
    (one) => `${one.instancePath} ${one.keyword} ${JSON.stringify(one.params)}`,
  );
  return [
    ...wrong,
    ...pathsOf(manifest, "")
      .filter((at) => !seen.has(at))
      .map((at) => `${at} is unknown`),
  ];
}

/** The same value; what is read of it is noted. */
function watched(value: unknown, at: string, seen: Set<string>): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get: (target, name) => {
      const found: unknown = Reflect.get(target, name);
      if (typeof name === "symbol" || !Object.hasOwn(target, name)) return found;
      seen.add(`${at}/${name}`);
      return watched(found, `${at}/${name}`, seen);
    },
  });
}

/** Of all fields, also of those in lists. */
function pathsOf(value: unknown, at: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, below]) => {
    const path = `${at}/${name}`;
    // What lies in a list of texts need not be looked at one by one.
    return Array.isArray(value) && typeof below !== "object" ? [] : [path, ...pathsOf(below, path)];
  });
}

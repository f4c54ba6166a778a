// Descriptions of tools for models: the JSON Schema of each input, in the formats of the providers' APIs.
import { HoldfastError } from "../contracts/errors.ts";
import type { StandardJsonSchema } from "../contracts/standard-schema.ts";
import type { DescribedTool, ToolFormats } from "../contracts/tool-schemas.ts";
import type { ToolWithSchema } from "../contracts/tools.ts";
import { checkBoolean, checkId, checkOneOf, checkRecord, copyJson } from "../core/check.ts";

const FORMATS: readonly (keyof ToolFormats)[] = ["anthropic", "openai-chat", "openai-responses", "json-schema"];

type Target = "draft-07" | "draft-2020-12";

/**
 * Describes the tools in their order, from each tool's validator if it can export JSON Schema, otherwise from its
 * `inputSchema`.
 */
export function toolSchemas<Format extends keyof ToolFormats>(
  tools: Readonly<Record<string, ToolWithSchema>>,
  format: Format,
  /**
   * `strict`, OpenAI only: the model must follow the schema, which must then be of the subset that OpenAI names. Off by default.
   */
  options?: { readonly strict?: boolean },
): ToolFormats[Format][] {
  const chosen = checkOneOf(format, "format", FORMATS);
  const { strict } = checkRecord(options, "options", ["strict"]);
  const isStrict = strict === undefined ? false : checkBoolean(strict, "options.strict");
  const target = chosen === "anthropic" ? "draft-2020-12" : "draft-07";
  return Object.entries(checkRecord(tools, "tools")).map(([name, tool]) => {
    const described = describeTool(checkId(name, "tools"), tool, target);
    return formatTool(described, chosen, isStrict) as ToolFormats[Format];
  });
}

function formatTool(
  described: DescribedTool,
  format: keyof ToolFormats,
  strict: boolean,
): ToolFormats[keyof ToolFormats] {
  const { inputSchema: parameters, ...rest } = described;
  if (format === "anthropic") return { ...rest, input_schema: parameters };
  if (format === "openai-chat") {
    return { type: "function", function: { ...rest, parameters, ...(strict ? { strict } : {}) } };
  }
  if (format === "openai-responses") return { type: "function", ...rest, parameters, strict };
  return described;
}

function describeTool(name: string, value: unknown, target: Target): DescribedTool {
  const tool = checkRecord(value, `tools.${name}`);
  const description = typeof tool.description === "string" ? { description: tool.description } : {};
  return { name, ...description, inputSchema: objectSchema(name, schemaOf(name, tool, target)) };
}

function schemaOf(name: string, tool: Readonly<Record<string, unknown>>, target: Target): unknown {
  const convert = converterOf(tool.input);
  if (convert === undefined) return tool.inputSchema ?? missingSchema(name);
  try {
    return convert({ target });
  } catch (cause) {
    // A validator may accept values that JSON Schema cannot express.
    if (tool.inputSchema !== undefined) return tool.inputSchema;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError("InvalidArgument", `the validator of the tool ${name} exports no JSON Schema: ${why}`, {
      details: { tool: name },
      cause,
      hint: "Add an inputSchema to the tool.",
    });
  }
}

function converterOf(validator: unknown): StandardJsonSchema["~standard"]["jsonSchema"]["input"] | undefined {
  const found = (validator as Partial<StandardJsonSchema> | undefined)?.["~standard"]?.jsonSchema?.input;
  return typeof found === "function" ? found : undefined;
}

function missingSchema(name: string): never {
  throw new HoldfastError("InvalidArgument", `the tool ${name} has no JSON Schema, which models need to call it`, {
    details: { tool: name },
    hint: "Add an inputSchema, or an input validator that can export JSON Schema (those of zod and arktype can, valibot's cannot).",
  });
}

/** Removes the name of the dialect, which no provider needs. */
function objectSchema(name: string, schema: unknown): DescribedTool["inputSchema"] {
  const { $schema: _, ...rest } = checkRecord(
    copyJson(schema, `tools.${name}.inputSchema`, "metadataBytes"),
    `tools.${name}.inputSchema`,
  );
  if (rest.type !== undefined && rest.type !== "object") {
    throw new HoldfastError(
      "InvalidArgument",
      `models call tools with an object; the input of tool ${name} is ${JSON.stringify(rest.type)}`,
      {
        details: { tool: name },
        hint: "Make its input an object with the value as a property.",
      },
    );
  }
  return { ...rest, type: "object" };
}

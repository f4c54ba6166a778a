/** A validator: `Input` is what it accepts, `Output` is what it returns. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaProperties<Input, Output>;
}

export interface StandardSchemaProperties<Input = unknown, Output = Input> {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (value: unknown) => ValidationResult<Output> | Promise<ValidationResult<Output>>;
  /** For the compiler only. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
}

export type ValidationResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly ValidationIssue[] };

export interface ValidationIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A validator that can also export JSON Schema (Standard JSON Schema), as those of zod and arktype can. */
export interface StandardJsonSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaProperties<Input, Output> & {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: "draft-07" | "draft-2020-12" }) => Record<string, unknown>;
    };
  };
}

// Tools as the APIs of model providers take them.

/** A JSON Schema of an object: that is what providers call tools with. */
export interface ObjectSchema {
  readonly type: "object";
  readonly [keyword: string]: unknown;
}

/** format "json-schema": for any other API. */
export interface DescribedTool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: ObjectSchema;
}

export interface AnthropicTool {
  readonly name: string;
  readonly description?: string;
  readonly input_schema: ObjectSchema;
}

/** Of OpenAI's chat completions. */
export interface OpenaiChatTool {
  readonly type: "function";
  readonly function: {
    readonly name: string;
    readonly description?: string;
    readonly parameters: ObjectSchema;
    readonly strict?: boolean;
  };
}

/** Of OpenAI's responses. */
export interface OpenaiResponsesTool {
  readonly type: "function";
  readonly name: string;
  readonly description?: string;
  readonly parameters: ObjectSchema;
  readonly strict: boolean;
}

export interface ToolFormats {
  readonly anthropic: AnthropicTool;
  readonly "openai-chat": OpenaiChatTool;
  readonly "openai-responses": OpenaiResponsesTool;
  readonly "json-schema": DescribedTool;
}

export type ToolFormat = keyof ToolFormats;

export interface ToolSchemaOptions {
  /**
   * OpenAI only: the model must follow the schema, which must then be of the subset that OpenAI names. Off by default.
   */
  readonly strict?: boolean;
}

/** format "json-schema": for any other API. */
export interface DescribedTool {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of an object, because providers pass arguments as an object. */
  readonly inputSchema: {
    readonly type: "object";
    readonly [keyword: string]: unknown;
  };
}

export interface ToolFormats {
  readonly anthropic: {
    readonly name: string;
    readonly description?: string;
    readonly input_schema: DescribedTool["inputSchema"];
  };
  /** The format of OpenAI's chat completions. */
  readonly "openai-chat": {
    readonly type: "function";
    readonly function: {
      readonly name: string;
      readonly description?: string;
      readonly parameters: DescribedTool["inputSchema"];
      readonly strict?: boolean;
    };
  };
  /** The format of OpenAI's responses. */
  readonly "openai-responses": {
    readonly type: "function";
    readonly name: string;
    readonly description?: string;
    readonly parameters: DescribedTool["inputSchema"];
    readonly strict: boolean;
  };
  readonly "json-schema": DescribedTool;
}

/** format "json-schema": for any other API. */
export interface DescribedTool {
  readonly name: string;
  readonly description?: string;
  /** A JSON Schema of an object: that is what providers call tools with. */
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
  /** Of OpenAI's chat completions. */
  readonly "openai-chat": {
    readonly type: "function";
    readonly function: {
      readonly name: string;
      readonly description?: string;
      readonly parameters: DescribedTool["inputSchema"];
      readonly strict?: boolean;
    };
  };
  /** Of OpenAI's responses. */
  readonly "openai-responses": {
    readonly type: "function";
    readonly name: string;
    readonly description?: string;
    readonly parameters: DescribedTool["inputSchema"];
    readonly strict: boolean;
  };
  readonly "json-schema": DescribedTool;
}

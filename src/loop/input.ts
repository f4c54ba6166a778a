// The input of a loop: the messages for the model. It is checked when a run begins, and appended once.
import type { ContentBlock, MessageInput, Role } from "../contracts/messages.ts";
import type { StandardSchema } from "../contracts/standard-schema.ts";
import { readyMessage } from "../history/append.ts";

/** A message with refs or URLs for images and documents: the input of a run is JSON, which cannot contain bytes. */
export interface LoopMessage {
  readonly role: Role;
  readonly content: string | readonly ContentBlock[];
}

/** A text is short for a user's message. */
export type LoopInput = string | LoopMessage | readonly LoopMessage[];

export const inputSchema: StandardSchema<LoopInput, LoopInput> = {
  "~standard": {
    version: 1,
    vendor: "holdfast",
    validate(value) {
      try {
        const input = value as LoopInput;
        for (const message of messagesOf(input)) readyMessage(message);
        return { value: input };
      } catch (error) {
        return { issues: [{ message: error instanceof Error ? error.message : String(error) }] };
      }
    },
  },
};

export function messagesOf(input: LoopInput): readonly MessageInput[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return isList(input) ? input : [input];
}

function isList(input: LoopInput): input is readonly LoopMessage[] {
  return Array.isArray(input);
}

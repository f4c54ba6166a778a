#!/bin/sh
# `exec`: signals of the container reach `holdfast run`, which saves the session before it ends. It saves the conversation, not the
# working tree: without a volume, clone a branch here, and let the agent push it ("… Commit and push what you change.").
set -eu
: "${HOLDFAST_STORE:?the URL of the store, such as postgres://db/agents}"
: "${REQUEST:?what the conversation belongs to, such as issue-7}"
: "${PROMPT:?what the agent is asked}"
# No person can answer a question here: edits and shell commands are allowed, and everything else is denied.
exec holdfast run --request "$REQUEST" -- claude -p "$PROMPT" --permission-mode acceptEdits --allowedTools Bash

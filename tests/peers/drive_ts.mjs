// Drives a CLI with the official TypeScript SDK and prints what the SDK delivers, as JSON Lines.
//
//     node drive_ts.mjs SDK CLI CASE...
//
// SDK is the folder that the SDK was installed in, CLI the program to drive.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [SDK, CLI, ...CASES] = process.argv.slice(2);
const PATIENCE = 60_000; // milliseconds that a case may take; it takes less than a second

const require = createRequire(pathToFileURL(`${SDK}/`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { createSdkMcpServer, query, tool } = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");

const tell = (kind, facts = {}) => console.log(JSON.stringify({ kind, ...facts }));

// --- what the SDK delivers -----------------------------------------------------------------------

function block(it) {
  if (it.type === "text") return { text: it.text };
  if (it.type === "thinking") return { thinking: it.thinking };
  if (it.type === "tool_use") return { tool: it.name, input: it.input };
  return { result: it.content, failed: it.is_error ?? false };
}

function tellMessage(it) {
  if (it.type === "assistant") {
    tell("assistant", { model: it.message.model, blocks: it.message.content.map(block) });
  } else if (it.type === "user") {
    const { content } = it.message;
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
    tell("user", { blocks: blocks.map(block) });
  } else if (it.type === "stream_event") {
    tell("stream", { event: it.event });
  } else {
    tell(it.type, it);
  }
}

// --- what the SDK calls --------------------------------------------------------------------------

function asked(name, input, { suggestions = [], toolUseID }) {
  tell("permission", { tool: name, input, suggestions, named: toolUseID !== undefined });
}

async function allow(name, input, context) {
  asked(name, input, context);
  const changes = {
    AskUserQuestion: { ...input, answers: { "Which colour?": "Green" } },
    Bash: { command: "ls build" },
  };
  return { behavior: "allow", updatedInput: changes[name] ?? input };
}

async function deny(name, input, context) {
  asked(name, input, context);
  return { behavior: "deny", message: "That is too dangerous." };
}

async function see(input, toolUseID) {
  tell("hook", { input, named: toolUseID !== undefined });
  return {};
}

async function once(input, toolUseID) {
  tell("hook", { input, named: toolUseID !== undefined });
  return input.stop_hook_active ? {} : { decision: "block", reason: "Think again." };
}

const add = tool("add", "Add two numbers", { a: z.number(), b: z.number() }, async (input) => {
  tell("call", { arguments: input });
  return { content: [{ type: "text", text: String(input.a + input.b) }] };
});

// --- the cases -----------------------------------------------------------------------------------

// One session: prompts go in one by one, as a person gives them.
class Session {
  constructor(options = {}) {
    this.prompts = [];
    this.query = query({
      prompt: this.stream(),
      options: { pathToClaudeCodeExecutable: CLI, ...options },
    });
  }

  async *stream() {
    for (;;) {
      while (!this.prompts.length) await new Promise((resolve) => (this.wake = resolve));
      const content = this.prompts.shift();
      if (content === null) return;
      const message = { role: "user", content };
      yield { type: "user", message, parent_tool_use_id: null, session_id: content };
    }
  }

  give(prompt) {
    this.prompts.push(prompt);
    this.wake?.();
  }

  // Gives a prompt, tells what comes up to the result, and returns that.
  async turn(prompt, onMessage = async () => {}) {
    this.give(prompt);
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error("The conversation has ended without a result");
      tellMessage(value);
      await onMessage(value);
      if (value.type === "result") return value;
    }
  }

  async end() {
    this.give(null);
    for await (const message of this.query) tellMessage(message);
  }
}

async function oneTurn(prompt, options) {
  const session = new Session(options);
  const result = await session.turn(prompt);
  await session.end();
  return result;
}

const cases = {
  async one_shot() {
    const options = { pathToClaudeCodeExecutable: CLI };
    for await (const message of query({ prompt: "hello", options })) tellMessage(message);
  },

  async turns() {
    const session = new Session();
    for (const prompt of ["hello 1", "hello 2", "hello 3"]) await session.turn(prompt);
    await session.end();
  },

  partial: () => oneTurn("think", { includePartialMessages: true }),
  allow: () => oneTurn("shell", { canUseTool: allow }),
  deny: () => oneTurn("shell", { canUseTool: deny }),
  question: () => oneTurn("colour", { canUseTool: allow }),

  hooks: () =>
    oneTurn("shell", {
      allowedTools: ["Bash"],
      hooks: {
        PreToolUse: [
          { matcher: "Bash", hooks: [see] },
          { matcher: "Write", hooks: [see] },
        ],
        PostToolUse: [{ hooks: [see] }],
        Stop: [{ hooks: [see] }],
      },
    }),

  kept_going: () => oneTurn("hello", { hooks: { Stop: [{ hooks: [once] }] } }),

  mcp: () =>
    oneTurn("add", {
      mcpServers: { calc: createSdkMcpServer({ name: "calc", tools: [add] }) },
      allowedTools: ["mcp__calc__add"],
    }),

  async interrupt() {
    const session = new Session({ allowedTools: ["Bash"] });
    await session.turn("slow", async (message) => {
      if (message.type === "assistant") await session.query.interrupt();
    });
    await session.turn("hello");
    await session.end();
  },

  async withdrawn() {
    const canUseTool = (name, input, context) => {
      asked(name, input, context);
      session.query.interrupt();
      return new Promise((resolve) =>
        context.signal.addEventListener("abort", () => {
          tell("withdrawn");
          resolve({ behavior: "deny", message: "Nobody hears this." });
        }),
      );
    };
    const session = new Session({ canUseTool });
    await session.turn("shell");
    await session.turn("hello");
    await session.end();
  },

  async settings() {
    const session = new Session({ canUseTool: allow });
    await session.turn("write");
    await session.query.setModel("haiku");
    await session.query.setPermissionMode("acceptEdits");
    await session.turn("write");
    await session.end();
  },

  async resume() {
    const { session_id } = await oneTurn("hello, I like pears");
    await oneTurn("what did I say?", { resume: session_id });
    await oneTurn("what did I say?", { resume: session_id, forkSession: true });
  },
};

for (const name of CASES) {
  tell("case", { name });
  const tooLong = new Promise((_, reject) =>
    setTimeout(() => reject(new Error(`${name} takes too long`)), PATIENCE).unref(),
  );
  try {
    await Promise.race([cases[name](), tooLong]);
  } catch (error) {
    tell("error", { text: error.stack });
  }
}
process.exit();

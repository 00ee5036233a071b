// Uses the official TypeScript SDK in every way that its reference names, one after the other, and
// prints for each usage, as a line of JSON, what went wrong.
//
//     node usages.mjs SDK CLI FOLDER
//
// SDK is the folder that the SDK was installed in, CLI the program to drive, FOLDER an empty one.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [SDK, CLI, FOLDER] = process.argv.slice(2);
const PATIENCE = 60_000; // milliseconds that a usage may take; it takes less than a second

const require = createRequire(pathToFileURL(`${SDK}/`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const sdk = await load("@anthropic-ai/claude-agent-sdk");
const { z } = await load("zod");

// --- helpers -------------------------------------------------------------------------------------

let folders = 0;

// A folder of its own for a usage, with these files in it.
function project(files = {}) {
  const cwd = `${FOLDER}/p${++folders}`;
  mkdirSync(cwd);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(`${cwd}/${name}`.replace(/\/[^/]*$/, ""), { recursive: true });
    writeFileSync(`${cwd}/${name}`, text);
  }
  return cwd;
}

const shared = project();
const given = (options) => ({ pathToClaudeCodeExecutable: CLI, cwd: shared, ...options });

// One prompt, and everything that comes; an error of the SDK is kept beside it.
async function ask(prompt, options = {}) {
  const messages = [];
  try {
    for await (const message of sdk.query({ prompt, options: given(options) })) {
      messages.push(message);
    }
  } catch (error) {
    messages.error = error;
  }
  return Object.assign(messages, {
    init: messages.find((it) => it.subtype === "init"),
    result: messages.findLast((it) => it.type === "result"),
    of: (type) => messages.filter((it) => it.type === type || it.subtype === type),
  });
}

// A session in which prompts are given one by one.
class Session {
  constructor(options = {}) {
    this.prompts = [];
    this.messages = [];
    this.query = sdk.query({ prompt: this.stream(), options: given(options) });
  }

  async *stream() {
    for (;;) {
      while (!this.prompts.length) await new Promise((resolve) => (this.wake = resolve));
      const prompt = this.prompts.shift();
      if (prompt === null) return;
      const { uuid, content } = prompt.content ? prompt : { content: prompt };
      const message = { role: "user", content };
      yield { type: "user", message, parent_tool_use_id: null, session_id: "", uuid };
    }
  }

  give(prompt) {
    this.prompts.push(prompt);
    this.wake?.();
  }

  async until(wanted, onMessage = async () => {}) {
    for (;;) {
      const { value, done } = await this.query.next();
      if (done) throw new Error("The conversation has ended too early");
      this.messages.push(value);
      await onMessage(value);
      if (wanted(value)) return value;
    }
  }

  turn(prompt, onMessage) {
    this.give(prompt);
    return this.until((it) => it.type === "result", onMessage);
  }

  async end() {
    this.give(null);
    for await (const message of this.query) this.messages.push(message);
  }
}

// A session that is open while something is done with it.
async function open(options, use) {
  const session = new Session(options);
  try {
    return await use(session, session.query);
  } finally {
    await session.end();
  }
}

const toolResults = (messages) =>
  messages
    .filter((it) => it.type === "user" && Array.isArray(it.message.content))
    .flatMap((it) => it.message.content)
    .filter((it) => it.type === "tool_result");

const allow = async (_name, input) => ({ behavior: "allow", updatedInput: input });
const hook = (event, output, matcher) => ({ [event]: [{ matcher, hooks: [async () => output] }] });

const echo = sdk.tool("echo", "Says it again", { text: z.string() }, async ({ text }) => ({
  content: [{ type: "text", text }],
}));
const inProcess = () => sdk.createSdkMcpServer({ name: "ext", tools: [echo] });

// An MCP server that is a program, in one line of JavaScript.
const STDIO = {
  command: process.execPath,
  args: [
    "-e",
    `require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
       const { id, method, params } = JSON.parse(line);
       const tool = { name: "echo", inputSchema: { type: "object" } };
       const about = { protocolVersion: "2025-06-18", capabilities: { tools: {} },
                       serverInfo: { name: "ext", version: "1" } };
       const result = { initialize: about, "tools/list": { tools: [tool] },
         "tools/call": { content: [{ type: "text", text: params?.arguments?.text }] } }[method];
       if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
     })`,
  ],
};

async function withHttpServer(use) {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => (body += data));
    request.on("end", () => {
      const { id, method, params } = JSON.parse(body || "{}");
      const tool = { name: "echo", inputSchema: { type: "object" } };
      const about = { protocolVersion: "2025-06-18", capabilities: { tools: {} } };
      const result = {
        initialize: { ...about, serverInfo: { name: "ext", version: "1" } },
        "tools/list": { tools: [tool] },
        "tools/call": { content: [{ type: "text", text: params?.arguments?.text }] },
      }[method];
      response.writeHead(id === undefined ? 202 : 200, { "Content-Type": "application/json" });
      response.end(id === undefined ? "" : JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    return await use(`http://127.0.0.1:${server.address().port}/mcp`);
  } finally {
    server.close();
  }
}

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// --- the usages ----------------------------------------------------------------------------------

const usages = {
  async "a string as the prompt"() {
    const { result } = await ask("hello");
    assert.equal(result.result, "Hello to you.");
  },

  async "prompts one by one"() {
    await open({}, async (session) => {
      const first = await session.turn("hello");
      const second = await session.turn("repeat this");
      assert.equal(second.result, "repeat this");
      assert.equal(first.session_id, second.session_id);
    });
  },

  async "an image in a prompt"() {
    await open({}, async (session) => {
      const source = { type: "base64", media_type: "image/png", data: PIXEL };
      const content = [{ type: "image", source }, { type: "text", text: "repeat: an image" }];
      assert.equal((await session.turn({ content })).result, "repeat: an image");
    });
  },

  async "partial messages"() {
    const messages = await ask("think", { includePartialMessages: true });
    const deltas = messages.of("stream_event").map((it) => it.event.delta?.text ?? "");
    assert.equal(deltas.join(""), messages.result.result);
  },

  async thinking() {
    const blocks = (await ask("think")).of("assistant").flatMap((it) => it.message.content);
    assert.equal(blocks.find((it) => it.type === "thinking").thinking, "Let me see.");
  },

  async "canUseTool: allowed with other input"() {
    const canUseTool = async () => ({ behavior: "allow", updatedInput: { command: "ls" } });
    const [result] = toolResults(await ask("shell", { canUseTool }));
    assert.equal(result.content, "ran: ls");
  },

  async "canUseTool: denied"() {
    const canUseTool = async () => ({ behavior: "deny", message: "Too dangerous" });
    const messages = await ask("shell", { canUseTool });
    assert.equal(toolResults(messages)[0].content, "Too dangerous");
    assert.equal(messages.result.permission_denials[0].tool_name, "Bash");
  },

  async "canUseTool: denied, and the turn stopped"() {
    const canUseTool = async () => ({ behavior: "deny", message: "Stop", interrupt: true });
    const { result } = await ask("shell", { canUseTool });
    assert.equal(result.subtype, "error_during_execution");
  },

  async "canUseTool: a rule for the rest of the session"() {
    let asked = 0;
    const canUseTool = async (_name, input, { suggestions }) => {
      asked += 1;
      const updatedPermissions = suggestions.map((it) => ({ ...it, destination: "session" }));
      return { behavior: "allow", updatedInput: input, updatedPermissions };
    };
    await open({ canUseTool }, async (session) => {
      await session.turn("shell");
      await session.turn("shell");
    });
    assert.equal(asked, 1);
  },

  async "AskUserQuestion"() {
    const canUseTool = async (_name, input) => ({
      behavior: "allow",
      updatedInput: { ...input, answers: { "Which colour?": "Green" } },
    });
    assert.match((await ask("colour", { canUseTool })).result.result, /"Which colour\?"="Green"/);
  },

  async "hooks: PreToolUse denies"() {
    const hookSpecificOutput = {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "Not this",
    };
    const messages = await ask("shell", { hooks: hook("PreToolUse", { hookSpecificOutput }) });
    assert.match(toolResults(messages)[0].content, /Not this/);
  },

  async "hooks: PreToolUse changes the input"() {
    const hookSpecificOutput = {
      hookEventName: "PreToolUse",
      permissionDecision: "allow",
      updatedInput: { command: "pwd" },
    };
    const messages = await ask("shell", { hooks: hook("PreToolUse", { hookSpecificOutput }, "Bash") });
    assert.equal(toolResults(messages)[0].content, "ran: pwd");
  },

  async "hooks: PostToolUse sees the result"() {
    const seen = [];
    const hooks = { PostToolUse: [{ hooks: [async (input) => (seen.push(input), {})] }] };
    await ask("shell", { hooks, allowedTools: ["Bash"] });
    assert.equal(seen[0].tool_response.stdout, "ran: rm -rf build");
  },

  async "hooks: UserPromptSubmit blocks"() {
    const hooks = hook("UserPromptSubmit", { decision: "block", reason: "Not now" });
    const messages = await ask("hello", { hooks });
    assert.equal(messages.of("assistant").length, 0);
    assert.match(messages.result.result, /Not now/);
  },

  async "hooks: Stop keeps the agent going"() {
    const once = async (input) =>
      input.stop_hook_active ? {} : { decision: "block", reason: "Once more" };
    const messages = await ask("hello", { hooks: { Stop: [{ hooks: [once] }] } });
    assert.equal(messages.of("assistant").length, 2);
  },

  async "an MCP server in the application"() {
    const options = { mcpServers: { ext: inProcess() }, allowedTools: ["mcp__ext__echo"] };
    assert.equal((await ask("echo", options)).result.result, "It said: from outside");
  },

  async "an MCP server that is a program"() {
    const options = { mcpServers: { ext: STDIO }, allowedTools: ["mcp__ext__echo"] };
    assert.equal((await ask("echo", options)).result.result, "It said: from outside");
  },

  async "an MCP server that is reached by HTTP"() {
    await withHttpServer(async (url) => {
      const mcpServers = { ext: { type: "http", url } };
      const { result } = await ask("echo", { mcpServers, allowedTools: ["mcp__ext__echo"] });
      assert.equal(result.result, "It said: from outside");
    });
  },

  async "mcpServerStatus: one that fails"() {
    const mcpServers = { broken: { command: "/does/not/exist" } };
    await open({ mcpServers }, async (session, query) => {
      await session.turn("hello");
      const [status] = await query.mcpServerStatus();
      assert.deepEqual([status.name, status.status], ["broken", "failed"]);
    });
  },

  async "setMcpServers, toggleMcpServer, reconnectMcpServer"() {
    await open({ allowedTools: ["mcp__ext__echo"] }, async (session, query) => {
      assert.deepEqual((await query.setMcpServers({ ext: STDIO })).added, ["ext"]);
      await query.reconnectMcpServer("ext");
      assert.equal((await session.turn("echo")).result, "It said: from outside");
      assert.deepEqual((await query.setMcpServers({})).removed, ["ext"]);
    });
  },

  async interrupt() {
    await open({ allowedTools: ["Bash"] }, async (session, query) => {
      const stop = async (it) => void (it.type === "assistant" && (await query.interrupt()));
      assert.equal((await session.turn("slow", stop)).subtype, "error_during_execution");
      assert.equal((await session.turn("hello")).subtype, "success");
    });
  },

  async "setModel, setPermissionMode, setMaxThinkingTokens"() {
    await open({}, async (session, query) => {
      await session.turn("hello");
      await query.setModel("haiku");
      await query.setPermissionMode("acceptEdits");
      await query.setMaxThinkingTokens(1000);
      await session.turn("hello");
      const init = session.messages.findLast((it) => it.subtype === "init");
      assert.match(init.model, /haiku/);
      assert.equal(init.permissionMode, "acceptEdits");
    });
  },

  async "supportedCommands, supportedModels, supportedAgents, accountInfo"() {
    await open({}, async (_session, query) => {
      assert.ok((await query.supportedCommands()).some((it) => it.name === "compact"));
      assert.ok((await query.supportedModels()).some((it) => it.value === "haiku"));
      assert.ok((await query.supportedAgents()).some((it) => it.name === "Explore"));
      assert.equal((await query.accountInfo()).apiProvider, "firstParty");
    });
  },

  async "initializationResult, reinitialize"() {
    await open({}, async (_session, query) => {
      const first = await query.initializationResult();
      assert.ok(first.models.length > 2);
      assert.deepEqual((await query.reinitialize()).models, first.models);
    });
  },

  async "getContextUsage, readFile, reloads"() {
    const cwd = project({ "a.txt": "some text" });
    await open({ cwd }, async (_session, query) => {
      assert.ok((await query.getContextUsage()).totalTokens > 0);
      assert.equal((await query.readFile("a.txt")).contents, "some text");
      await query.reloadPlugins();
      await query.reloadSkills();
      await query.reloadOutputStyles();
      await query.seedReadState("a.txt", 1);
    });
  },

  async resume() {
    const { result } = await ask("hello, I like pears");
    const again = await ask("what did I say?", { resume: result.session_id });
    assert.equal(again.result.result, "hello, I like pears | what did I say?");
  },

  async "resume, forked"() {
    const { result } = await ask("hello, I like plums");
    const options = { resume: result.session_id, forkSession: true };
    const forked = await ask("what did I say?", options);
    assert.notEqual(forked.result.session_id, result.session_id);
    assert.equal(forked.result.result, "hello, I like plums | what did I say?");
  },

  async resumeSessionAt() {
    const { session_id, at } = await open({}, async (session) => {
      const { session_id } = await session.turn("hello, first");
      const at = session.messages.findLast((it) => it.type === "assistant").uuid;
      await session.turn("hello, second");
      return { session_id, at };
    });
    const options = { resume: session_id, resumeSessionAt: at, forkSession: true };
    const { result } = await ask("what did I say?", options);
    assert.equal(result.result, "hello, first | what did I say?");
  },

  async continue() {
    const cwd = project();
    await ask("hello, once", { cwd });
    const { result } = await ask("what did I say?", { cwd, continue: true });
    assert.equal(result.result, "hello, once | what did I say?");
  },

  async sessionId() {
    const sessionId = "11111111-1111-4111-8111-111111111111";
    assert.equal((await ask("hello", { sessionId, cwd: project() })).init.session_id, sessionId);
  },

  async "persistSession: false"() {
    const cwd = project();
    await ask("hello", { cwd, persistSession: false });
    assert.deepEqual(await sdk.listSessions({ dir: cwd }), []);
  },

  async "listSessions, getSessionInfo, getSessionMessages"() {
    const cwd = project();
    const { result } = await ask("hello, list me", { cwd });
    const [session] = await sdk.listSessions({ dir: cwd });
    assert.equal(session.sessionId, result.session_id);
    const info = await sdk.getSessionInfo(session.sessionId, { dir: cwd });
    assert.equal(info.firstPrompt, "hello, list me");
    const messages = await sdk.getSessionMessages(session.sessionId, { dir: cwd });
    assert.deepEqual(messages.map((it) => it.type), ["user", "assistant"]);
  },

  async "renameSession, tagSession, forkSession, deleteSession"() {
    const cwd = project();
    const dir = cwd;
    const { session_id } = (await ask("hello", { cwd })).result;
    await sdk.renameSession(session_id, "A title", { dir });
    await sdk.tagSession(session_id, "tagged", { dir });
    const info = await sdk.getSessionInfo(session_id, { dir });
    assert.deepEqual([info.customTitle, info.tag], ["A title", "tagged"]);
    const forked = await sdk.forkSession(session_id, { dir });
    const again = await ask("what did I say?", { cwd, resume: forked.sessionId });
    assert.equal(again.result.result, "hello | what did I say?");
    await sdk.deleteSession(session_id, { dir });
    assert.equal(await sdk.getSessionInfo(session_id, { dir }), undefined);
  },

  async "listSubagents, getSubagentMessages"() {
    const cwd = project();
    const { session_id } = (await ask("delegate", { cwd })).result;
    const [agent] = await sdk.listSubagents(session_id, { dir: cwd });
    const messages = await sdk.getSubagentMessages(session_id, agent, { dir: cwd });
    assert.deepEqual(messages.map((it) => it.type), ["user", "assistant"]);
  },

  async sessionStore() {
    const sessionStore = new sdk.InMemorySessionStore();
    const cwd = project();
    const { result } = await ask("hello, into a store", { cwd, sessionStore });
    const options = { cwd: project(), sessionStore, resume: result.session_id };
    const stored = await sdk.listSessions({ dir: cwd, sessionStore });
    assert.deepEqual(stored.map((it) => it.sessionId), [result.session_id]);
    const again = await ask("what did I say?", { ...options, cwd });
    assert.equal(again.result.result, "hello, into a store | what did I say?");
  },

  async "rewindFiles"() {
    const cwd = project({ "put.txt": "before" });
    const uuid = "22222222-2222-4222-8222-222222222222";
    const options = { cwd, enableFileCheckpointing: true, permissionMode: "acceptEdits" };
    await open(options, async (session, query) => {
      await session.turn({ content: "put it there", uuid });
      assert.equal(readFileSync(`${cwd}/put.txt`, "utf8"), "put it there");
      const would = await query.rewindFiles(uuid, { dryRun: true });
      assert.deepEqual(would.filesChanged, [`${cwd}/put.txt`]);
      assert.equal((await query.rewindFiles(uuid)).canRewind, true);
      assert.equal(readFileSync(`${cwd}/put.txt`, "utf8"), "before");
    });
  },

  async "a subagent"() {
    const messages = await ask("delegate");
    assert.equal(messages.of("task_started")[0].description, "Look");
    assert.equal(messages.of("task_notification")[0].summary, "Hello to you.");
    assert.match(toolResults(messages)[0].content[0].text, /Hello to you\./);
  },

  async "a subagent, its text forwarded"() {
    const messages = await ask("delegate", { forwardSubagentText: true });
    const inner = messages.of("assistant").filter((it) => it.parent_tool_use_id);
    assert.equal(inner[0].message.content[0].text, "Hello to you.");
  },

  async "a subagent in the background"() {
    await open({}, async (session) => {
      await session.turn("delegate it, apart");
      const told = session.messages.some((it) => it.subtype === "task_notification");
      if (!told) await session.until((it) => it.subtype === "task_notification");
      const { origin } = await session.until((it) => it.type === "result");
      assert.equal(origin.kind, "task-notification");
    });
  },

  async agents() {
    const agents = { mine: { description: "Mine", prompt: "You are mine." } };
    assert.ok((await ask("hello", { agents })).init.agents.includes("mine"));
  },

  async "agents and commands of a project"() {
    const cwd = project({
      ".claude/agents/filed.md": "---\nname: filed\ndescription: Filed\n---\nYou are filed.\n",
      ".claude/commands/shout.md": "repeat, loudly: $ARGUMENTS",
    });
    const { init, result } = await ask("/shout hey", { cwd, settingSources: ["project"] });
    assert.ok(init.agents.includes("filed") && init.slash_commands.includes("shout"));
    assert.equal(result.result, "repeat, loudly: hey");
    assert.ok(!(await ask("hello", { cwd, settingSources: [] })).init.agents.includes("filed"));
  },

  async "settings of a project: hooks that are commands"() {
    const hooks = { PreToolUse: [{ hooks: [{ type: "command", command: "echo no >&2; exit 2" }] }] };
    const cwd = project({ ".claude/settings.json": JSON.stringify({ hooks }) });
    const messages = await ask("shell", { cwd, settingSources: ["project"] });
    assert.match(toolResults(messages)[0].content, /no/);
  },

  async "settings: rules and a model"() {
    const settings = { model: "haiku", permissions: { deny: ["Bash"], allow: ["Write"] } };
    const { init } = await ask("hello", { settings });
    assert.match(init.model, /haiku/);
    assert.ok(!init.tools.includes("Bash"));
  },

  async plugins() {
    const path = project({
      ".claude-plugin/plugin.json": '{"name": "mine", "version": "1.0.0"}',
      "commands/wave.md": "Wave.",
    });
    const { init } = await ask("hello", { plugins: [{ type: "local", path }] });
    assert.ok(init.plugins.some((it) => it.name === "mine"));
    assert.ok(init.slash_commands.includes("mine:wave"));
  },

  async additionalDirectories() {
    const folder = project();
    const { init } = await ask("hello", { additionalDirectories: [folder] });
    assert.deepEqual(init.additional_directories, [folder]);
  },

  async "allowedTools, disallowedTools, tools"() {
    const canUseTool = async () => assert.fail("It was asked");
    const options = { canUseTool, allowedTools: ["Bash"], disallowedTools: ["Write"] };
    const messages = await ask("shell", options);
    assert.equal(toolResults(messages)[0].content, "ran: rm -rf build");
    assert.ok(!messages.init.tools.includes("Write"));
    assert.deepEqual((await ask("hello", { tools: ["Read"] })).init.tools, ["Read"]);
  },

  async "permissionMode: bypassPermissions, dontAsk"() {
    const bypass = { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true };
    assert.equal(toolResults(await ask("shell", bypass))[0].is_error, false);
    assert.equal(toolResults(await ask("shell", { permissionMode: "dontAsk" }))[0].is_error, true);
  },

  async "permissionPromptToolName"() {
    const decide = sdk.tool("decide", "Decides", { tool_name: z.string() }, async () => ({
      content: [{ type: "text", text: '{"behavior": "deny", "message": "The tool says no"}' }],
    }));
    const mcpServers = { gate: sdk.createSdkMcpServer({ name: "gate", tools: [decide] }) };
    const options = { mcpServers, permissionPromptToolName: "mcp__gate__decide" };
    assert.match(toolResults(await ask("shell", options))[0].content, /The tool says no/);
  },

  async maxTurns() {
    const { result } = await ask("shell", { maxTurns: 1, allowedTools: ["Bash"] });
    assert.equal(result.subtype, "error_max_turns");
  },

  async maxBudgetUsd() {
    const { result } = await ask("hello", { maxBudgetUsd: 0.00001 });
    assert.equal(result.subtype, "error_max_budget_usd");
  },

  async outputFormat() {
    const schema = { type: "object", properties: { files: { type: "integer" } } };
    const { result } = await ask("count it", { outputFormat: { type: "json_schema", schema } });
    assert.deepEqual(result.structured_output, { files: 2 });
  },

  async "/clear"() {
    await open({}, async (session) => {
      const before = await session.turn("hello");
      const after = await session.turn("/clear");
      assert.notEqual(after.session_id, before.session_id);
    });
  },

  async "/compact"() {
    await open({}, async (session) => {
      await session.turn("hello");
      await session.turn("/compact");
      const boundary = session.messages.find((it) => it.subtype === "compact_boundary");
      assert.equal(boundary.compact_metadata.trigger, "manual");
    });
  },

  async "/cost and /context"() {
    await open({}, async (session) => {
      await session.turn("hello");
      assert.match((await session.turn("/cost")).result, /cost/i);
      assert.match((await session.turn("/context")).result, /context/i);
    });
  },

  async "an error of the API"() {
    const messages = await ask("break down");
    assert.equal(messages.result.is_error, true);
    assert.match(messages.result.result, /Overloaded/);
    assert.equal(messages.of("assistant")[0].error, "server_error");
  },

  async systemPrompt() {
    for (const systemPrompt of ["Be brief.", { type: "preset", preset: "claude_code", append: "x" }]) {
      assert.equal((await ask("hello", { systemPrompt })).result.subtype, "success");
    }
  },

  async "env and stderr"() {
    const lines = [];
    const env = { ...process.env, CLAUDEWIRE_SIM_VERSION: "2.1.100" };
    const stderr = (text) => lines.push(text);
    const { init } = await ask("hello", { env, stderr, fallbackModel: "haiku" });
    assert.equal(init.claude_code_version, "2.1.100");
    assert.match(lines.join(""), /not simulated: --fallback-model/);
  },

  async abortController() {
    const abortController = new AbortController();
    const asked = ask("slow", { abortController, allowedTools: ["Bash"] });
    setTimeout(() => abortController.abort(), 500);
    assert.match((await asked).error.message, /abort/i);
  },

  async spawnClaudeCodeProcess() {
    const started = [];
    const spawnClaudeCodeProcess = ({ command, args, cwd, env, signal }) => {
      started.push(command);
      return spawn(command, args, { cwd, env, signal, stdio: ["pipe", "pipe", "inherit"] });
    };
    assert.equal((await ask("hello", { spawnClaudeCodeProcess })).result.subtype, "success");
    assert.equal(started.length, 1);
  },

  async startup() {
    const warm = await sdk.startup({ options: given({}) });
    const messages = [];
    for await (const message of warm.query("hello")) messages.push(message);
    assert.equal(messages.at(-1).result, "Hello to you.");
  },

  async streamInput() {
    const session = new Session();
    await session.turn("hello");
    const more = async function* () {
      const message = { role: "user", content: "repeat: streamed" };
      yield { type: "user", message, parent_tool_use_id: null, session_id: "" };
    };
    const asked = session.query.streamInput(more());
    const result = await session.until((it) => it.type === "result");
    assert.equal(result.result, "repeat: streamed");
    await session.end();
    await asked;
  },

  async "two sessions at once"() {
    const [one, other] = await Promise.all([ask("repeat one"), ask("repeat other")]);
    assert.deepEqual([one.result.result, other.result.result], ["repeat one", "repeat other"]);
  },
};

const only = process.env.ONLY; // while working on this file
for (const [name, use] of Object.entries(usages)) {
  if (only && !name.includes(only)) continue;
  const tooLong = new Promise((_, reject) =>
    setTimeout(() => reject(new Error("It takes too long")), PATIENCE).unref(),
  );
  const why = await Promise.race([use(), tooLong]).then(
    () => null,
    (error) => error.stack,
  );
  console.log(JSON.stringify({ usage: name, why }));
}
process.exit();

// Plays a scenario with an official Node client and prints what it saw as JSON.
//
//     node play.mjs '{"generation": 1 or 2, "mode": …, "command": […], "env": {}, "calls": …, "abandoned": …, "parallel": …}'

const scenario = JSON.parse(process.argv[2]);
const info = { name: "conformance", version: "1" };
const place = async () => ({ roots: [{ uri: "file:///place" }] });

async function first() {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const types = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client(info, { capabilities: { roots: {} } });
  client.setRequestHandler(types.ListRootsRequestSchema, place);
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, (message) => notified.push(message.method));
  return [client, StdioClientTransport, (call, options) => client.callTool(call, undefined, options)];
}

async function second() {
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = scenario.mode.startsWith("20") ? { pin: scenario.mode } : scenario.mode;
  const client = new Client(info, { capabilities: { roots: {} }, versionNegotiation: { mode } });
  client.setRequestHandler("roots/list", place);
  client.setNotificationHandler("notifications/tools/list_changed", (message) => notified.push(message.method));
  return [client, StdioClientTransport, (call, options) => client.callTool(call, options)];
}

const notified = [];
const failures = [];
const [client, Transport, callTool] = await (scenario.generation === 1 ? first() : second());
client.onerror = (error) => failures.push(String(error));

async function answer([name, args], options) {
  try {
    const result = await callTool({ name, arguments: args }, options);
    const texts = result.content.map((block) => block.text);
    return { texts, structured: result.structuredContent ?? null, is_error: result.isError ?? false };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

const [command, ...args] = scenario.command;
await client.connect(new Transport({ command, args, env: { ...process.env, ...scenario.env } }));
const server = client.getServerVersion();
const report = {
  server: server ? [server.name, server.version] : null,
  instructions: client.getInstructions() ?? null,
  protocol: client.getNegotiatedProtocolVersion?.() ?? null,
};
const names = async () => (await client.listTools(undefined, { cacheMode: "refresh" })).tools.map((tool) => tool.name);
report.tools = await names();
report.answers = [];
for (const call of scenario.calls) report.answers.push(await answer(call));
report.tools_after = await names();
for (const call of scenario.abandoned) {
  const controller = new AbortController();
  setTimeout(() => controller.abort("bored"), 300);
  report.abandoned = "message" in (await answer(call, { signal: controller.signal }));
}
report.parallel = await Promise.all(scenario.parallel.map((call) => answer(call)));
if (scenario.mode === "legacy") await client.ping();
await client.close();
console.log(JSON.stringify({ ...report, notified, failures }));

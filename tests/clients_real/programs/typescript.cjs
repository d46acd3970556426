// The TypeScript SDK as a client: node typescript.cjs PACKAGES VERSION TARGETS
// Visits a gateway at each target, one after the other, and prints what it saw of each as JSON.
const { createRequire } = require("node:module");
const path = require("node:path");

const [packages, version, targets] = process.argv.slice(2);
const load = createRequire(path.join(packages, "here.js"));
const INFO = { name: `typescript-${version}`, version: "1" };
const CAN = { capabilities: { elicitation: { form: {} } } };

function first() {
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const { ElicitRequestSchema } = load("@modelcontextprotocol/sdk/types.js");
  return {
    client: () => new Client(INFO, CAN),
    asked: ElicitRequestSchema,
    // It tells only its transport what was agreed on.
    revision: (_, transport) => transport.agreed,
    StdioClientTransport,
    StreamableHTTPClientTransport,
  };
}

function second() {
  const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
  const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
  return {
    client: (era) => new Client(INFO, { ...CAN, versionNegotiation: { mode: era } }),
    asked: "elicitation/create",
    revision: (client) => client.getNegotiatedProtocolVersion(),
    StdioClientTransport,
    StreamableHTTPClientTransport,
  };
}

const sdk = { 1: first, 2: second }[version]();

function transportTo(target) {
  if (!target.url) return new sdk.StdioClientTransport({ ...target, stderr: "ignore" });
  const headers = { Authorization: `Bearer ${target.token}` };
  return new sdk.StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers } });
}

async function visit(target) {
  const questions = [];
  const client = sdk.client(target.era);
  client.setRequestHandler(sdk.asked, async (request) => {
    questions.push(request.params.message);
    return { action: "accept", content: { name: "Ann" } };
  });
  const transport = transportTo(target);
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (revision) => {
    transport.agreed = revision;
    told?.(revision);
  };
  await client.connect(transport);
  try {
    const call = async (name, given) => client.callTool({ name, arguments: given });
    const run = async (server) => (await call("execute_tool", { server, tool: "name", arguments: {} })).structuredContent;
    for (const server of ["old", "new"]) await call("list_tools", { server }); // they are read by then
    const found = JSON.parse((await call("search_tools", { query: "name" })).content[0].text);
    return {
      tools: (await client.listTools()).tools.map((tool) => tool.name),
      found: found.results.map((hit) => `${hit.server}:${hit.tool}`),
      answers: [await run("old"), await run("new")],
      asked: questions,
      revision: sdk.revision(client, transport),
    };
  } finally {
    await client.close();
  }
}

async function main() {
  const seen = [];
  for (const target of JSON.parse(targets)) seen.push(await visit(target));
  console.log(JSON.stringify(seen));
}

main();

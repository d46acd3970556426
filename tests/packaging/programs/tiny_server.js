#!/usr/bin/env node
// A server without dependencies, for `npx` to start.
const tools = [{ name: "tick", description: "Say tick.", inputSchema: { type: "object" } }];
const results = {
  initialize: {
    protocolVersion: "2025-06-18",
    capabilities: { tools: {} },
    serverInfo: { name: "tiny", version: "1" },
  },
  "tools/list": { tools },
};
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const told = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no such method" } };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...told }) + "\n");
  });

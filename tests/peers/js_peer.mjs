// A peer of another make: js-libp2p. It signs its card, has one tool, and asks its peer whatever it is told to on standard input.
import { createInterface } from 'node:readline'

if (!Promise.withResolvers) {
  Promise.withResolvers = function () {
    let resolve, reject
    const promise = new Promise((one, other) => { resolve = one; reject = other })
    return { promise, resolve, reject }
  }
}
const { createLibp2p } = await import('libp2p')
const { tcp } = await import('@libp2p/tcp')
const { noise } = await import('@chainsafe/libp2p-noise')
const { yamux } = await import('@chainsafe/libp2p-yamux')
const { generateKeyPair } = await import('@libp2p/crypto/keys')
const { multiaddr } = await import('@multiformats/multiaddr')

const privateKey = await generateKeyPair('Ed25519')
const node = await createLibp2p({
  privateKey,
  addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()]
})
const peerId = node.peerId.toString()

const line = (value) => new TextEncoder().encode(JSON.stringify(value) + '\n')
const say = (value) => console.log(JSON.stringify(value))

async function firstLine (stream) {
  let text = ''
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk.subarray())
    if (text.includes('\n')) return JSON.parse(text.slice(0, text.indexOf('\n')))
  }
  throw new Error('the stream ended early')
}

// JSON written the one way: members sorted, no blanks.
function canonical (value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.keys(value).sort().map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`
}
const base64 = (data) => Buffer.from(data).toString('base64url')

const parameters = { type: 'object', properties: { text: { type: 'string' } } }
async function card () {
  const told = {
    name: 'js',
    version: '1.0',
    peerId,
    capabilities: ['mcp'],
    tools: [{ name: 'shout', description: 'Shout a text.', parameters }],
    timestamp: Math.floor(Date.now() / 1000)
  }
  const head = base64(canonical({ alg: 'EdDSA', typ: 'agent-card+jws', kid: peerId }))
  const signature = await privateKey.sign(new TextEncoder().encode(`${head}.${base64(canonical(told))}`))
  return { ...told, signatures: [{ protected: head, signature: base64(signature) }] }
}

function answer ({ id, method, params }) {
  if (method === 'tools/list') {
    return { id, result: { tools: [{ name: 'shout', description: 'Shout a text.', inputSchema: parameters }] } }
  }
  if (method === 'tools/call') {
    return { id, result: { content: [{ type: 'text', text: params.arguments.text.toUpperCase() }] } }
  }
  return { id, error: { code: -32601, message: 'not here' } }
}

await node.handle('/praxis/card/1.0.0', async (incoming) => {
  const stream = incoming.stream ?? incoming
  stream.send(line(await card()))
  await firstLine(stream)
})
await node.handle('/praxis/mcp/1.0.0', async (incoming) => {
  const stream = incoming.stream ?? incoming
  stream.send(line(answer(await firstLine(stream))))
})
say(node.getMultiaddrs()[0].toString())

for await (const order of createInterface({ input: process.stdin })) {
  const { protocol, question } = JSON.parse(order)
  const stream = await node.dialProtocol(multiaddr(process.argv[2]), protocol)
  stream.send(line(question ?? await card()))
  say(await firstLine(stream))
}
process.exit(0)

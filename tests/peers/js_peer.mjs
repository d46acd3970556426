// A peer of another make: js-libp2p. Gives its card to whoever asks, and asks the one it was told of for card and tools.
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
const { multiaddr } = await import('@multiformats/multiaddr')

const encode = (value) => new TextEncoder().encode(JSON.stringify(value) + '\n')
const say = (kind, value) => console.log(JSON.stringify({ kind, value }))

async function firstLine (stream) {
  let text = ''
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk.subarray())
    if (text.includes('\n')) return JSON.parse(text.slice(0, text.indexOf('\n')))
  }
  throw new Error('the stream ended early')
}

const node = await createLibp2p({
  addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()]
})
await node.handle('/praxis/card/1.0.0', async (incoming) => {
  const stream = incoming.stream ?? incoming
  stream.send(encode({ name: 'js' }))
  say('heard', await firstLine(stream))
})
say('address', node.getMultiaddrs()[0].toString())

async function ask (protocol, question) {
  const stream = await node.dialProtocol(multiaddr(process.argv[2]), protocol)
  stream.send(encode(question))
  return await firstLine(stream)
}
say('card', await ask('/praxis/card/1.0.0', { name: 'js' }))
say('tools', await ask('/praxis/mcp/1.0.0', { id: 1, method: 'tools/list', params: {} }))
process.stdin.resume()
process.stdin.on('end', () => process.exit(0))

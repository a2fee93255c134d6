import { once } from 'node:events'
import { request as openRequest, type RequestListener, type ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { openConfiguredGateway } from '../../fixtures/configured-gateway.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'

/** A node whose responses are sent by the test if `isPending`. */
async function openNode(t: Test, name: string, isPending: boolean) {
  const node = { count: 0, closed: 0, port: 0, pending: [] as ServerResponse[] }
  const handle: RequestListener = (_request, reply) => {
    node.count++
    reply.on('close', () => {
      if (!reply.writableFinished) node.closed++
    })
    if (isPending) node.pending.push(reply)
    else reply.end(name)
  }
  node.port = await listenHttp(t, handle)
  return node
}

async function open(t: Test, hedge = 'hedge: { after: 20ms }', isSecondPending = false) {
  const slow = await openNode(t, 'slow', true)
  const fast = await openNode(t, 'fast', isSecondPending)
  const nodes = `'127.0.0.1:${slow.port};1000', '127.0.0.1:${fast.port};1'`
  const gateway = await openConfiguredGateway(
    t,
    `services: { shop: { nodes: [${nodes}], ${hedge} } }`,
  )
  return { ...gateway, slow, fast }
}

t.test('a slow request is sent to another node, whose response cancels the first', async (t) => {
  const { send, slow, fast } = await open(t)
  t.match(await send('GET', '/shop/'), { status: 200, text: 'fast' })
  await waitUntil(() => slow.closed === 1)
  t.match([slow.count, fast.count], [1, 1])
})

t.test('the first attempt may complete first, and the second is cancelled', async (t) => {
  const { send, slow, fast } = await open(t, 'hedge: { after: 20ms }', true)
  const reply = send('GET', '/shop/')
  await waitUntil(() => fast.count === 1)
  slow.pending[0]!.end('slow')
  t.match(await reply, { status: 200, text: 'slow' })
  await waitUntil(() => fast.closed === 1)
})

t.test(
  'a repeatable error response, a malformed response or a lost connection does not affect the other attempt',
  async (t) => {
    for (const fail of [
      (reply: ServerResponse) => reply.writeHead(503).end(),
      (reply: ServerResponse) => reply.socket!.destroy(),
      (reply: ServerResponse) => reply.socket!.end('HTTP/1.1 999 Malformed\r\n\r\n'),
    ]) {
      const { send, slow, fast } = await open(t, 'hedge: { after: 20ms }', true)
      const reply = send('GET', '/shop/')
      await waitUntil(() => fast.count === 1)
      fail(slow.pending[0]!)
      await waitUntil(() => slow.pending[0]!.closed)
      fast.pending[0]!.end('fast')
      t.match(await reply, { status: 200, text: 'fast' })
      t.match([slow.count, fast.count], [1, 1])
    }
  },
)

t.test('a client disconnect cancels both attempts', async (t) => {
  const { port, slow, fast } = await open(t, 'hedge: { after: 20ms }', true)
  const call = openRequest({ port, path: '/shop/' }).on('error', () => {})
  call.end()
  await waitUntil(() => fast.count === 1)
  call.destroy()
  await waitUntil(() => slow.closed === 1 && fast.closed === 1)
  t.pass('both connections are closed')
})

t.test('a POST is hedged only with Idempotency-Key, with its body', async (t) => {
  const { send, slow, fast } = await open(t)
  const post = send('POST', '/shop/', {}, 'body')
  await waitUntil(() => slow.count === 1)
  await send('GET', '/shop/')
  t.equal(fast.count, 1, 'the GET that was sent later')
  slow.pending[0]!.end('slow')
  t.match(await post, { text: 'slow' })
  const reply = await send('POST', '/shop/', { 'idempotency-key': '"1"' }, 'body')
  t.match(reply, { status: 200, text: 'fast' })
})

t.test('a request is hedged when its body is complete', async (t) => {
  const { port, send, slow, fast } = await open(t, 'hedge: { after: 1ms }')
  const headers = { 'idempotency-key': '"1"', 'transfer-encoding': 'chunked' }
  const call = openRequest({ port, method: 'POST', path: '/shop/', headers, agent: false })
  call.write('one')
  await waitUntil(() => slow.count === 1)
  await send('GET', '/shop/')
  t.equal(fast.count, 1, 'the GET that was sent later')
  call.end('two')
  const [reply] = await once(call, 'response')
  reply.resume()
  t.equal(fast.count, 2)
})

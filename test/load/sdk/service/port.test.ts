import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Channel } from '../../../../core/rpc/ws/channel.ts'
import { WS_MESSAGE_MAX_BYTES } from '../../../../core/rpc/ws/frames.ts'
import { createDispatcher } from '../../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { openServicePort, type ServicePortOptions } from '../../../../sdk/service/port.ts'
import { findClosedPort } from '../../../fixtures/ports.ts'
import { openRawBackend, waitUntil } from '../../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../../fixtures/rpc.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'

const address = { host: '127.0.0.1', port: 0 }

async function open(t: Test, options: Partial<ServicePortOptions> = {}) {
  const { log } = createQuietLog()
  let release: () => void = () => {}
  const dispatcher = createDispatcher({
    service: 'greeter',
    log,
    handlers: {
      Helloworld: {
        call: endpoint({ handle: (request) => ({ request }) }),
        wait: endpoint({
          handle: () =>
            new Promise<object>((resolve) => {
              release = () => resolve({ late: true })
            }),
        }),
        large: endpoint({ handle: () => ({ text: 'x'.repeat(4_000_000) }) }),
      },
    },
  })
  const port = await openServicePort({
    address,
    id: dispatcher.service,
    dispatch: dispatcher.dispatch,
    log,
    limits: {},
    listener: undefined,
    origins: [],
    ...options,
  })
  t.teardown(() => port.close())
  const channel = new Channel({ host: '127.0.0.1', port: port.port })
  t.teardown(() => channel.close())
  const send = (name: string, body = '{}'): RecordedCall => {
    const call = new RecordedCall({ service: 'greeter', endpoint: `Helloworld.${name}`, body })
    channel.call(call)
    return call
  }
  const url = `http://127.0.0.1:${port.port}`
  return { port, dispatcher, channel, send, url, release: () => release() }
}

/** Status of an upgrade, 101 on success. */
async function upgrade(port: number, path: string, protocols: string[], origin?: string) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, protocols, {
    ...(origin !== undefined && { origin }),
  })
  const status = await new Promise<number>((resolve) => {
    socket.on('upgrade', () => resolve(101))
    socket.on('unexpected-response', (_request, reply) => resolve(reply.statusCode!))
    socket.on('error', () => {})
  })
  socket.terminate()
  return status
}

t.test('uws: rejects a WebSocket beyond the limit of its client with 503', async (t) => {
  const { port } = await open(t, { listener: 'uws', limits: { maxClientSockets: 1 } })
  const first = new WebSocket(`ws://127.0.0.1:${port.port}/.mx/rpc`, ['mx.rpc.1'])
  t.teardown(() => first.terminate())
  await once(first, 'open')
  t.equal(await upgrade(port.port, '/.mx/rpc', ['mx.rpc.1']), 503)
})

for (const listener of ['uws', 'node'] as const) {
  t.test(
    `${listener}: an unfinished message longer than the limit closes the WebSocket`,
    async (t) => {
      const { port } = await open(t, { listener })
      const socket = new WebSocket(`ws://127.0.0.1:${port.port}/.mx/rpc`, ['mx.rpc.1'])
      t.teardown(() => socket.terminate())
      await once(socket, 'open')
      socket.on('error', () => {})
      const ended = Promise.race([
        once(socket, 'close').then(() => 'closed'),
        once(socket, 'pong').then(() => 'open'),
      ])
      socket.send(Buffer.alloc(3 * WS_MESSAGE_MAX_BYTES), { fin: false })
      socket.ping()
      t.equal(await ended, 'closed')
    },
  )

  t.test(`${listener}: serves the WebSocket and the HTTP transport on one port`, async (t) => {
    const { port, send, url } = await open(t, { listener })
    t.equal(port.server, listener)
    const call = send('Call', '{"a":1}')
    await waitUntil(() => call.events.length === 1)
    t.strictSame(call.events, ['reply "" {"request":{"a":1}}'])
    const reply = await fetch(url, {
      method: 'POST',
      body: '{"a":1}',
      headers: {
        'mx-service': 'go.mx.api.greeter',
        'mx-endpoint': 'Helloworld.Call',
        'content-type': 'application/json',
      },
    })
    t.equal(reply.status, 200)
    t.strictSame(await reply.json(), { request: { a: 1 } })
  })

  t.test(
    `${listener}: rejects requests that are not calls, and pages of other origins`,
    async (t) => {
      const { port, url } = await open(t, { listener, origins: ['https://app.example.com'] })
      const cases: [string, string[], number, string?][] = [
        ['/.mx/rpc', ['mx.rpc.1'], 101],
        ['/.mx/rpc', ['other', 'mx.rpc.1'], 101],
        ['/.mx/rpc', ['mx.rpc.1'], 101, 'https://app.example.com'],
        ['/.mx/rpc', [], 426],
        ['/.mx/rpc', ['mx.rpc.2'], 426],
        ['/', ['mx.rpc.1'], 404],
        ['/.mx/rpc/', ['mx.rpc.1'], 404],
        ['/.mx/rpc', ['mx.rpc.1'], 403, 'https://evil.example.com'],
        ['/.mx/rpc', ['mx.rpc.1'], 403, `http://127.0.0.1:${port.port}`],
      ]
      for (const [path, protocols, status, origin] of cases) {
        const title = `${path} ${protocols} ${origin}`
        t.equal(await upgrade(port.port, path, protocols, origin), status, title)
      }
      const plain = await fetch(`${url}/.mx/rpc`)
      t.equal(plain.status, 426)
      t.equal(plain.headers.get('upgrade'), 'websocket')
      t.match(await plain.json(), { Id: 'greeter', Code: 426 })
      t.equal((await fetch(url)).status, 405)
      t.match(await (await fetch(url, { method: 'POST' })).json(), { Id: 'greeter', Code: 400 })
    },
  )

  t.test(
    `${listener}: denies calls over the HTTP transport to pages of unknown origins`,
    async (t) => {
      const { url, dispatcher } = await open(t, { listener, origins: ['https://app.example.com'] })
      const post = (headers: Record<string, string>) =>
        fetch(url, {
          method: 'POST',
          body: '{}',
          headers: {
            'mx-service': 'greeter',
            'mx-endpoint': 'Helloworld.Call',
            'mx-account': '{"id":"admin"}',
            'content-type': 'application/json',
            accept: 'application/problem+json',
            ...headers,
          },
        })
      // As after DNS rebinding of the page's host, which is the same origin for the browser.
      for (const origin of ['https://evil.example.com', 'null', '', url]) {
        const rejected = await post({ origin })
        t.equal(rejected.status, 403, origin)
        t.strictSame(await rejected.json(), {
          Id: 'greeter',
          Code: 403,
          Detail: 'calls from this origin are not allowed',
          Status: 'Forbidden',
        })
      }
      t.equal(dispatcher.traces.list().length, 0)
      t.equal((await post({ origin: 'https://app.example.com' })).status, 200)
      t.equal((await post({})).status, 200)
    },
  )

  t.test(`${listener}: a drain finishes calls in flight and rejects new ones`, async (t) => {
    const { port, send, url, release, channel } = await open(t, { listener })
    const pending = send('Wait')
    await waitUntil(() => channel.connected)
    // Idle keep-alive connections do not delay the drain.
    await (await fetch(url)).text()
    const call = send('Call')
    await waitUntil(() => call.events.length === 1)
    let drained = false
    const draining = port.drain().then(() => {
      drained = true
    })
    // The open connection serves at most one more request.
    await fetch(url).catch(() => {})
    await t.rejects(fetch(url), 'a new connection')
    const late = send('Call')
    await waitUntil(() => late.events.length === 1)
    t.match(late.lost, { kind: /connect|unsent/ })
    t.notOk(drained)
    t.strictSame(pending.events, [])
    release()
    await draining
    await waitUntil(() => pending.events.length === 1)
    t.strictSame(pending.events, ['reply "" {"late":true}'])
  })

  t.test(
    `${listener}: the last responses before a close are complete over both transports`,
    async (t) => {
      const { port, send, url } = await open(t, { listener })
      const first = send('Call')
      await waitUntil(() => first.events.length === 1)
      const calls = Array.from({ length: 3 }, () => send('Large'))
      const reply = await fetch(url, {
        method: 'POST',
        headers: { 'mx-service': 'greeter', 'mx-endpoint': 'Helloworld.Large' },
      })
      await waitUntil(() => calls.some(({ events }) => events.length > 0))
      const [text] = await Promise.all([reply.text(), port.drain().then(() => port.close())])
      t.equal(text.length, 4_000_011)
      await waitUntil(() => calls.every(({ events }) => events.length > 0))
      for (const { events } of calls) t.equal(events[0]?.length, 9 + 4_000_011)
    },
  )

  t.test(`${listener}: reports a port in use with a one-line message`, async (t) => {
    const { port } = await openRawBackend(t)
    await t.rejects(open(t, { listener, address: { host: '127.0.0.1', port } }), {
      message: `cannot listen on 127.0.0.1:${port}: the port is already in use`,
    })
  })

  t.test(`${listener}: connections beyond the limit are closed`, async (t) => {
    const { port } = await open(t, { listener, limits: { maxConnections: 1 } })
    const first = new WebSocket(`ws://127.0.0.1:${port.port}/.mx/rpc`, ['mx.rpc.1'])
    await once(first, 'open')
    const second = new WebSocket(`ws://127.0.0.1:${port.port}/.mx/rpc`, ['mx.rpc.1'])
    await t.rejects(once(second, 'open'))
    first.terminate()
  })
}

t.test('uses the uws listener by default where it is available', async (t) => {
  const { port } = await open(t)
  t.equal(port.server, 'uws')
})

t.test('rejects a call beyond maxCalls of its connection with 503', async (t) => {
  const { send } = await open(t, { limits: { maxCalls: 1 } })
  const [first, second] = [send('Wait'), send('Wait')]
  await waitUntil(() => second!.events.length === 1)
  t.match(second!.error, { code: 503, message: 'too many calls in flight' })
  t.strictSame(first!.events, [])
})

t.test('an invalid origin throws a TypeError', async (t) => {
  const port = await findClosedPort()
  await t.rejects(
    open(t, { origins: ['example.com'], address: { host: '127.0.0.1', port } }),
    TypeError,
  )
})

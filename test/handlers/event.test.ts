import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { createMemoryBroker } from '../../adapters/broker/memory.ts'
import { createMemoryEvents } from '../../adapters/events/memory.ts'
import { createStaticRegistry } from '../../adapters/registry/static.ts'
import type { ApiEvent } from '../../core/api/messages.ts'
import type { Plugin } from '../../core/chain.ts'
import type { Broker, Message } from '../../core/contracts/broker.ts'
import type { CreateListener } from '../../core/listener/listener.ts'
import { createUwsListener } from '../../core/listener/uws/listener.ts'
import { ServiceCache } from '../../core/registry/service-cache.ts'
import { createRouter } from '../../core/router.ts'
import { type CheckedBroker, createBroker } from '../../domain/broker/broker.ts'
import { createEvents, type Events, type EventsOptions } from '../../domain/events/events.ts'
import event from '../../handlers/event.ts'
import resolver from '../../resolvers/event.ts'
import { LISTENERS } from '../fixtures/gateway.ts'
import { type OpenListener, openListener } from '../fixtures/open-listener.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import { createPools } from '../fixtures/services.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

interface Open extends OpenListener {
  readonly broker: CheckedBroker
  readonly events: Events
  readonly origin: string
  /** The next message of a topic. The subscription is active when it returns. */
  readonly next: (topic: string) => Promise<Message>
}

interface OpenOptions {
  readonly create?: CreateListener
  /** Replaces functions of the memory broker. */
  readonly adapter?: Partial<Broker>
  readonly maxBodyBytes?: number
  readonly plugins?: readonly Plugin[]
  readonly stream?: EventsOptions
  /** Events are stored and not published. */
  readonly streamOnly?: boolean
}

/** A gateway with the `event` handler and a broker in this process. */
async function open(t: Test, options: OpenOptions = {}): Promise<Open> {
  const { create = createUwsListener, adapter = {}, plugins = [], stream, ...more } = options
  const { streamOnly = false, ...limits } = more
  const events = createEvents(createMemoryEvents(), stream)
  const broker = createBroker({ ...createMemoryBroker(), ...adapter }, limits)
  const { createPool } = createPools()
  const directory = new ServiceCache(createStaticRegistry([]), { upstream: () => ({ createPool }) })
  const routed: Plugin = {
    name: 'test-route',
    onRequest: (x) => {
      x.namespace = 'go.mx.api'
    },
    onRoute: createRouter({ resolver, directory }),
  }
  const { handle } = event({
    ...(!streamOnly && { broker }),
    ...(stream !== undefined && { stream: events }),
    nowMs: () => 1_700_000_000_999,
  })
  const listening = await openListener(t, create, handle, {}, [...plugins, routed])
  t.teardown(async () => {
    directory.close()
    await broker.close?.()
    await events.close()
  })
  const next = (topic: string): Promise<Message> =>
    new Promise((resolve) => {
      void broker.subscribe(topic, resolve)
    })
  return { ...listening, broker, events, origin: `http://127.0.0.1:${listening.port}`, next }
}

function getEvent({ body }: Message): ApiEvent {
  return JSON.parse(Buffer.from(body).toString())
}

for (const [name, create] of Object.entries(LISTENERS)) {
  t.test(`${name}: publishes an HTTP request on /<topic>/<event> to the message bus`, async (t) => {
    const { origin, next } = await open(t, { create })
    const message = next('go.mx.api.orders')
    const reply = await fetch(`${origin}/orders/created?q=1`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-trace': 'a', 'mx-namespace': 'staging' },
      body: '{"order":17}',
    })
    t.equal(reply.status, 200)
    t.equal(reply.headers.get('content-type'), 'application/json')
    const result = (await reply.json()) as { id: string }
    t.same(Object.keys(result), ['id'])
    t.match(result.id, UUID)
    const received = await message
    t.match(received.headers, {
      'content-type': 'application/json',
      'mx-topic': 'go.mx.api.orders',
      'x-trace': 'a',
      'mx-namespace': 'staging',
    })
    const { header, ...published } = getEvent(received)
    t.strictSame(published, {
      name: 'created',
      id: result.id,
      timestamp: 1_700_000_000,
      data: '{"order":17}',
    })
    t.same(header['Content-Type'], { key: 'Content-Type', values: ['application/json'] })
    t.same(header['X-Trace'], { key: 'X-Trace', values: ['a'] })
    t.same(header['Host'], { key: 'Host', values: [origin.slice('http://'.length)] })
  })

  t.test(`${name}: the response is not cacheable for any method`, async (t) => {
    const { origin } = await open(t, { create })
    for (const method of ['GET', 'POST']) {
      const reply = await fetch(`${origin}/orders/x`, { method })
      t.strictSame([reply.status, reply.headers.get('cache-control')], [200, 'no-store'], method)
    }
  })

  t.test(`${name}: accepts any method, content type and body`, async (t) => {
    const { port, next } = await open(t, { create })
    const send = (method: string, body: Uint8Array, chunked: boolean): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = chunked
          ? { 'transfer-encoding': 'chunked' }
          : { 'content-length': body.length }
        const options = { port, host: '127.0.0.1', path: '/orders/x', method, headers }
        const request = httpRequest(options, (reply) => {
          reply.resume()
          reply.on('end', () => resolve(reply.statusCode ?? 0))
        })
        request.on('error', reject)
        request.end(body)
      })
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i)
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'REPORT']) {
      for (const chunked of [false, true]) {
        const message = next('go.mx.api.orders')
        t.equal(await send(method, bytes, chunked), 200, method)
        const { data, encoding } = getEvent(await message)
        t.equal(encoding, 'base64')
        t.same([...Buffer.from(data, 'base64')], [...bytes], `${method} ${chunked}`)
      }
      const message = next('go.mx.api.orders')
      t.equal(await send(method, new Uint8Array(0), false), 200, `${method}, no body`)
      t.equal(getEvent(await message).data, '')
    }
  })
}

t.test('the data of a GET is the query as JSON', async (t) => {
  const { origin, next } = await open(t)
  const rows: [string, unknown][] = [
    ['', {}],
    ['?a=1&b=x+y&a=2&c', { a: ['1', '2'], b: ['x y'], c: [''] }],
    ['?n[m]=1&o.p=%C3%A9', { 'n[m]': ['1'], 'o.p': ['é'] }],
  ]
  for (const method of ['GET', 'HEAD']) {
    for (const [query, data] of rows) {
      const message = next('go.mx.api.orders')
      const reply = await fetch(`${origin}/orders/seen${query}`, { method })
      t.equal(reply.status, 200)
      await reply.text()
      t.strictSame(JSON.parse(getEvent(await message).data), data, `${method} ${query}`)
    }
  }
})

t.test('the path contains topic and event name', async (t) => {
  const { origin, next } = await open(t)
  for (const [path, topic, name] of [
    ['/foo', 'go.mx.api.foo', 'event'],
    ['/foo/bar', 'go.mx.api.foo', 'bar'],
    ['/foo/bar/baz', 'go.mx.api.foo', 'bar.baz'],
    ['/v1/foo/bar', 'go.mx.api.v1.foo', 'bar'],
  ] as const) {
    const message = next(topic)
    const reply = await fetch(`${origin}${path}`, { method: 'POST', body: 'x' })
    t.equal(reply.status, 200, path)
    const { id } = (await reply.json()) as { id: string }
    t.match(getEvent(await message), { id, name })
  }
})

t.test('returns 404 for a path without a topic', async (t) => {
  const { origin } = await open(t)
  for (const path of ['/', '/__proto__/x', '/a*/b', '/foo/%20']) {
    const reply = await fetch(origin + path, { method: 'POST', body: 'x' })
    t.equal(reply.status, 404, path)
    t.match(await reply.json(), { Id: 'go.mx.api', Code: 404, Status: 'Not Found' })
  }
})

t.test('succeeds without subscribers: fire-and-forget', async (t) => {
  const { origin } = await open(t)
  const ids = new Set<string>()
  for (let i = 0; i < 20; i++) {
    const reply = await fetch(`${origin}/orders/created`)
    t.equal(reply.status, 200)
    ids.add(((await reply.json()) as { id: string }).id)
  }
  t.equal(ids.size, 20, 'every event has its own id')
})

t.test('removes credentials of the client', async (t) => {
  const { origin, next } = await open(t)
  const message = next('go.mx.api.orders')
  const credentials = ['authorization', 'cookie', 'x-api-key', 'x-auth-token']
  const secrets = Object.fromEntries(credentials.map((name) => [name, `${name}=hunter2`]))
  const reply = await fetch(`${origin}/orders/created`, { headers: { ...secrets, 'x-a': '1' } })
  t.equal(reply.status, 200)
  const received = await message
  t.match(received.headers, { 'x-a': '1' })
  t.match(getEvent(received).header, { 'X-A': { values: ['1'] } })
  t.notMatch(JSON.stringify(received.headers), 'hunter2')
  t.notMatch(Buffer.from(received.body).toString(), 'hunter2')
})

t.test('removes internal mx-* headers of clients', async (t) => {
  for (const create of Object.values(LISTENERS)) {
    const { port, next } = await open(t, { create })
    const message = next('go.mx.api.orders')
    const fields = 'mx-account: {"id":"admin"}\r\nMx-Topic: evil\r\nMx-Service: x'
    const client = new RawClient(port).send(
      `GET /orders/created HTTP/1.1\r\nhost: a\r\n${fields}\r\nconnection: x-hop\r\nx-hop: 1\r\n\r\n`,
    )
    t.teardown(() => client.destroy())
    await client.replies(1)
    const { headers, body } = await message
    t.same(
      Object.entries(headers).filter(([name]) => name.startsWith('mx-')),
      [['mx-topic', 'go.mx.api.orders']],
    )
    t.notOk('x-hop' in headers, 'no connection headers')
    t.notMatch(Buffer.from(body).toString(), /mx-|X-Hop/i)
  }
})

t.test('removes internal headers set by plugins', async (t) => {
  const account: Plugin = {
    name: 'test-account',
    onRequest: (x) => x.headers.set('mx-account', '{"id":"john"}'),
  }
  const { origin, next } = await open(t, { plugins: [account] })
  const message = next('go.mx.api.orders')
  await (await fetch(`${origin}/orders/created`)).text()
  t.notOk('mx-account' in (await message).headers)
})

t.test('joins repeated headers', async (t) => {
  const { port, next } = await open(t)
  const message = next('go.mx.api.orders')
  const client = new RawClient(port).send(
    'GET /orders/created HTTP/1.1\r\nhost: a\r\nx-a: 1\r\nX-A: 2\r\n\r\n',
  )
  t.teardown(() => client.destroy())
  await client.replies(1)
  const received = await message
  t.equal(received.headers['x-a'], '1, 2')
  t.same(getEvent(received).header['X-A'], { key: 'X-A', values: ['1', '2'] })
})

t.test('returns 413 for a body above the limit of the broker', async (t) => {
  const { origin, next } = await open(t, { maxBodyBytes: 2000 })
  const post = (length: number): Promise<Response> =>
    fetch(`${origin}/orders/created`, { method: 'POST', body: 'x'.repeat(length) })
  for (const length of [2001, 1999]) {
    const reply = await post(length)
    t.equal(reply.status, 413, `${length} bytes: the body alone, or with the envelope`)
    t.match(await reply.json(), { Code: 413, Status: 'Payload Too Large' })
  }
  const message = next('go.mx.api.orders')
  t.equal((await post(1000)).status, 200)
  t.equal(getEvent(await message).data.length, 1000)
})

t.test('returns 400 for a malformed query', async (t) => {
  const { origin } = await open(t)
  for (const query of ['a=%ff', '__proto__=1']) {
    const reply = await fetch(`${origin}/orders/created?${query}`)
    t.equal(reply.status, 400, query)
    t.match(await reply.json(), { Id: 'go.mx.api.orders', Code: 400 })
  }
})

t.test('returns 503 if the broker rejects all messages', async (t) => {
  const { origin, broker } = await open(t)
  await broker.close?.()
  for (const init of [{}, { method: 'POST', body: 'x' }]) {
    const reply = await fetch(`${origin}/orders/created`, init)
    t.equal(reply.status, 503)
    t.strictSame(await reply.json(), {
      Id: 'broker',
      Code: 503,
      Detail: 'the broker is closed',
      Status: 'Service Unavailable',
    })
  }
})

t.test('returns 503 during a broker outage and logs the reason', async (t) => {
  const fault = new Error('connect ECONNREFUSED 10.0.0.7:4222')
  const publishes: Broker['publish'][] = [
    () => Promise.reject(fault),
    () => {
      throw fault
    },
  ]
  for (const publish of publishes) {
    const { origin, served, faults } = await open(t, { adapter: { publish } })
    const reply = await fetch(`${origin}/orders/created`)
    t.equal(reply.status, 503)
    t.strictSame(await reply.json(), {
      Id: 'go.mx.api.orders',
      Code: 503,
      Detail: 'cannot publish to go.mx.api.orders: the broker does not accept messages',
      Status: 'Service Unavailable',
    })
    t.equal(served[0]?.failure, fault.message)
    t.same(faults, [])
  }
})

t.test('responds once the broker has accepted the event', async (t) => {
  let accept: () => void = () => {}
  const response = new Promise<void>((resolve) => {
    accept = resolve
  })
  let confirm: () => void = () => {}
  const publish = (): Promise<void> => {
    accept()
    return new Promise((resolve) => {
      confirm = resolve
    })
  }
  const { origin, served } = await open(t, { adapter: { publish } })
  const reply = fetch(`${origin}/orders/created`)
  await response
  t.notOk(served[0]?.answered)
  confirm()
  t.equal((await reply).status, 200)
})

t.test('publishes nothing if the client disconnects before the end of the body', async (t) => {
  const { port, broker, next, gateway } = await open(t)
  const message = next('go.mx.api.orders')
  const client = new RawClient(port).send(
    'POST /orders/created HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf',
  )
  while (gateway.inFlight === 0) await new Promise((resolve) => setImmediate(resolve))
  client.destroy()
  await gateway.idle()
  await broker.publish('go.mx.api.orders', { headers: {}, body: Buffer.from('marker') })
  t.equal(Buffer.from((await message).body).toString(), 'marker')
})

t.test(
  'stores an event with the published id, in addition to publishing it or instead',
  async (t) => {
    for (const streamOnly of [false, true]) {
      const { origin, events, next } = await open(t, { stream: {}, streamOnly })
      const message = next('go.mx.api.orders')
      const reply = await fetch(`${origin}/orders/created`, {
        method: 'POST',
        body: '{"order":17}',
        headers: { authorization: 'Bearer secret', cookie: 'session=secret', 'x-a': '1' },
      })
      t.equal(reply.status, 200)
      const { id } = (await reply.json()) as { id: string }
      const topic = { namespace: 'mx', topic: 'go.mx.api.orders' }
      const { events: retained } = await events.read(topic)
      t.equal(retained.length, 1)
      t.equal(retained[0]!.id, id)
      t.strictSame(retained[0]!.metadata, { 'content-type': 'application/json', event: 'created' })
      const { header, ...rest } = JSON.parse(
        Buffer.from(retained[0]!.payload).toString(),
      ) as ApiEvent
      t.strictSame(rest, { name: 'created', id, timestamp: 1_700_000_000, data: '{"order":17}' })
      t.same(header['X-A'], { key: 'X-A', values: ['1'] })
      t.notOk('Authorization' in header || 'Cookie' in header, 'credentials are not stored')
      if (!streamOnly) t.equal(getEvent(await message).id, id)
    }
  },
)

t.test('stores events in the namespace of the request', async (t) => {
  const { origin, events } = await open(t, { stream: {}, streamOnly: true })
  const publish = (namespace: string) =>
    fetch(`${origin}/orders/created`, { headers: { 'mx-namespace': namespace } })
  t.equal((await publish('staging')).status, 200)
  t.match(await events.listTopics(), [{ namespace: 'staging', topic: 'go.mx.api.orders' }])
  const rejected = await publish('a b')
  t.equal(rejected.status, 400)
  t.match(await rejected.json(), { Id: 'events', Detail: /^namespace must be letters/ })
})

t.test('does not publish an event that could not be stored, and returns the error', async (t) => {
  const { origin, broker, events } = await open(t, { stream: { maxPayloadBytes: 2000 } })
  let published = 0
  await broker.subscribe('go.mx.api.orders', () => {
    published++
  })
  const post = (length: number) =>
    fetch(`${origin}/orders/created`, { method: 'POST', body: 'x'.repeat(length) })
  for (const length of [2001, 1999]) {
    const reply = await post(length)
    t.equal(reply.status, 413, `${length} bytes`)
  }
  await events.close()
  const reply = await post(1)
  t.equal(reply.status, 503)
  t.match(await reply.json(), { Id: 'events', Detail: 'the events are closed' })
  t.equal(published, 0)
})

import t, { type Test } from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import { RawJson } from '../../../core/request/json/written-json.ts'
import type { Dispatch } from '../../../core/rpc/call.ts'
import { deadlines } from '../../../core/rpc/deadlines.ts'
import { WINDOW_BYTES } from '../../../core/rpc/ws/frames.ts'
import { Type } from '../../../core/schema.ts'
import type { Client } from '../../../sdk/client/client.ts'
import { InProcessCaller, toLocalValue } from '../../../sdk/client/in-process.ts'
import { conflict } from '../../../sdk/errors.ts'
import { Bytes, Int64 } from '../../../sdk/schema/schema-types.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { type Endpoints, endpoint } from '../../../sdk/service/endpoint.ts'
import { testCalls } from '../../contracts/calls.ts'
import { keepAlive } from '../../fixtures/keep-alive.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../fixtures/rpc.ts'
import { openProxy, toNode } from '../../fixtures/rpc-proxy.ts'
import {
  createQuietLog,
  createService,
  openClient,
  openRegistry,
} from '../../fixtures/sdk-services.ts'
import { collectUnhandled } from '../../fixtures/unhandled.ts'

/** Clients that call one service in process, over a socket, and through a proxy. */
async function openAll(t: Test, endpoints: Endpoints): Promise<Client[]> {
  const registry = openRegistry(t)
  const service = createService(t, { registry }).handle('A', endpoints)
  const address = await service.start()
  const proxy = await openProxy(t, { greeter: [toNode(Number(address.split(':')[1]))] })
  return [
    openClient(t, { registry, inProcess: true }),
    openClient(t, { registry }),
    openClient(t, { proxy: proxy.address }),
  ]
}

const call = (client: Client, name: string, request?: unknown, options = {}): Promise<unknown> =>
  client.call('greeter', `A.${name}`, request, options).catch((error) => error)

t.test(
  'a call in process returns the same result as over a socket and through a proxy',
  async (t) => {
    const Exact = Type.Object({ id: Int64(), data: Bytes(), size: Type.Integer({ default: 5 }) })
    const clients = await openAll(t, {
      echo: endpoint({ handle: (request) => request }),
      exact: endpoint({
        request: Exact,
        response: Type.Object({ kinds: Type.Array(Type.String()), id: Int64(), data: Bytes() }),
        handle: ({ id, data, size }) => ({
          kinds: [typeof id, data.constructor.name, String(size)],
          id,
          data,
        }),
      }),
      nothing: endpoint({ handle: () => {} }),
      odd: endpoint({
        handle: () => ({ big: 2n ** 60n, at: new Date(0), set: new Set([1]), nan: Number.NaN }),
      }),
      typed: endpoint({
        handle() {
          throw conflict('other', 'taken', { cause: new Error('secret'), headers: ['a', 'b'] })
        },
      }),
      fault: endpoint({
        handle() {
          throw new Error('secret')
        },
      }),
      misfit: endpoint({ response: Exact, handle: () => ({}) as never }),
      later: endpoint({ handle: async (request) => ({ request }) }),
      context: endpoint({
        handle(_request, ctx) {
          const fields = ctx.fields.filter((_, i) => ctx.fields[i - (i % 2)] !== 'mx-hops')
          return [ctx.service, ctx.endpoint, ctx.msLeft > 0, ...fields]
        },
      }),
    })
    const deep = JSON.parse('['.repeat(65) + ']'.repeat(65))
    const cases: [string, unknown?, object?][] = [
      ['Echo'],
      ['Echo', undefined],
      ['Echo', null],
      ['Echo', ''],
      ['Echo', 0],
      ['Echo', { a: [1, undefined, { b: 'ä' }], none: undefined, at: new Date(5), big: 5n }],
      ['Echo', JSON.parse('{"__proto__":{"a":1}}')],
      ['Echo', deep],
      ['Exact', { id: '9007199254740993', data: 'aGk=' }],
      ['Exact', { id: 5n, data: 'aGk=', size: 7 }],
      ['Exact', { id: 'x', data: 'aGk=' }],
      ['Exact', undefined],
      ['Nothing', { a: 1 }],
      ['Odd'],
      ['Typed'],
      ['Fault', {}, { retries: 0 }],
      ['Misfit', {}, { retries: 0 }],
      ['Later', [1]],
      ['Nope'],
      ['Context', {}, { metadata: { 'x-a': 'b' }, namespace: 'n' }],
    ]
    for (const [name, request, options] of cases) {
      const [local, remote, proxied] = await Promise.all(
        clients.map((client) => call(client, name, request, options)),
      )
      const title = `${name} ${typeof request === 'object' ? '' : request}`
      for (const other of [local, proxied]) {
        if (remote instanceof GatewayError && other instanceof GatewayError) {
          t.strictSame(other.toBody(), remote.toBody(), title)
          t.strictSame([other.cause, other.headers], [remote.cause, remote.headers], title)
        } else t.strictSame(other, remote, title)
      }
    }
  },
)

t.test('satisfies the caller contract', async (t) => {
  testCalls(t, {
    async open(t, dispatch) {
      const { log } = createQuietLog()
      const dispatcher = createDispatcher({ service: 'helloworld', log })
      // Dispatchers handle any error of an endpoint in the same way.
      const guarded: Dispatch = (call) => {
        try {
          dispatch(call)
        } catch (thrown) {
          call.fail(GatewayError.from(thrown, call.service))
        }
      }
      const caller = new InProcessCaller({ ...dispatcher, dispatchTrusted: guarded })
      t.teardown(() => caller.close())
      return caller
    },
    isFast: true,
    maxBuffered: 525,
  })
})

t.test('caller and handler share no objects', async (t) => {
  const retained: { list: number[] }[] = []
  const service = createService(t).handle('A', {
    keep: endpoint({
      handle: (request) => {
        retained.push(request as { list: number[] })
        return request
      },
    }),
    again: endpoint({ handle: () => retained[0] }),
  })
  const client = openClient(t, { services: [service] })
  const request = { list: [1] }
  const promise = client.call<{ list: number[] }>('greeter', 'A.Keep', request)
  request.list.push(2)
  const reply = await promise
  t.strictSame(reply, { list: [1] })
  reply.list.push(3)
  retained[0]!.list.push(4)
  t.strictSame(request, { list: [1, 2] })
  t.strictSame(reply, { list: [1, 3] })
  t.strictSame(await client.call('greeter', 'A.Again'), { list: [1, 4] })
})

t.test("the handler runs after the caller's function has returned", async (t) => {
  const order: string[] = []
  const service = createService(t).handle('A', {
    b: endpoint({ handle: () => void order.push('handler') }),
  })
  const client = openClient(t, { services: [service] })
  const done = client.call('greeter', 'A.B')
  order.push('caller')
  await done
  t.strictSame(order, ['caller', 'handler'])
})

t.test('timeout and abort reach the handler', async (t) => {
  const reasons: string[] = []
  const service = createService(t).handle('A', {
    wait: endpoint({
      handle: (_request, ctx) =>
        new Promise((resolve) => {
          ctx.signal.addEventListener('abort', () => {
            reasons.push((ctx.signal.reason as Error).name)
            resolve({})
          })
        }),
    }),
  })
  const client = openClient(t, { services: [service] })
  keepAlive(t)
  const before = deadlines.size
  await t.rejects(client.call('greeter', 'A.Wait', {}, { timeoutMs: 30 }), {
    id: 'greeter',
    code: 408,
  })
  const controller = new AbortController()
  const cancelled = client.call('greeter', 'A.Wait', {}, { signal: controller.signal })
  await new Promise(setImmediate)
  controller.abort()
  await t.rejects(cancelled, { name: 'AbortError' })
  const early = new AbortController()
  const aborted = client.call('greeter', 'A.Wait', {}, { signal: early.signal })
  early.abort()
  await t.rejects(aborted, { name: 'AbortError' })
  await new Promise(setImmediate)
  t.strictSame(reasons, ['TimeoutError', 'AbortError'], 'the call that was aborted early never ran')
  t.equal(deadlines.size, before)
})

t.test('500 and 408 are retried unless the endpoint is not idempotent', async (t) => {
  let calls = 0
  const failing = () => {
    calls++
    throw new Error('no')
  }
  const service = createService(t).handle('A', {
    again: endpoint({ handle: failing }),
    once: endpoint({ idempotent: false, handle: failing }),
  })
  const client = openClient(t, { services: [service] })
  await t.rejects(client.call('greeter', 'A.Again'), { code: 500 })
  t.equal(calls, 2)
  await t.rejects(client.call('greeter', 'A.Once'), { code: 500 })
  t.equal(calls, 3)
})

t.test('a retry sends the original request', async (t) => {
  let calls = 0
  const clients = await openAll(t, {
    b: endpoint({
      request: Type.Object({ data: Bytes(), id: Int64(), list: Type.Array(Type.String()) }),
      handle({ data, id, list }) {
        list.push('changed by the service')
        if (++calls % 2 === 1) throw new Error('first attempt failed')
        return { text: Buffer.from(data).toString(), id: String(id), list }
      },
    }),
  })
  for (const client of clients) {
    const request = { data: 'aGVsbG8=', id: '7', list: ['a'] }
    const reply = call(client, 'B', request)
    request.list.push('changed by the caller')
    t.strictSame(await reply, { text: 'hello', id: '7', list: ['a', 'changed by the service'] })
  }
})

t.test('stopping a service fails calls in flight, and later calls are rejected', async (t) => {
  const service = createService(t).handle('A', {
    wait: endpoint({ handle: () => new Promise(() => {}) }),
  })
  const client = openClient(t, { services: [service] })
  await service.start()
  const pending = client.call('greeter', 'A.Wait', {}, { retries: 0 })
  await new Promise(setImmediate)
  await service.stop({ timeoutMs: 1 })
  await t.rejects(pending, { code: 502 })
  await t.rejects(client.call('greeter', 'A.Wait'), {
    code: 502,
    message: /refused the connection/,
  })
})

t.test('a service is found by clients of its registry from start to stop', async (t) => {
  const registry = openRegistry(t)
  const service = createService(t, { registry }).handle('A', {
    b: endpoint({ handle: (_request, ctx) => ctx.fields }),
  })
  const client = openClient(t, { registry, inProcess: true })
  await t.rejects(client.call('greeter', 'A.B'), { code: 404 })
  await service.start()
  t.strictSame(await client.call('greeter', 'A.B'), [])
  t.strictSame(
    await service.client.call('greeter', 'A.B'),
    [],
    'including by the client of the service',
  )
  await service.stop()
  await t.rejects(client.call('greeter', 'A.B'), { code: 404 })
})

function createCaller(t: Test, endpoints: Endpoints): InProcessCaller {
  const { log } = createQuietLog()
  const caller = new InProcessCaller(
    createDispatcher({ service: 'greeter', log, handlers: { A: endpoints } }),
  )
  t.teardown(() => caller.close())
  return caller
}

function send(caller: InProcessCaller, fields: Partial<RecordedCall>): RecordedCall {
  const sent = new RecordedCall({ service: 'greeter', body: '{}', ...fields })
  caller.call(sent)
  return sent
}

t.test('an exception of one caller does not affect other calls of the tick', async (t) => {
  const caller = createCaller(t, { echo: endpoint({ handle: (request) => request }) })
  const thrown = collectUnhandled(t)
  const onEvent = (): void => {
    throw new Error('caller failed')
  }
  const calls = [{}, { onEvent }, {}, {}].map((fields) =>
    send(caller, { endpoint: 'A.Echo', ...fields }),
  )
  await waitUntil(() => thrown.length === 1 && calls.at(-1)!.events.length === 1)
  t.match(thrown, [{ message: 'caller failed' }])
  t.strictSame(
    calls.map(({ events }) => events.length),
    [1, 1, 1, 1],
  )
  t.equal(caller.pending, 0)
})

t.test('bodies may be bytes or text, as over a connection', async (t) => {
  const caller = createCaller(t, {
    echo: endpoint({ request: Type.Object({ n: Type.Integer() }), handle: (request) => request }),
    both: endpoint({
      stream: 'both',
      async *handle(requests) {
        for await (const request of requests) yield { request }
      },
    }),
  })
  const text = send(caller, { endpoint: 'A.Echo', body: '{"n":1}' })
  const bytes = send(caller, { endpoint: 'A.Echo', body: Buffer.from('{"n":2}') })
  const invalid = send(caller, { endpoint: 'A.Echo', body: '{"n":' })
  t.strictSame(text.events, [], 'responses are asynchronous')
  await waitUntil(() => invalid.events.length === 1)
  t.strictSame(text.events, ['reply "" {"n":1}'])
  t.strictSame(bytes.events, ['reply "" {"n":2}'])
  t.match(invalid.error, { code: 400 })
  const stream = send(caller, { endpoint: 'A.Both', body: '', more: true, stream: true })
  t.equal(stream.sendData('1'), false)
  await waitUntil(() => stream.events.length === 1)
  t.strictSame(stream.events, ['credit'])
  const memory = Buffer.from('2')
  t.ok(stream.sendData(memory))
  memory.fill(0)
  t.ok(stream.sendData('{"a":3}'))
  stream.endData()
  t.throws(() => stream.sendData('4'), /endData was already called/)
  await waitUntil(() => stream.events.at(-1) === 'end')
  t.strictSame(stream.events, ['credit', 'data {"request":2}', 'data {"request":{"a":3}}', 'end'])
  t.equal(caller.pending, 0)
})

t.test('pending calls are counted, and fail when the caller is closed', async (t) => {
  const caller = createCaller(t, { wait: endpoint({ handle: () => new Promise(() => {}) }) })
  const calls = [1, 2, 3].map(() => send(caller, { endpoint: 'A.Wait' }))
  await new Promise(setImmediate)
  t.equal(caller.pending, 3)
  caller.drain()
  const lateCall = send(caller, { endpoint: 'A.Wait' })
  t.strictSame(lateCall.events, ['lost unsent'])
  t.strictSame(calls[0]!.events, [])
  caller.close()
  for (const { events } of calls) t.strictSame(events, ['lost closed'])
  t.equal(caller.pending, 0)
  t.strictSame(send(caller, { endpoint: 'A.Wait' }).events, ['lost connect'], 'like a closed port')
})

t.test('byte bodies count toward the flow-control window', async (t) => {
  const large = Buffer.alloc(WINDOW_BYTES / 2, '1')
  const caller = createCaller(t, {
    slow: endpoint({ stream: 'client', handle: () => new Promise(() => {}) }),
    fast: endpoint({
      response: Bytes(),
      stream: 'server',
      *handle() {
        for (;;) yield large
      },
    }),
  })
  const up = send(caller, { endpoint: 'A.Slow', body: '', more: true })
  t.notOk(up.sendData(large))
  await waitUntil(() => up.events.length === 1)
  t.strictSame([up.sendData(large), up.sendData(large), up.sendData(large)], [true, true, false])
  const serverStream = send(caller, { endpoint: 'A.Fast', stream: true })
  await waitUntil(() => serverStream.events.length > 0)
  const count = serverStream.events.length
  t.ok(count <= 3, `${count} messages were sent`)
  for (let i = 0; i < count; i++) serverStream.consumed(large.length * 2)
  await waitUntil(() => serverStream.events.length > count)
})

t.test('a stream within a process yields to the event loop', async (t) => {
  const service = createService(t).handle('A', {
    forever: endpoint({
      stream: 'server',
      *handle() {
        for (let n = 0; ; n++) yield n
      },
    }),
  })
  const client = openClient(t, { services: [service] })
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  t.teardown(() => clearInterval(timer))
  for await (const _ of client.stream('greeter', 'A.Forever', {})) if (ticks === 5) break
  t.equal(ticks, 5)
})

t.test('a value becomes a JSON copy or written JSON', async (t) => {
  t.strictSame(toLocalValue({ a: 1 }), { a: 1 })
  const written = toLocalValue({ a: new Date(0), b: 5n, c: 2 ** 53 })
  const text = '{"a":"1970-01-01T00:00:00.000Z","b":5,"c":9007199254740992}'
  t.same(written, new RawJson(text))
  t.equal(toLocalValue(written), written)
  const loop: unknown[] = []
  loop.push(loop)
  t.throws(() => toLocalValue(loop), TypeError)
})

t.test('integers are as exact in process as over a connection', async (t) => {
  const handle = ({ n }: { n: unknown }) => ({ got: String(n) })
  const clients = await openAll(t, {
    integer: endpoint({ request: Type.Object({ n: Type.Integer() }), handle }),
    int64: endpoint({ request: Type.Object({ n: Int64() }), handle }),
    number: endpoint({ request: Type.Object({ n: Type.Number() }), handle }),
  })
  for (const client of clients) {
    for (const n of [2 ** 53, 1e300, 2n ** 63n - 1n])
      await t.rejects(client.call('greeter', 'A.Integer', { n }), { code: 400 }, String(n))
    const request = new RawJson('{"n":9007199254740993}')
    await t.rejects(client.call('greeter', 'A.Integer', request), {
      code: 400,
      message: /got 9007199254740993$/,
    })
    t.same(await client.call('greeter', 'A.Int64', request), { got: '9007199254740993' })
    t.same(await client.call('greeter', 'A.Number', request), { got: '9007199254740992' })
    t.same(await client.call('greeter', 'A.Number', { n: 1e300 }), { got: '1e+300' })
    const reply = await client.call('greeter', 'A.Number', { n: 1.5 }, { asText: true })
    t.equal(reply, '{"got":"1.5"}')
    const hostile = JSON.parse('{"__proto__":1}')
    await t.rejects(client.call('greeter', 'A.Number', hostile), { code: 400, id: 'greeter' })
  }
})

// Streams of programs, over real connections and within the process.
import t, { type Test } from 'tap'
import { Type } from '../../../../core/schema.ts'
import { conflict } from '../../../../sdk/errors.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createService, openClient, openRegistry } from '../../../fixtures/sdk-services.ts'

const N = Type.Object({ n: Type.Integer() })

/** Opens a service of streams with counters of its handlers, and a client. */
async function open(t: Test, transport: 'over sockets' | 'in process') {
  const registry = openRegistry(t)
  const counters = { yielded: 0, received: 0, closed: 0, aborted: 0 }
  let ready = (): void => {}
  const service = createService(t, { registry }).handle('Streams', {
    down: endpoint({
      request: Type.Object({ to: Type.Integer(), size: Type.Integer({ default: 0 }) }),
      response: Type.Object({ n: Type.Integer(), text: Type.String() }),
      stream: 'server',
      async *handle({ to, size }, ctx) {
        ctx.signal.addEventListener('abort', () => counters.aborted++)
        try {
          for (let n = 1; n <= to; n++) {
            counters.yielded++
            yield { n, text: 'x'.repeat(size) }
          }
        } finally {
          counters.closed++
        }
      },
    }),
    up: endpoint({
      request: N,
      response: Type.Object({ sum: Type.Integer() }),
      stream: 'client',
      async handle(requests) {
        let sum = 0
        for await (const { n } of requests) {
          counters.received++
          sum += n
        }
        return { sum }
      },
    }),
    both: endpoint({
      request: N,
      response: N,
      stream: 'both',
      async *handle(requests) {
        try {
          for await (const { n } of requests) {
            counters.received++
            yield { n: 2 * n }
          }
        } finally {
          counters.closed++
        }
      },
    }),
    deaf: endpoint({
      stream: 'both',
      async *handle(_requests, ctx) {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        counters.aborted++
      },
    }),
    breaks: endpoint({
      response: N,
      stream: 'server',
      async *handle() {
        for (let n = 1; n <= 3; n++) yield { n }
        throw conflict('greeter', 'enough')
      },
    }),
    slow: endpoint({
      response: N,
      stream: 'server',
      async *handle(_request, ctx) {
        counters.yielded++
        await new Promise<void>((resolve) => {
          ready = resolve
        })
        ctx.start()
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      },
    }),
    unary: endpoint({ request: N, response: N, handle: (request) => request }),
  })
  await service.start()
  const client = openClient(t, { registry, inProcess: transport === 'in process' })
  return { client, service, counters, ready: () => ready() }
}

async function readAll<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of stream) values.push(value)
  return values
}

for (const transport of ['over sockets', 'in process'] as const) {
  t.test(`${transport}: a server stream returns all responses`, async (t) => {
    const { client, counters } = await open(t, transport)
    const replies = await readAll(client.stream('greeter', 'Streams.Down', { to: 1000 }))
    t.equal(replies.length, 1000)
    t.strictSame(replies.at(-1), { n: 1000, text: '' })
    t.strictSame(counters, { yielded: 1000, received: 0, closed: 1, aborted: 0 })
    t.strictSame(await readAll(client.stream('greeter', 'Streams.Down', { to: 0 })), [])
  })

  t.test(`${transport}: a client stream sends requests and returns one response`, async (t) => {
    const { client } = await open(t, transport)
    const up = client.stream<{ n: number }, { sum: number }>('greeter', 'Streams.Up')
    for (let n = 1; n <= 1000; n++) await up.send({ n })
    up.end()
    t.strictSame(await up.reply(), { sum: 500_500 })
    await t.rejects(up.send({ n: 1 }), /the last request has been sent/)
  })

  t.test(`${transport}: requests may come from any iterable, including an empty one`, async (t) => {
    const { client } = await open(t, transport)
    const sum = (requests: Iterable<unknown> | AsyncIterable<unknown>) =>
      client.stream('greeter', 'Streams.Up', requests).reply()
    async function* later() {
      for (let n = 1; n <= 3; n++) {
        await new Promise(setImmediate)
        yield { n }
      }
    }
    t.strictSame(await sum([{ n: 1 }, { n: 2 }]), { sum: 3 })
    t.strictSame(await sum(new Set([{ n: 4 }])), { sum: 4 })
    t.strictSame(await sum(later()), { sum: 6 })
    t.strictSame(await sum([]), { sum: 0 })
    const none = client.stream('greeter', 'Streams.Up')
    none.end()
    t.strictSame(await none.reply(), { sum: 0 })
  })

  t.test(
    `${transport}: a bidirectional stream alternates requests and responses freely`,
    async (t) => {
      const { client, counters } = await open(t, transport)
      const both = client.stream<{ n: number }, { n: number }>('greeter', 'Streams.Both')
      await both.send({ n: 1 })
      t.strictSame(await both.next(), { done: false, value: { n: 2 } })
      await both.send({ n: 2 })
      await both.send({ n: 3 })
      both.end()
      t.strictSame(await readAll(both), [{ n: 4 }, { n: 6 }])
      t.strictSame(await both.next(), { done: true, value: undefined })
      t.equal(counters.closed, 1)
    },
  )

  t.test(`${transport}: a slow reader slows down the handler`, async (t) => {
    const { client, counters } = await open(t, transport)
    const stream = client.stream('greeter', 'Streams.Down', { to: 10_000, size: 1000 })
    await waitUntil(() => counters.yielded > 10)
    for (let round = 0; round < 50; round++) await new Promise(setImmediate)
    const maxSent = transport === 'in process' ? 70 : 600
    t.ok(counters.yielded < maxSent, `${counters.yielded} unread responses`)
    let read = 0
    for await (const _ of stream) if (++read === 5000) break
    t.ok(counters.yielded < 5000 + 2 * maxSent)
    await waitUntil(() => counters.closed === 1)
  })

  t.test(`${transport}: send waits while the service reads no requests`, async (t) => {
    const { client } = await open(t, transport)
    const unreadStream = client.stream('greeter', 'Streams.Deaf')
    let sent = 0
    const sending = (async () => {
      while (await unreadStream.send('x'.repeat(1000))) sent++
    })()
    await waitUntil(() => sent > 10)
    for (let round = 0; round < 50; round++) await new Promise(setImmediate)
    t.ok(sent < 600, `${sent} requests were sent`)
    unreadStream.cancel()
    await sending
    t.equal(await unreadStream.send('late'), false, 'send returns false after the call')
    t.strictSame(await unreadStream.next(), { done: true, value: undefined })
    unreadStream.end()
    await t.rejects(unreadStream.send('later'), /the last request has been sent/)
  })

  t.test(`${transport}: exiting the loop or calling cancel() aborts the handler`, async (t) => {
    const { client, counters } = await open(t, transport)
    for await (const _ of client.stream('greeter', 'Streams.Down', { to: 1e9, size: 100 })) break
    await waitUntil(() => counters.closed === 1 && counters.aborted === 1)
    const stream = client.stream('greeter', 'Streams.Deaf')
    const pending = stream.next()
    await stream.send(1)
    stream.cancel()
    t.strictSame(await pending, { done: true, value: undefined })
    await waitUntil(() => counters.aborted === 2)
  })

  t.test(`${transport}: an aborted signal ends client and handler`, async (t) => {
    const { client, counters } = await open(t, transport)
    const controller = new AbortController()
    const { signal } = controller
    const stream = client.stream('greeter', 'Streams.Down', { to: 1e9 }, { signal })
    await stream.next()
    controller.abort(new Error('enough'))
    await t.rejects(stream.next(), { message: 'enough' })
    await waitUntil(() => counters.closed === 1)
    await t.rejects(client.stream('greeter', 'Streams.Up', [], { signal }).reply(), {
      message: 'enough',
    })
  })

  t.test(`${transport}: an error is thrown after the responses before it`, async (t) => {
    const { client } = await open(t, transport)
    const stream = client.stream('greeter', 'Streams.Breaks', {})
    const received: unknown[] = []
    await t.rejects(
      (async () => {
        for await (const reply of stream) {
          received.push(reply)
          await new Promise((resolve) => setTimeout(resolve, 5))
        }
      })(),
      { code: 409, message: 'enough' },
    )
    t.strictSame(received, [{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  t.test(`${transport}: invalid endpoints, requests and kinds of calls are rejected`, async (t) => {
    const { client } = await open(t, transport)
    const rejected: [string, unknown, number][] = [
      ['Streams.Nope', {}, 404],
      ['Streams.Down', { to: 'x' }, 400],
      ['Streams.Up', [{ n: 'x' }], 400],
    ]
    for (const [name, requests, code] of rejected)
      await t.rejects(client.stream('greeter', name, requests).reply(), { code }, name)
    await t.rejects(client.call('greeter', 'Streams.Down', { to: 1 }), {
      code: 400,
      message: /responds with a stream/,
    })
    await t.rejects(client.stream('greeter', 'Streams.Down', { to: 0 }).reply(), {
      code: 502,
      message: /without a reply/,
    })
  })

  t.test(`${transport}: a unary endpoint can be called as a stream`, async (t) => {
    const { client } = await open(t, transport)
    t.strictSame(await readAll(client.stream('greeter', 'Streams.Unary', { n: 1 })), [{ n: 1 }])
    t.strictSame(await client.stream('greeter', 'Streams.Unary', [{ n: 2 }]).reply(), { n: 2 })
  })

  t.test(`${transport}: a stream has no deadline unless timeoutMs is set`, async (t) => {
    const { client, counters } = await open(t, transport)
    const stream = client.stream('greeter', 'Streams.Deaf', undefined, { timeoutMs: 40 })
    await t.rejects(stream.next(), { code: 408 })
    await waitUntil(() => counters.aborted === 1)
    const endless = client.stream('greeter', 'Streams.Both')
    await new Promise((resolve) => setTimeout(resolve, 60))
    await endless.send({ n: 1 })
    t.strictSame(await endless.next(), { done: false, value: { n: 2 } })
    endless.cancel()
  })

  t.test(
    `${transport}: a request source is closed when the call ends, and its error fails the call`,
    async (t) => {
      const { client } = await open(t, transport)
      let stopped = false
      async function* countForever() {
        try {
          for (let n = 1; ; n++) {
            await new Promise(setImmediate)
            yield { n }
          }
        } finally {
          stopped = true
        }
      }
      for await (const _ of client.stream('greeter', 'Streams.Both', countForever())) break
      await waitUntil(() => stopped)
      async function* failing() {
        yield { n: 1 }
        throw new Error('source failed')
      }
      await t.rejects(client.stream('greeter', 'Streams.Up', failing()).reply(), {
        message: 'source failed',
      })
    },
  )

  t.test(`${transport}: begun() resolves when the service starts to respond`, async (t) => {
    const { client, counters, ready, service } = await open(t, transport)
    const slow = client.stream('greeter', 'Streams.Slow')
    slow.end()
    let hasStarted = false
    const beginning = slow.begun().then(() => {
      hasStarted = true
    })
    await waitUntil(() => counters.yielded === 1)
    await new Promise(setImmediate)
    t.equal(hasStarted, false)
    ready()
    await beginning
    await slow.return()
    await slow.begun()

    for (const endpoint of ['Streams.Down', 'Streams.Unary']) {
      const serverStream = client.stream('greeter', endpoint, { to: 3, n: 1 })
      await serverStream.begun()
      t.ok((await readAll(serverStream)).length > 0, 'no response is lost')
    }
    await client.stream('greeter', 'Streams.Down', { to: 0 }).begun()

    const invalid = client.stream('greeter', 'Streams.Down', { to: 'x' })
    await t.rejects(invalid.begun(), { code: 400, message: /request\.to/ })
    await t.rejects(invalid.begun(), { code: 400, message: /request\.to/ })
    const pending = client.stream('greeter', 'Streams.Slow')
    const rejection = t.rejects(pending.begun(), { name: 'AbortError' })
    pending.cancel()
    await rejection
    await service.stop()
    await t.rejects(client.stream('greeter', 'Streams.Down', { to: 1 }).begun(), {
      message: /greeter/,
    })
  })

  t.test(`${transport}: a second concurrent read is rejected`, async (t) => {
    const { client } = await open(t, transport)
    const stream = client.stream('greeter', 'Streams.Deaf')
    const first = stream.next()
    await t.rejects(stream.next(), /one loop at a time/)
    stream.cancel()
    t.strictSame(await first, { done: true, value: undefined })
  })
}

import t, { type Test } from 'tap'
import { Type } from 'typebox'
import type { OutgoingCall } from '../../../core/rpc/call.ts'
import { Channel } from '../../../core/rpc/ws/channel.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createDispatcher, type Dispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { tick, waitUntil } from '../../fixtures/raw-backend.ts'
import { RecordedCall } from '../../fixtures/rpc.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'

// Tests from dispatch.test.ts over a real connection.

const Named = Type.Object({ name: Type.String() })
const MESSAGES = 20_000

interface Received {
  yieldedCount: number
  closed: boolean
  aborted: string
}

function createHelloworld(counters: Received): Dispatcher {
  return createDispatcher({
    service: 'helloworld',
    log: createServiceLog({ service: 'helloworld', level: 'silent', write: () => {} }),
    handlers: {
      Helloworld: {
        call: endpoint({
          request: Named,
          response: Type.Object({ message: Type.String() }),
          handle: ({ name }) => ({ message: `Hello ${name}` }),
        }),
        count: endpoint({
          stream: 'server',
          *handle() {
            try {
              for (; counters.yieldedCount < MESSAGES; counters.yieldedCount++)
                yield counters.yieldedCount
            } finally {
              counters.closed = true
            }
          },
        }),
        join: endpoint({
          request: Named,
          stream: 'client',
          async handle(requests) {
            let names = 0
            let last = ''
            for await (const { name } of requests) {
              names++
              last = name
            }
            return { names, last }
          },
        }),
        wait: endpoint({
          async handle(_request, ctx) {
            await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
            counters.aborted = (ctx.signal.reason as Error).name
          },
        }),
      },
    },
  })
}

async function open(t: Test): Promise<{
  send: (fields: Partial<OutgoingCall>) => RecordedCall
  dispatcher: Dispatcher
  counters: Received
  channel: Channel
}> {
  const counters: Received = { yieldedCount: 0, closed: false, aborted: '' }
  const dispatcher = createHelloworld(counters)
  const { port } = await openRpcService(t, dispatcher.dispatch)
  const channel = new Channel({ host: '127.0.0.1', port })
  t.teardown(() => channel.close())
  const send = (fields: Partial<OutgoingCall>) => {
    const call = new RecordedCall(fields)
    channel.call(call)
    return call
  }
  return { send, dispatcher, counters, channel }
}

t.test(
  'a call returns the response, 400 for an invalid request, or 404 for an unknown endpoint',
  async (t) => {
    const { send } = await open(t)
    const succeeded = send({})
    const invalid = send({ body: '{"name":5}' })
    const none = send({ endpoint: 'Helloworld.Nope' })
    await waitUntil(() => none.events.length > 0)
    t.strictSame(succeeded.events, ['reply "" {"message":"Hello John"}'])
    t.strictSame(invalid.events, ['fail 400 helloworld: request.name must be a string, got 5'])
    t.strictSame(none.events, [
      'fail 404 helloworld: endpoint not found: helloworld.Helloworld.Nope',
    ])
  },
)

t.test('rejects a malformed metadata block with 400, and the connection stays open', async (t) => {
  const { send, channel } = await open(t)
  const metadata = 'garbage\r\nmx-account: {"id":"x"}\r\n'
  const invalid = [send({ metadata }), send({ metadata, stream: true, more: true })]
  const succeeded = send({ metadata: 'x-a: b\r\n' })
  await waitUntil(() => succeeded.events.length > 0)
  t.strictSame(succeeded.events, ['reply "" {"message":"Hello John"}'])
  for (const { events } of invalid)
    t.match(events, [/^fail 400 helloworld: each metadata line must be/])
  t.equal(channel.pending, 0)
})

t.test('a stream waits for its reader and arrives completely', async (t) => {
  const { send, counters } = await open(t)
  const call = send({ endpoint: 'Helloworld.Count', stream: true, body: '' })
  await waitUntil(() => call.events.length > 0)
  for (let ticks = 0; ticks < 20; ticks++) await tick()
  const unread = call.events.length
  t.ok(unread < MESSAGES / 2, `${unread} messages fill the window`)
  t.equal(counters.yieldedCount, unread, 'the handler waits')
  call.consumed(64 * unread)
  let read = unread
  call.onEvent = (event) => {
    if (!event.startsWith('data')) return
    read++
    call.consumed(64)
  }
  await waitUntil(() => call.events.at(-1) === 'end')
  t.equal(read, MESSAGES)
  t.equal(call.events[MESSAGES - 1], `data ${MESSAGES - 1}`)
})

t.test('cancelling a stream closes its handler', async (t) => {
  const { send, counters, dispatcher } = await open(t)
  const call = send({ endpoint: 'Helloworld.Count', stream: true, body: '' })
  await waitUntil(() => call.events.length > 0)
  call.cancel()
  await waitUntil(() => counters.closed)
  t.ok(counters.yieldedCount < MESSAGES)
  t.equal(dispatcher.active, 0)
})

t.test('a stream of requests arrives completely at any speed', async (t) => {
  const { send } = await open(t)
  const call = send({ endpoint: 'Helloworld.Join', more: true, body: '' })
  let sent = 0
  const pump = () => {
    while (sent < MESSAGES && call.sendData(`{"name":"n${sent}"}`)) sent++
    if (sent === MESSAGES) call.endData()
  }
  call.onEvent = (event) => {
    if (event === 'credit') pump()
  }
  pump()
  await waitUntil(() => call.events.some((event) => event !== 'credit'))
  t.equal(call.events.at(-1), `reply "" {"names":${MESSAGES},"last":"n${MESSAGES - 1}"}`)
  t.ok(call.events.length > 1, 'the caller waited for credit')
})

t.test('a timeout ends the call and aborts the signal of the handler', async (t) => {
  const { send, counters, dispatcher } = await open(t)
  const call = send({ endpoint: 'Helloworld.Wait', timeoutMs: 50 })
  await waitUntil(() => call.events.length > 0)
  t.strictSame(call.events, ['lost timeout'])
  await waitUntil(() => counters.aborted !== '')
  t.equal(dispatcher.active, 0)
})

t.test('a disconnect aborts the signal of the handler', async (t) => {
  const { send, counters, dispatcher, channel } = await open(t)
  send({ endpoint: 'Helloworld.Wait' })
  await waitUntil(() => dispatcher.active === 1)
  channel.close()
  await waitUntil(() => counters.aborted !== '')
  t.equal(counters.aborted, 'AbortError')
  t.equal(dispatcher.active, 0)
})

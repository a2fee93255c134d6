// Behavior of streams that depends on the connection.
import t, { type Test } from 'tap'
import { GatewayError } from '../../../../core/errors.ts'
import type { Dispatch } from '../../../../core/rpc/call.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { createTracker } from '../../../fixtures/rpc.ts'
import { openRpcService } from '../../../fixtures/rpc-service.ts'
import { openClient, openRegistry, registerPorts } from '../../../fixtures/sdk-services.ts'

async function open(t: Test, ...dispatches: Dispatch[]) {
  const registry = openRegistry(t)
  const services = await Promise.all(dispatches.map((dispatch) => openRpcService(t, dispatch)))
  const ports = services.map(({ port }) => port)
  registerPorts(registry, 'greeter', ports)
  return { services, client: openClient(t, { registry }), registry, ports }
}

t.test('requests sent before the connection is open arrive in order', async (t) => {
  const { dispatch, events } = createTracker()
  const { client } = await open(t, dispatch)
  const stream = client.stream<number>('greeter', 'A.B')
  const sent = [1, 2, 3].map((n) => stream.send(n))
  stream.end()
  await Promise.all(sent)
  await waitUntil(() => events[0]?.length === 4)
  t.strictSame(events[0], ['data 1', 'data 2', 'data 3', 'end'])
  stream.cancel()
})

t.test('a stream without requests reaches the service', async (t) => {
  const { dispatch, events, calls } = createTracker()
  const { client } = await open(t, dispatch)
  const stream = client.stream('greeter', 'A.B')
  stream.end()
  await waitUntil(() => events[0]?.length === 1)
  t.ok(calls[0]!.more)
  t.strictSame(events[0], ['end'])
  stream.cancel()
})

t.test('a single request is sent with the call', async (t) => {
  const { dispatch, bodies, calls } = createTracker()
  const { client } = await open(t, dispatch)
  const stream = client.stream('greeter', 'A.B', { to: 3 })
  await waitUntil(() => calls.length === 1)
  t.strictSame([bodies[0], calls[0]!.more, calls[0]!.stream], ['{"to":3}', false, true])
  stream.cancel()
})

t.test('a node that refuses connections is skipped', async (t) => {
  const { dispatch, events } = createTracker()
  const { client, services, registry, ports } = await open(t, dispatch)
  registerPorts(registry, 'greeter', [1, ...ports])
  for (let i = 0; i < 4; i++) {
    const stream = client.stream('greeter', 'A.B', [i])
    await waitUntil(() => events.length > i && events[i]!.length === 2)
    t.strictSame(events[i], [`data ${i}`, 'end'])
    stream.cancel()
  }
  t.equal(services.length, 1)
})

t.test('a stream is not retried after a request was sent', async (t) => {
  let calls = 0
  const { client, services } = await open(t, (call) => {
    calls++
    call.receiver = {
      onData: () => services[0]!.sockets.at(-1)!.terminate(),
      onEnd() {},
      onCancel() {},
      onCredit() {},
    }
  })
  await t.rejects(client.stream('greeter', 'A.B', [1]).reply(), { code: 502 })
  t.equal(calls, 1)
})

t.test('a response that is not JSON ends the stream with 502', async (t) => {
  let cancelled = false
  const { client } = await open(t, (call) => {
    call.receiver = {
      onData() {},
      onEnd() {},
      onCancel: () => {
        cancelled = true
      },
      onCredit() {},
    }
    call.sendData('1')
    call.sendData('<html>')
    call.sendData('3')
  })
  const stream = client.stream('greeter', 'A.B', {})
  t.strictSame(await stream.next(), { done: false, value: 1 })
  await t.rejects(stream.next(), { code: 502 })
  t.strictSame(await stream.next(), { done: true, value: undefined })
  await waitUntil(() => cancelled)
})

t.test('a request over the size limit is rejected, and later ones are sent', async (t) => {
  const { dispatch, events } = createTracker()
  const { client } = await open(t, dispatch)
  const stream = client.stream('greeter', 'A.B')
  await stream.send(1)
  await t.rejects(stream.send('x'.repeat(17 * 1024 * 1024)), RangeError)
  await stream.send(2)
  await waitUntil(() => events[0]?.length === 2)
  t.strictSame(events[0], ['data 1', 'data 2'])
  stream.cancel()
})

t.test('an error of a stream has the stack of its reader', async (t) => {
  const { client } = await open(t, (call) => {
    call.sendData('1')
    call.fail(new GatewayError('greeter', 409, 'sold'))
  })
  const replies: unknown[] = []
  const readReplies = async (): Promise<void> => {
    for await (const reply of client.stream('greeter', 'A.B', {})) replies.push(reply)
  }
  const error: unknown = await readReplies().catch((thrown) => thrown)
  t.match(error, {
    name: 'ServiceError',
    code: 409,
    stack: /async readReplies .*stream-call\.test/,
  })
  t.strictSame(replies, [1])
  const late = client.stream('greeter', 'A.B', {})
  await late.next()
  const readLate = async (): Promise<unknown> => await late.next()
  t.match(await readLate().catch((thrown) => thrown), { stack: /async readLate/ })
  t.match(await readLate().catch((thrown) => thrown), { code: 409 }, 'the error is repeated')
})

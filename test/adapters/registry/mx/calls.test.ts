import t, { type Test } from 'tap'
import { callRegistry, WatchCall } from '../../../../adapters/registry/mx/calls.ts'
import { GatewayError } from '../../../../core/errors.ts'
import type { Dispatch } from '../../../../core/rpc/call.ts'
import { Channel } from '../../../../core/rpc/ws/channel.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { openRpcService } from '../../../fixtures/rpc-service.ts'

async function open(t: Test, dispatch: Dispatch): Promise<Channel> {
  const { port } = await openRpcService(t, dispatch)
  const channel = new Channel({ host: '127.0.0.1', port })
  t.teardown(() => channel.close())
  return channel
}

/** Events of a watch as strings. */
function watch(channel: Channel): string[] {
  const messages: string[] = []
  const call = new WatchCall(
    {},
    {
      onOpen: () => messages.push('open'),
      onMessage: (message) => messages.push(JSON.stringify(message)),
      onSettled: ({ code, message }) => messages.push(`${code} ${message}`),
    },
  )
  channel.call(call)
  return messages
}

t.test('resolves with the response object', async (t) => {
  const channel = await open(t, (call) => {
    const request = Buffer.from(call.body).toString()
    call.reply('', JSON.stringify({ service: call.service, endpoint: call.endpoint, request }))
  })
  t.same(await callRegistry(channel, 'GetService', { service: 'greeter' }, 1000), {
    service: 'registry',
    endpoint: 'Registry.GetService',
    request: '{"service":"greeter"}',
  })
})

t.test('rejects a response that is not a JSON object', async (t) => {
  for (const body of ['', 'no', '[]', 'null', '7']) {
    const channel = await open(t, (call) => call.reply('', body))
    await t.rejects(callRegistry(channel, 'GetService', {}, 1000), {
      code: 502,
      message: /not a JSON object/,
    })
  }
})

t.test("rejects with the service's or the transport's error", async (t) => {
  const rejecting = await open(t, (call) => call.fail(new GatewayError('registry', 403, 'no')))
  await t.rejects(callRegistry(rejecting, 'Register', {}, 1000), { code: 403, message: 'no' })
  const silent = await open(t, () => {})
  await t.rejects(callRegistry(silent, 'Register', {}, 30), { code: 408 })
})

t.test('opens a watch once, with the stream or its first message', async (t) => {
  const started = await open(t, (call) => {
    call.start('')
    call.sendData('{"a":1}')
    call.sendData('no JSON')
    call.endData()
  })
  const events = watch(started)
  await waitUntil(() => events.length === 3)
  t.same(
    events,
    ['open', '{"a":1}', '503 the service ended the stream'],
    'values other than objects are dropped',
  )
  const unexpected = await open(t, (call) => call.sendData('{"a":1}'))
  const received = watch(unexpected)
  await waitUntil(() => received.length === 2)
  t.same(received, ['open', '{"a":1}'])
})

t.test('ends a watch with a unary response', async (t) => {
  const responses: [Dispatch, RegExp][] = [
    [(call) => call.reply('', '{}'), /^502 the response is not a stream$/],
    [(call) => call.fail(new GatewayError('registry', 429, 'too many')), /^429 too many$/],
  ]
  for (const [dispatch, expected] of responses) {
    const events = watch(await open(t, dispatch))
    await waitUntil(() => events.length > 0)
    t.match(events, [expected])
    t.equal(events.length, 1)
  }
})

t.test('grants flow control credit for received messages', async (t) => {
  const padding = 'x'.repeat(10_000)
  const channel = await open(t, (call) => {
    let remaining = 1000
    const send = (): void => {
      while (remaining > 0 && call.sendData(JSON.stringify({ remaining, padding }))) remaining--
    }
    call.receiver = { ...call.receiver, onCredit: send }
    send()
  })
  const events = watch(channel)
  await waitUntil(() => events.length === 1001)
  t.equal(events.length, 1001, 'ten megabytes exceed any window')
})

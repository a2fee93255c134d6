import t, { type Test } from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import type { Dispatch } from '../../../core/rpc/call.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { openRpcService } from '../../fixtures/rpc-service.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'

async function open(t: Test, dispatch: Dispatch) {
  const { port } = await openRpcService(t, dispatch)
  return openClient(t, { address: `127.0.0.1:${port}` })
}

t.test('JSON values round-trip, and other values are converted as by JSON.stringify', async (t) => {
  const client = await open(t, (call) => call.reply('', call.body))
  const cases: [unknown, unknown][] = [
    [undefined, {}],
    [{ a: [1, 'ä', null, true] }, { a: [1, 'ä', null, true] }],
    [
      { big: 2n ** 60n, small: 5n },
      { big: '1152921504606846976', small: 5 },
    ],
    [{ at: new Date(0), none: undefined }, { at: '1970-01-01T00:00:00.000Z' }],
    ['text', 'text'],
    [null, null],
  ]
  for (const [request, reply] of cases)
    t.strictSame(await client.call('greeter', 'A.B', request), reply)
})

t.test(
  'an empty response is an empty object, and a response that is not JSON results in 502',
  async (t) => {
    const client = await open(t, (call) => {
      call.reply('content-type: text/html\r\n', call.endpoint === 'A.Empty' ? '' : '<html>')
    })
    t.strictSame(await client.call('greeter', 'A.Empty'), {})
    await t.rejects(client.call('greeter', 'A.Html'), { id: 'greeter', code: 502 })
  },
)

t.test('a value that cannot be serialized is rejected and not sent', async (t) => {
  let calls = 0
  const client = await open(t, () => void calls++)
  const loop: Record<string, unknown> = {}
  loop['self'] = loop
  await t.rejects(client.call('greeter', 'A.B', loop), TypeError)
  const service = createService(t).handle('A', { b: endpoint({ handle: () => void calls++ }) })
  await t.rejects(openClient(t, { services: [service] }).call('greeter', 'A.B', loop), TypeError)
  t.equal(calls, 0)
})

t.test('changing a request after the call does not change the sent bytes', async (t) => {
  const client = await open(t, (call) => call.reply('', call.body))
  const request = { list: [1] }
  const reply = client.call('greeter', 'A.B', request)
  request.list.push(2)
  t.strictSame(await reply, { list: [1] })
})

t.test('responses may arrive out of order', async (t) => {
  const pending: (() => void)[] = []
  const client = await open(t, (call) => {
    if (call.endpoint === 'A.First') pending.push(() => call.reply('', '1'))
    else call.reply('', '2')
  })
  const first = client.call('greeter', 'A.First')
  t.equal(await client.call('greeter', 'A.Second'), 2)
  pending[0]!()
  t.equal(await first, 1)
})

t.test('a rejected call has the stack of the awaiting function', async (t) => {
  const malformed = await open(t, (call) => call.reply('', 'no JSON'))
  const failing = await open(t, (call) => call.fail(new GatewayError('greeter', 404, 'nothing')))
  const local = openClient(t, { services: [createService(t)] })
  for (const [client, message] of [
    [failing, 'nothing'],
    [malformed, /malformed/],
    [local, 'endpoint not found: greeter.A.B'],
    [openClient(t, { address: '127.0.0.1:1' }), /refused/],
  ] as const) {
    const waitForReply = async (): Promise<unknown> => await client.call('greeter', 'A.B')
    const error: unknown = await waitForReply().catch((thrown) => thrown)
    t.match(error, {
      name: 'ServiceError',
      message,
      stack: /async waitForReply .*unary-call\.test/,
    })
  }
})

import t from 'tap'
import { badRequest } from '../../../sdk/errors.ts'
import { createServiceLog } from '../../../sdk/log/service-log.ts'
import { createDebugEndpoints } from '../../../sdk/service/debug.ts'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Traces } from '../../../sdk/tracing/traces.ts'
import { serve, startCall } from '../../fixtures/served-calls.ts'

/** Creates a dispatcher with endpoints that log, fail and hang. */
function create() {
  return createDispatcher({
    service: 'greeter',
    handlers: {
      A: {
        log: endpoint({ handle: (_, ctx) => ctx.log.info({}, 'hello') }),
        fail: endpoint({
          handle() {
            throw badRequest('greeter', 'no')
          },
        }),
        hang: endpoint({ handle: () => new Promise(() => {}) }),
      },
    },
    log: createServiceLog({ service: 'greeter', write: () => {} }),
  })
}

t.test('declares all endpoints of Debug as read-only', async (t) => {
  const endpoints = createDebugEndpoints({
    log: createServiceLog({ service: 'greeter', write: () => {} }),
    traces: new Traces(),
    counts: () => ({ requests: 0, errors: 0 }),
    check: () => {},
  })
  t.strictSame(
    Object.entries(endpoints).map(([name, { readOnly }]) => [name, readOnly]),
    ['health', 'stats', 'log', 'trace'].map((name) => [name, true]),
  )
})

t.test('Debug.Health returns {status: "ok"}', async (t) => {
  t.strictSame((await serve(create(), 'Debug.Health')).replyJson, { status: 'ok' })
})

t.test('Debug.Stats returns requests, errors, uptime and memory of the service', async (t) => {
  const dispatcher = create()
  await serve(dispatcher, 'A.Log')
  await serve(dispatcher, 'A.Fail')
  await serve(dispatcher, 'A.Nope')
  startCall(dispatcher, 'A.Hang').cancel()
  const stats = (await serve(dispatcher, 'Debug.Stats')).replyJson as Record<string, number>
  t.equal(stats['requests'], 5, 'including this request')
  t.equal(stats['errors'], 2, 'a cancelled call is not an error')
  t.ok(Math.abs(stats['timestamp']! - Date.now() / 1000) < 5)
  t.ok(stats['started']! <= stats['timestamp']!)
  t.ok(stats['uptime']! >= 0 && stats['uptime']! < 60)
  t.ok(stats['memory']! > 10_000_000)
  t.ok(stats['gc']! >= 0)
  t.ok(process.platform !== 'linux' || stats['threads']! >= 1)
})

t.test('Debug.Log returns the last lines of the log', async (t) => {
  const dispatcher = create()
  for (let i = 0; i < 3; i++)
    await serve(dispatcher, 'A.Log', { metadata: 'x-request-id: r-1\r\n' })
  const sendRequest = async (body: object) =>
    ((await serve(dispatcher, 'Debug.Log', { body })).replyJson as { records: unknown[] }).records
  const all = await sendRequest({})
  t.equal(all.length, 3)
  t.match(all[0], { message: 'hello', metadata: { endpoint: 'A.Log', id: 'r-1', level: 'info' } })
  t.equal((await sendRequest({ count: 2 })).length, 2)
  t.equal((await sendRequest({ count: '2', since: '60' })).length, 2)
})

t.test('Debug.Trace returns the last calls, or the calls of one trace', async (t) => {
  const dispatcher = create()
  await serve(dispatcher, 'A.Log', { metadata: 'x-request-id: r-1\r\n' })
  await serve(dispatcher, 'A.Fail', { metadata: 'x-request-id: r-2\r\nauthorization: secret\r\n' })
  const sendRequest = async (body: object) =>
    (await serve(dispatcher, 'Debug.Trace', { body })).replyJson
  t.match(await sendRequest({ id: 'r-2' }), {
    spans: [{ trace: 'r-2', name: 'greeter.A.Fail', type: 'INBOUND', metadata: { code: '400' } }],
  })
  const { spans } = (await sendRequest({})) as { spans: object[] }
  t.equal(spans.length, 3)
  t.match(spans[0], { started: /^\d{19}$/ }, 'nanoseconds are beyond the safe integers')
  t.notMatch(JSON.stringify(spans), /secret/)
})

t.test('Debug endpoints are not described', async (t) => {
  t.notMatch(
    create()
      .describe()
      .map(({ name }) => name),
    [/Debug/],
  )
})

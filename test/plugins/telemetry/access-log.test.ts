import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { type Test } from 'tap'
import { GatewayError } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import plugin from '../../../plugins/telemetry/access-log.ts'
import {
  buildPlugin,
  createTestEnv,
  type RunOptions,
  runPlugin,
  type TestExchange,
  type TestRequest,
} from '../../../sdk/testing.ts'
import { createAccount } from '../../fixtures/auth-source.ts'

/** Sends requests through the plugin, and returns the contents of the log file. */
async function log(
  t: Pick<Test, 'same'> & { testdir(): string },
  requests: (TestRequest & RunOptions)[],
  options: object = {},
): Promise<string> {
  const env = createTestEnv(t.testdir())
  const built = buildPlugin(plugin, { path: 'access.log', ...options }, env)
  for (const request of requests) await runPlugin(built, request, request)
  await built.close?.()
  t.same(env.messages, [])
  return readFileSync(join(env.configDir ?? '', 'access.log'), 'latin1')
}

tap.test('logs a JSON line per request with client, request, response and time', async (t) => {
  const text = await log(t, [
    {
      method: 'POST',
      path: '/greeter/hello?name=x&token=secret',
      host: 'shop.example:8080',
      remoteAddress: '192.0.2.1',
      headers: { 'user-agent': 'curl/8', referer: 'https://shop.example/page?token=secret' },
      body: 'four',
      handle: async (x) => {
        await x.readBody()
        x.id = 'id-1'
        x.node = 'greeter-1'
        x.upstreamStartMs = x.startMs
        x.upstreamReplyMs = x.startMs + 1.25
        x.reply(201, 'created')
      },
      route: { service: 'go.mx.api.greeter', endpoint: '' },
    },
  ])
  t.match(text, /^\{.*\}\n$/)
  const { durationMs, ...line } = JSON.parse(text)
  t.ok(durationMs >= 0 && durationMs < 10_000)
  t.same(line, {
    time: '2023-11-14T22:13:20.000Z',
    id: 'id-1',
    client: '192.0.2.1',
    method: 'POST',
    path: '/greeter/hello',
    host: 'shop.example:8080',
    status: 201,
    bytesIn: 4,
    bytesOut: 7,
    upstreamMs: 1.25,
    service: 'go.mx.api.greeter',
    node: 'greeter-1',
    userAgent: 'curl/8',
    referer: 'https://shop.example/page',
  })
})

tap.test('logs the name of the configured route', async (t) => {
  const rule = { name: 'shop-api', scope: undefined, rewrite: undefined, handler: undefined }
  const text = await log(t, [{ route: { service: 'shop', endpoint: '', rule } }])
  t.match(JSON.parse(text), { service: 'shop', route: 'shop-api' })
})

tap.test('logs the cause of a failed attempt', async (t) => {
  const fail = (x: Exchange) => {
    x.node = 'a'
    x.failure = 'connect ECONNREFUSED "a"\u202e'
    throw new GatewayError('greeter', 502, 'bad gateway')
  }
  const text = await log(t, [{ handle: fail }, {}])
  const [failed, succeeded] = text.split('\n', 2).map((line) => JSON.parse(line))
  t.match(failed, { status: 502, node: 'a', error: 'connect ECONNREFUSED "a"\u202e' })
  t.notOk('error' in succeeded)
})

tap.test('logs queries only if enabled', async (t) => {
  const text = await log(t, [{ path: '/a?b=c', headers: { referer: 'http://x/?y' } }], {
    query: true,
  })
  t.match(JSON.parse(text), { path: '/a?b=c', referer: 'http://x/?y' })
})

tap.test('never logs credentials', async (t) => {
  const secret = 'hunter2'
  const headers = {
    authorization: `Bearer ${secret}`,
    cookie: `mx-token=${secret}`,
    'proxy-authorization': secret,
    'x-api-key': secret,
  }
  const reply = { headers: { 'set-cookie': `mx-token=${secret}` } }
  t.notMatch(await log(t, [{ path: `/a?token=${secret}`, headers, reply }]), secret)
})

tap.test('escapes control, bidi and other non-ASCII characters', async (t) => {
  const agent = 'a\tb\x80\x9b\xff"\\</script>'
  const text = await log(t, [
    { path: '/x\u202e\u2028\n\x1b[31m\x7f', headers: { 'user-agent': agent } },
  ])
  t.match(text, /^[\x20-\x7e]+\n$/)
  const line = JSON.parse(text)
  t.equal(line.path, '/x\u202e\u2028\n\x1b[31m\x7f')
  t.equal(line.userAgent, agent)
})

tap.test('truncates a field to 1024 characters', async (t) => {
  const line = JSON.parse(await log(t, [{ path: `/${'p'.repeat(5000)}` }]))
  t.equal(line.path, `/${'p'.repeat(1023)}...`)
})

tap.test('logs the values of each request when neighbors repeat values', async (t) => {
  const agents = ['a', 'a', 'b', '', 'a']
  const text = await log(
    t,
    agents.map((agent) => ({ host: `${agent}.example`, headers: { 'user-agent': agent } })),
  )
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.same(
    lines.map((line) => line.userAgent),
    agents,
  )
  t.same(
    lines.map((line) => line.host),
    agents.map((agent) => `${agent}.example`),
  )
})

tap.test('marks a request whose client disconnected as aborted', async (t) => {
  const env = createTestEnv(t.testdir())
  const built = buildPlugin(plugin, { path: 'access.log' }, env)
  await runPlugin(built, {}, { handle: (x) => (x as TestExchange).disconnect() })
  await built.close?.()
  t.match(JSON.parse(readFileSync(join(env.configDir ?? '', 'access.log'), 'latin1')), {
    aborted: true,
    status: 0,
    client: '127.0.0.1',
  })
})

tap.test('logs the configured fraction of requests and every failed one', async (t) => {
  const text = await log(
    t,
    Array.from({ length: 100 }, (_, i) => ({ reply: { status: i % 50 === 0 ? 500 : 200 } })),
    { sample: 0.25 },
  )
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).status)
  t.equal(lines.filter((status) => status === 500).length, 2)
  t.equal(lines.filter((status) => status === 200).length, 24)
})

tap.test('prints durations with three decimals', async (t) => {
  const at = (ms: number) => ({
    handle: (x: Exchange) => {
      x.upstreamStartMs = 1
      x.upstreamReplyMs = 1 + ms
      x.reply(200)
    },
  })
  const text = await log(t, [0.001, 0.0456, 0.5, 12, 1234.5678].map(at))
  t.same(text.match(/"upstreamMs":[\d.]+/g), [
    '"upstreamMs":0.001',
    '"upstreamMs":0.046',
    '"upstreamMs":0.500',
    '"upstreamMs":12.000',
    '"upstreamMs":1234.568',
  ])
})

tap.test('fails at startup for a file that cannot be written', async (t) => {
  t.throws(
    () => buildPlugin(plugin, { path: 'no/such/folder/a.log' }, createTestEnv(t.testdir())),
    /plugin "access-log": ENOENT/,
  )
})

tap.test('logs the authenticated account', async (t) => {
  const handle = async (x: Exchange): Promise<void> => {
    const account = createAccount({ id: 'ja"ne', issuer: 'acme', scopes: ['admin'], apiKey: '0f' })
    x.session = { account, id: 'token-1', issuedMs: 0, endsMs: 1 }
    x.reply(200)
  }
  const text = await log(t, [{ handle }, {}])
  const [known, unknown] = text.split('\n', 2).map((line) => JSON.parse(line))
  t.match(known, { account: 'ja"ne', namespace: 'acme', apiKey: '0f' })
  t.notMatch(text, /token-1|admin/)
  t.notOk('account' in unknown)
})

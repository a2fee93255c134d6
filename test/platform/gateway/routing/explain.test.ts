import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMemoryRegistry } from '../../../../adapters/registry/memory.ts'
import type { Authorizer } from '../../../../core/contracts/auth.ts'
import { createDisposer } from '../../../../lib/async/disposer.ts'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { type ExplainedRequest, explain } from '../../../../platform/gateway/routing/explain.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import { openAuthorizer } from '../../../fixtures/authorizer.ts'
import { openRawBackend } from '../../../fixtures/raw-backend.ts'
import { makeService } from '../../../fixtures/services.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

async function ask(
  t: Test,
  request: Partial<ExplainedRequest>,
  words: readonly string[],
  authorizer?: Authorizer,
) {
  const configuration = await configurationFrom(readFlags([...words], 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  return explain(
    { method: 'GET', path: '/', headers: {}, ...request },
    { configuration, authorizer, log: createLog('silent') },
    closing,
  )
}

const WORDS = ['--backend', 'greeter=127.0.0.1:9001', '--backend', 'greeter=127.0.0.1:9002']

t.test('returns stages, route, handler, nodes and the selected node', async (t) => {
  const result = await ask(t, { path: '/greeter/hello' }, [...WORDS, '--handler=proxy'])
  t.match(result, {
    ...{ handler: 'proxy', namespace: 'go.mx.api', account: '', rulings: [], known: [] },
    route: { service: 'go.mx.api.greeter' },
    nodes: [{ address: '127.0.0.1:9001', protocol: 'http', draining: false }, {}],
    answer: undefined,
  })
  t.equal(result.sentTo, result.nodes![0]!.id)
  t.match(result.stages.at(-1), { plugin: undefined, hook: 'handle' })
})

t.test('sends nothing to a node', async (t) => {
  const backend = await openRawBackend(t)
  const words = ['--backend', `greeter=127.0.0.1:${backend.port}`, '--handler=proxy']
  t.ok((await ask(t, { path: '/greeter/hello' }, words)).sentTo)
  t.equal(backend.connections.length, 0)
})

t.test('returns the response and all services for an unknown path', async (t) => {
  const result = await ask(t, { path: '/greter/hello' }, WORDS)
  t.match(result, {
    ...{ route: undefined, handler: undefined, nodes: undefined, sentTo: undefined },
    answer: { status: 404, error: { code: 404, id: 'go.mx.api.greter' } },
    known: ['go.mx.api.greeter'],
  })
})

t.test('returns access decisions with the deciding rule', async (t) => {
  const { authorizer } = await openAuthorizer(t, {
    ...{ id: 'closed', scope: '', access: 'DENIED', priority: 1 },
    resource: { type: '*', name: '*', endpoint: '*' },
  })
  const words = [...WORDS, '--handler=proxy', '--auth=mx://127.0.0.1:1']
  const result = await ask(t, { path: '/greeter/hello' }, words, authorizer)
  t.match(result, {
    rulings: [{ namespace: 'mx', granted: false, rule: { id: 'closed' } }],
    answer: { status: 401 },
  })
  t.equal(result.sentTo, undefined)
})

t.test('rejects malformed requests like a listener, and accepts WebSocket requests', async (t) => {
  const words = [...WORDS, '--handler=proxy', '--max_body=3']
  for (const request of [
    { path: '/greeter/a%2fb' },
    { path: '/greeter/../b' },
    { path: '/greeter', headers: { host: ['a', 'b'] } },
    { path: '/greeter', headers: { 'content-length': 'x' } },
  ])
    t.match(await ask(t, request, words), {
      ...{ stages: [], route: undefined, sentTo: undefined, answer: { status: 400 } },
      why: 'the listener rejected the request before any plugin ran',
    })
  t.match(await ask(t, { method: 'TRACE', path: '/greeter' }, words), { answer: { status: 405 } })
  const long = await ask(t, { method: 'POST', path: '/greeter', body: 'long' }, words)
  t.match(long.answer, { status: 413 })
  const socket = { path: '/greeter', headers: { Upgrade: 'websocket' } }
  t.ok((await ask(t, socket, [...WORDS, '--handler=web'])).sentTo)
})

t.test('handles %2F like the gateway', async (t) => {
  const request = { path: '/greeter/a%2fb' }
  const words = [...WORDS, '--handler=proxy', '--encoded_slash_services=greeter']
  t.ok((await ask(t, request, words)).sentTo)
  const others = [...WORDS, '--handler=proxy', '--encoded_slash_services=other']
  t.match((await ask(t, request, others)).answer, { status: 400 })
})

t.test('returns the settings in force for the service', async (t) => {
  const words = [...WORDS, '--handler=proxy', '--reply_timeout=7s', '--balance=p2c']
  t.match((await ask(t, { path: '/greeter' }, words)).settings, {
    ...{ balance: 'p2c', keep_alive: '4s', max_connection_age: '5m' },
    ...{ 'timeout.request': 'none', 'timeout.response': '7s' },
  })
  t.equal((await ask(t, { path: '/' }, words)).settings, undefined)
})

t.test('names the registry as the source of a setting', async (t) => {
  const registry = createMemoryRegistry()
  const metadata = {
    ...{ handler: 'proxy', 'mx/timeout.response': '2s', 'mx/balance': 'p2c' },
    ...{ 'mx/host_header': 'backend', 'mx/keep_alive': 'soon' },
  }
  await registry.register!({ ...makeService('go.mx.api.shop', ['127.0.0.1:9001']), metadata })
  const file = join(makeTempFolder(t, 'explain'), 'mx.yaml')
  writeFileSync(file, 'services: { shop: { balance: random } }')
  const words = ['--registry=memory', `--config=${file}`]
  const configuration = await configurationFrom(readFlags(words, 'api'), {})()
  const closing = createDisposer()
  t.teardown(closing.close)
  const { settings } = await explain(
    { method: 'GET', path: '/shop/', headers: {} },
    { configuration, authorizer: undefined, registry, log: createLog('silent') },
    closing,
  )
  t.match(settings, {
    ...{ 'timeout.response': '2s (registry)', host: 'backend (registry)' },
    ...{ balance: 'random', keep_alive: '4s' },
  })
})

t.test('does not publish events', async (t) => {
  const request = { method: 'POST', path: '/user/created', body: '{}' }
  t.match(await ask(t, request, ['--handler=event']), {
    ...{ handler: 'event', sentTo: 'topic' },
    route: { service: 'go.mx.api.user', endpoint: 'created' },
  })
})

import t, { type Test } from 'tap'
import {
  type ConsulClient,
  createConsulClient,
} from '../../../../adapters/registry/consul/http/client.ts'
import { createQueries, type Queries } from '../../../../adapters/registry/consul/queries.ts'
import { waitUntil } from '../../../contracts/registry.ts'
import { type ConsulDouble, sendJson, startConsulDouble } from '../../../fixtures/consul-double.ts'

function open(t: Test, double: ConsulDouble): Queries & Pick<ConsulClient, 'era'> {
  const client = createConsulClient({
    ...double,
    maxWaiting: 4,
    maxCalls: 4,
    maxResponseBytes: 1000,
  })
  t.teardown(client.close)
  return { ...createQueries(client, { domain: 'mx', warn: () => {} }), era: client.era }
}

t.test('sends index and wait time only for blocking queries', async (t) => {
  const double = await startConsulDouble(t, ({ path }, response) =>
    sendJson(response, path.includes('health') ? [] : {}),
  )
  const { queryService, queryCatalog } = open(t, double)
  const { signal } = new AbortController()
  await queryService('a.b')
  await queryService('a.b', { index: '7', era: 0, waitSeconds: 1.5, signal })
  await queryCatalog()
  await queryCatalog({ index: undefined, era: 0, waitSeconds: 1.5, signal })
  t.same(
    double.requests.map(({ path, query }) => `${path}?${query}`),
    [
      '/v1/health/service/a.b?',
      '/v1/health/service/a.b?index=7&wait=1500ms',
      '/v1/catalog/services?',
      '/v1/catalog/services?',
    ],
  )
})

t.test('treats an empty filtered response as a denial, but not a shortened one', async (t) => {
  const filtered = { 'x-consul-results-filtered-by-acls': 'true' }
  const web = {
    Node: { Node: 'n', Address: '10.0.0.1' },
    Service: { ID: 'web', Service: 'web', Port: 80 },
  }
  const double = await startConsulDouble(t, ({ path }, response) =>
    sendJson(response, path.endsWith('/web') ? [web] : path.includes('health') ? [] : {}, filtered),
  )
  const { queryService, readService, queryCatalog, readCatalog } = open(t, double)
  t.equal(readService('web', await queryService('web')).length, 1)
  const hidden = await queryService('shop')
  t.throws(() => readService('shop', hidden), {
    denied: true,
    message: /it needs service:read "shop" and node:read/,
  })
  const catalog = await queryCatalog()
  await t.rejects(readCatalog(catalog), { denied: true, message: /service:read and node:read/ })
})

t.test('names the address of a server that is not Consul', async (t) => {
  for (const [text, catalog, list] of [
    ['<html>', 'it did not return a catalog', 'Unexpected token'],
    ['{"a":', 'its catalog is truncated', '.*JSON'],
    ['{"a":1}', undefined, 'it did not return a list of instances'],
  ] as const) {
    const double = await startConsulDouble(t, (_, response) => response.end(text))
    const { queryService, readService, queryCatalog, readCatalog } = open(t, double)
    const notConsul = `the server at 127.0.0.1:${double.port} is not Consul: `
    const response = await queryCatalog()
    if (catalog !== undefined)
      await t.rejects(readCatalog(response), { message: notConsul + catalog })
    const service = await queryService('shop')
    const message = new RegExp(`^${notConsul.replaceAll('.', '\\.')}${list}`)
    t.throws(() => readService('shop', service), { denied: false, message })
  }
})

t.test('sends no index after a connection was lost', async (t) => {
  const double = await startConsulDouble(t, ({ query }, response) => {
    if (query.get('index') === '9') response.socket?.destroy()
    else sendJson(response, [], { 'x-consul-index': '7' })
  })
  const { queryService, era } = open(t, double)
  const { signal } = new AbortController()
  const sendRequest = async (index: string, requests: number): Promise<number> =>
    (await queryService('web', { index, era: requests, waitSeconds: 1, signal })).era
  const first = await queryService('web')
  t.equal(await sendRequest('7', first.era), first.era, 'no connection was lost')
  double.closeIdle()
  await waitUntil(() => era() > first.era)
  const second = await sendRequest('7', first.era)
  t.ok(second > first.era)
  const third = await sendRequest('9', second)
  t.ok(third > second, 'a connection lost during the query, which is retried')
  t.same(
    double.requests.map(({ query }) => query.get('index')),
    [null, '7', null, '9', null],
  )
})

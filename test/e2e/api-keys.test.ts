// API keys of accounts, as consumers with quotas, through a server and a separate gateway of the same platform.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openConfiguredGateway } from '../fixtures/configured-gateway.ts'
import { openEcho } from '../fixtures/echo-backend.ts'
import { openServer } from '../fixtures/server.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const toConfiguration = (port: number): string => `
services:
  shop:
    nodes: ["http://127.0.0.1:${port}"]
    plugins:
      - quota: { rules: [{ name: requests, limit: 6, period: month, key: api_key }] }
routes:
  - match: { path: "/shop/**" }
    service: shop
    handler: proxy
consumers:
  - account: partner
    plugins: [ headers: { reply: { set: { x-consumer: partner } } } ]
`

async function open(t: Test) {
  const port = await openEcho(t, 'shop')
  const folder = makeTempFolder(t, 'api-keys')
  const file = join(folder, 'mx.yaml')
  writeFileSync(file, toConfiguration(port))
  const server = await openServer(t, [`--config=${file}`])
  const call = async (endpoint: string, request: object) => {
    const { status, body } = await server.post(`/auth/${endpoint}`, request)
    if (status !== 200) throw new Error(`${endpoint}: ${body.Detail}`)
    return body
  }
  await call('generate', { id: 'partner', scopes: ['orders'] })
  const create = (request: object = {}) =>
    call('apiKeys/create', { account: 'partner', name: 'shop', ...request })
  const send = async (key: string) => {
    const { status, headers } = await fetch(`${server.url}/shop/a`, {
      headers: { 'x-api-key': key },
    })
    return { status, consumer: headers.get('x-consumer'), left: headers.get('ratelimit') }
  }
  const readEvents = async () => {
    const { body } = await server.post('/events/store/read', { topic: 'request-quotas' })
    return body.events.map(({ payload }: { payload: string }) =>
      JSON.parse(Buffer.from(payload, 'base64').toString()),
    )
  }
  return { ...server, port, call, create, send, readEvents }
}

t.test('a key is a consumer with a quota until it is deleted', async (t) => {
  const { call, create, send, get, readEvents } = await open(t)
  const { key, id } = await create()
  t.match(await send(key), { status: 200, consumer: 'partner', left: /^"requests";r=5;t=\d+$/ })
  const rotated = await call('apiKeys/rotate', { id, grace: 3600 })
  for (const each of [key, rotated.key, key, rotated.key, key])
    t.match(await send(each), { status: 200 }, 'both secrets share the count')
  t.match(await send(key), { status: 429, left: /^"requests";r=0;/ })
  t.match(await send((await create()).key), { status: 200 }, 'another key')
  const { body } = await get('/auth/requestQuotas/list?period=month')
  t.match(
    body.usage.find(({ api_key }: { api_key: string }) => api_key === id),
    { account: 'partner', quota: 'requests', used: 6, limit: 6 },
  )
  t.equal(body.usage.length, 2)
  await call('requestQuotas/reset', { account: 'partner' })
  const events = await readEvents()
  t.match(events, [
    { action: 'quota.warning', account: 'partner', apiKey: id, used: 5, limit: 6 },
    { action: 'quota.exhausted', used: 6 },
  ])
  await call('apiKeys/delete', { id })
  const endMs = Date.now() + 1000
  while ((await send(rotated.key)).status !== 401)
    if (Date.now() > endMs) throw new Error('a deleted key is still accepted after a second')
})

t.test('a separate gateway shares keys and counts with the server', async (t) => {
  const { proxy, port, create, send, call } = await open(t)
  await call('generate', {
    id: 'gateway',
    type: 'service',
    scopes: ['service'],
    secret: 'a secret',
  })
  const { key } = await create({ limits: { month: 4 } })
  const gateway = await openConfiguredGateway(t, toConfiguration(port), {
    env: { MX_AUTH: `mx://${proxy}`, MX_AUTH_ID: 'gateway', MX_AUTH_SECRET: 'a secret' },
  })
  const headers = { 'x-api-key': key }
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) {
    statuses.push((await send(key)).status)
    statuses.push((await gateway.send('GET', '/shop/a', headers)).status)
  }
  t.equal(statuses.filter((status) => status === 200).length, 4)
  t.same(new Set(statuses), new Set([200, 429]))
})

import t from 'tap'
import type { Account, Rule } from '../../../core/contracts/auth.ts'
import { Client } from '../../../sdk/client/client.ts'
import { openAuthorizer } from '../../fixtures/authorizer.ts'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { openPlatformRuntime } from '../../fixtures/platform-runtime.ts'

const ALL: Rule = {
  ...{ id: 'all', scope: '', access: 'GRANTED', priority: 0 },
  resource: { type: '*', name: '*', endpoint: '*' },
}

t.test('lets members read and only administrators of the namespace write', async (t) => {
  const { authorizer, issue } = await openAuthorizer(t, ALL)
  const runtime = await openPlatformRuntime(t, { authorizer })
  const account = (overrides: Partial<Account>): Account => ({
    ...{ id: 'a', name: 'a', type: 'user', issuer: 'mx', scopes: [], metadata: {} },
    ...overrides,
  })
  const clients = await Promise.all(
    [{}, { scopes: ['admin'] }, { issuer: 'acme', scopes: ['admin'] }].map(async (overrides) => {
      const { address } = runtime
      const client = new Client({
        address,
        token: await issue(account(overrides)),
        inProcess: false,
      })
      t.teardown(() => client.close())
      return client
    }),
  )
  const [member, admin, stranger] = clients as [Client, Client, Client]
  const service = { name: 'shop', source: 'source://shop:latest' }
  const read = (client: Client) => client.call('runtime', 'Runtime.Read')
  const others = (client: Client): Promise<unknown>[] => [
    ...['Create', 'Update', 'Delete'].map((method) =>
      client.call('runtime', `Runtime.${method}`, { resource: { service } }),
    ),
    client.stream('runtime', 'Runtime.Logs', { service: 'shop' }).next(),
    client.stream('runtime', 'Build.Read', { service }).next(),
    client.stream('runtime', 'Source.Upload', [{ service }]).next(),
  ]
  await t.rejects(read(runtime.client), { code: 401, message: 'An account is required' })
  await t.rejects(read(stranger), { code: 403, message: 'Access denied to namespace' })
  t.same(await read(member), { services: [] })
  t.same(await read(admin), { services: [] })
  for (const response of others(runtime.client)) await t.rejects(response, { code: 401 })
  for (const response of others(stranger)) await t.rejects(response, { code: 403 })
  for (const response of others(member))
    await t.rejects(response, { code: 401, message: /^Permission denied: / })
  for (const response of others(admin)) await t.rejects(response, { code: /400|404/ })
})

t.test('returns the requested number of log lines', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  const logs = (options: object) =>
    runtime.client.stream<unknown, { message: string; timestamp: number; metadata: object }>(
      ...(['runtime', 'Runtime.Logs', { service: 'shop', ...options }] as const),
    )
  const { value } = await logs({ count: '1' }).next()
  t.match(value, { message: 'up one', metadata: { stream: 'stdout', instance: /./ } })
  t.ok(Math.abs(Date.now() - value!.timestamp) < 60_000)
  const later = Math.ceil(Date.now() / 1000) + 60
  t.match(await logs({ since: later }).next(), { done: true })
  const following = logs({ stream: true })
  t.match((await following.next()).value, { message: 'up one' })
  await following.return()
  await t.rejects(logs({ service: 'none' }).next(), { code: 404 })
})

t.test('ends followed logs with an error when the service stops', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  const followed = runtime.client.stream('runtime', 'Runtime.Logs', {
    ...{ service: 'shop', stream: true },
  })
  await followed.next()
  const next = t.rejects(followed.next(), { code: 503, message: 'the runtime is stopping' })
  runtime.endStreams()
  await next
})

t.test('reports each change with its account', async (t) => {
  const events: unknown[] = []
  const runtime = await openPlatformRuntime(t, {
    events: async (event) => {
      events.push(event)
      throw new Error('disk full')
    },
  })
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  await runtime.update('shop')
  await runtime.call('Delete', 'shop')
  t.match(events, [
    { action: 'service.created', namespace: 'mx', name: 'shop', version: 'latest', account: '' },
    { action: 'service.updated' },
    { action: 'service.deleted' },
  ])
  t.match(runtime.lines.join(''), /"reason":"disk full".*cannot store runtime event/)
})

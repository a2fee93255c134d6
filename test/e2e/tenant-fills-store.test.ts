// A tenant fills the store, and operators can still write.
import t from 'tap'
import { makePlainProgram, openDeployer } from '../fixtures/deployer.ts'
import { startPostgres } from '../fixtures/postgres.ts'
import { openClient } from '../fixtures/sdk-services.ts'
import { logIn, openServer } from '../fixtures/server.ts'

t.setTimeout(60_000)

const acme = { namespace: 'acme' }

for (const name of ['memory', 'postgres'] as const)
  t.test(`operators can write to a store filled by a tenant (${name})`, async (t) => {
    const database = name === 'postgres' ? await startPostgres(t) : undefined
    if (name === 'postgres' && database === undefined) return
    const { proxy, token, url, post } = await openServer(t, [
      ...(database === undefined
        ? ['--store=memory']
        : [`--store=${database.url()}`, '--config_secret_key=file']),
      '--max_store=1mb',
      '--quota_store=acme=none',
    ])
    const deployer = openDeployer(t, openClient(t, { proxy, token }))
    await deployer.create('shop', makePlainProgram('hi'))
    t.match(await deployer.settled('shop'), { metadata: { status: 'running' } })
    const secret = 'a secret of joe'
    const account = { id: 'joe', secret, scopes: ['admin'], options: acme }
    t.match(await post('/auth/generate', account), { status: 200 })
    t.match(await post('/auth/generate', { id: 'ann', options: acme }), { status: 200 })
    const joe = await logIn(url, { id: 'joe', secret }, 'acme')

    const headers = { authorization: `Bearer ${joe}`, 'mx-namespace': 'acme' }
    let count = 0
    const write = (bytes: number) => {
      const record = { key: `k${count++}`, value: Buffer.alloc(bytes).toString('base64') }
      return post('/store/write', { record }, headers)
    }
    for (const bytes of [65_536, 2048, 0]) while ((await write(bytes)).status === 200);

    const full = { status: 507, body: { Detail: /^the store is full/ } }
    t.match(await write(0), full)
    const createRule = (id: string) => {
      const resource = { type: 'service', name: 'a'.repeat(100), endpoint: '*' }
      const rule = { id, scope: 'b'.repeat(100), access: 'GRANTED', resource }
      return post('/auth/Rules/Create', { rule }, headers)
    }
    for (let i = 0; (await createRule(`rule-${i}`)).status === 200; i++);
    t.match(
      await createRule('one-more'),
      full,
      'the tenant cannot fill the reserve with rules either',
    )
    t.match(await post('/auth/generate', { id: 'kim' }, headers), full, 'or with accounts')
    t.match(await post('/auth/revoke', { token: joe }, headers), full, 'or with revoked tokens')

    const ok = { status: 200 }
    const operator = await logIn(url)
    t.ok(operator, 'operators log in')
    t.match(await post('/auth/generate', { id: 'eve', scopes: ['admin'] }), ok)
    const ban = {
      ...{ id: 'ban', scope: '*', access: 'DENIED', priority: 1000 },
      resource: { type: 'service', name: 'store', endpoint: 'Store.Write' },
    }
    t.match(await post('/auth/Rules/Create', { rule: ban, options: acme }), ok)
    t.match(await post('/auth/revoke', { id: 'joe', options: acme }), ok)
    t.match(await post('/auth/Accounts/Delete', { id: 'ann', options: acme }), ok)
    await deployer.create('second', makePlainProgram('hi'))
    t.match(await deployer.settled('second'), { metadata: { status: 'running' } })
    for (const name of ['shop', 'second']) await deployer.call('Delete', name)
    t.same(await deployer.read(), [])
    t.match(await write(0), { status: 401 }, 'tokens of the tenant are invalid')

    const deleted = { key: 'k0', options: { database: 'acme' } }
    t.match(await post('/store/delete', deleted), ok, 'operators free space')
    t.match(await post('/store/write', { record: { key: 'mine', value: '' } }), ok)
  })

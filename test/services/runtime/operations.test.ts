import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { makeRuntimeState, openPlatformRuntime } from '../../fixtures/platform-runtime.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const SOURCE = 'source://shop:latest'

t.test('reports the invalid field of a request', async (t) => {
  const { client, call, read } = await openPlatformRuntime(t)
  const create = (service: object, options: object = {}) =>
    client.call('runtime', 'Runtime.Create', { resource: { service }, options })
  const invalid: [object, object, RegExp][] = [
    [{}, {}, /service\.name is missing/],
    [{ name: '../x' }, {}, /name.*must be letters/],
    [{ name: 'shop', version: '-x' }, {}, /version.*must be a branch/],
    [{ name: 'shop' }, {}, /service\.source is missing/],
    [{ name: 'shop', source: SOURCE }, {}, /no source has been uploaded for shop@latest/],
    [
      { name: 'shop', source: 'source://other:latest' },
      {},
      /source must be source:\/\/shop:latest/,
    ],
    [{ name: 'shop', source: 'ftp://a/b' }, {}, /invalid repository address/],
    [
      { name: 'shop', source: SOURCE },
      { image: 'nginx' },
      /options\.image: not supported, because this server runs processes/,
    ],
    [{ name: 'auth', source: 'source://auth:latest' }, {}, /^the name auth is reserved/],
    [{ name: 'Auth', source: 'source://Auth:latest' }, {}, /^the name Auth is reserved/],
    [
      { name: 'shop', source: SOURCE },
      { env: ['MX_SERVICE_NAME=store'] },
      /^the name store is reserved/,
    ],
    [
      { name: 'shop', source: SOURCE },
      { secrets: { MX_SERVICE_NAME: 'auth' } },
      /^the name auth is reserved/,
    ],
    [{ name: 'shop', source: SOURCE }, { env: ['no'] }, /env.*<name>=<value>/],
    [{ name: 'shop', source: SOURCE }, { instances: 1000 }, /instances/],
    [{ name: 'shop', source: SOURCE }, { namespace: '../x' }, /namespace/],
  ]
  for (const [service, options, message] of invalid)
    await t.rejects(create(service, options), { code: 400, message }, String(message))
  await t.rejects(call('Update', 'shop'), { code: 404, message: 'service not found: shop@latest' })
  await t.rejects(call('Delete', 'shop'), { code: 404, message: 'service not found: shop@latest' })
  await t.rejects(client.call('runtime', 'Runtime.Create', {}), {
    ...{ code: 400, message: 'request.resource.service is missing' },
  })
  t.same(
    await client.call('runtime', 'Runtime.Create', { resource: { namespace: { name: 'a' } } }),
    {},
  )
  t.same(await read(), [])
})

t.test('rejects images on a server that runs processes, even in an update', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  await t.rejects(runtime.update('shop', undefined, { image: 'nginx' }), {
    ...{ code: 400, message: /options\.image: not supported, because this server runs processes/ },
  })
})

t.test('rejects an existing name, and updates the object with force', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await t.rejects(runtime.create('shop', makePlainProgram('two')), {
    ...{ code: 409, message: 'already exists: shop@latest' },
  })
  await t.rejects(runtime.create('Shop', makePlainProgram('two')), {
    ...{
      code: 409,
      message: /^the name Shop differs from shop@latest only in letter case/,
    },
  })
  await runtime.settled('shop')
  await runtime.create('shop', makePlainProgram('two'), { force: true })
  await runtime.settled('shop')
  const resource = { service: { name: 'shop', source: 'source://shop:latest' } }
  await t.rejects(runtime.call('Update', 'shop', { resource }), {
    ...{ code: 409, message: /^another deployment of shop@latest has used this upload/ },
  })
  t.equal(await runtime.registrar.call('shop'), 'two')
})

t.test('rejects a rollback before the first update', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('one'))
  await runtime.settled('shop')
  const rollBack = () => runtime.call('Update', 'shop', { rollback: true })
  await t.rejects(rollBack(), {
    code: 400,
    message: /shop@latest has no previous revision to roll back to/,
  })
  await runtime.update('shop', makePlainProgram('two'))
  await runtime.settled('shop')
  await rollBack()
  await runtime.settled('shop')
  t.equal(await runtime.registrar.call('shop'), 'one')
})

t.test('rebuilds an upload with another command', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const files = { ...makePlainProgram('one'), 'other.cjs': makePlainProgram('other')['main.cjs']! }
  await runtime.create('shop', files)
  const { metadata } = await runtime.settled('shop')
  await runtime.update('shop', undefined, { command: ['node', 'other.cjs'] })
  const next = await runtime.settled('shop')
  t.not(next.metadata['build'], metadata['build'])
  t.equal(await runtime.registrar.call('shop'), 'other')
})

t.test('an update starts an object that never started from its upload', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const uploads = () => readdirSync(join(runtime.folder, 'uploads')).length
  await runtime.create('shop', { 'other.cjs': makePlainProgram('one')['main.cjs']! })
  t.match(await runtime.settled('shop'), { status: 7, metadata: { error: /nothing to run/ } })
  await runtime.update('shop', undefined, { command: ['node', 'other.cjs'], protocol: 'http' })
  t.match(await runtime.settled('shop'), { status: 4 })
  t.equal(await runtime.registrar.call('shop'), 'one')
  await waitUntil(() => uploads() === 0)
})

t.test(
  'deletes the old upload when a new source replaces a workload that never started',
  async (t) => {
    const runtime = await openPlatformRuntime(t)
    const uploads = () => readdirSync(join(runtime.folder, 'uploads')).length
    await runtime.create('shop', { 'none.txt': '' })
    t.match(await runtime.settled('shop'), { status: 7 })
    await runtime.update('shop', { 'neither.txt': '' })
    t.match(await runtime.settled('shop'), { status: 7 })
    t.equal(uploads(), 1)
    await runtime.call('Delete', 'shop')
    t.equal(uploads(), 0)
  },
)

t.test('replaces an object that never started', async (t) => {
  const runtime = await openPlatformRuntime(t)
  await runtime.create('shop', { 'none.txt': '' }, { env: ['OLD=1'] })
  t.match(await runtime.settled('shop'), { status: 7 })
  await runtime.create('shop', makePlainProgram('two'))
  t.match(await runtime.settled('shop'), { status: 4 })
  t.equal(await runtime.registrar.call('shop'), 'two')
  const [address] = runtime.registrar.addresses.get('shop')!
  const old = await fetch(`http://${address}/OLD`)
  t.equal(await old.text(), 'two', 'the old program continues to serve')
  await waitUntil(() => readdirSync(join(runtime.folder, 'uploads')).length === 0)
})

t.test('leaves a service of another server to that server', async (t) => {
  const sharedState = makeRuntimeState(t)
  const firstServer = await openPlatformRuntime(t, { server: 'one' }, sharedState)
  await firstServer.create('shop', makePlainProgram('one'))
  await firstServer.settled('shop')
  const secondServer = await openPlatformRuntime(
    t,
    { server: 'two' },
    { ...sharedState, folder: makeTempFolder(t, 'runtime') },
  )
  t.match(await secondServer.settled('shop'), { status: 4 }, 'its state is reported')
  t.same(
    secondServer.registrar.addresses.get('shop'),
    undefined,
    'the second server does not run it',
  )
  const unreachable = { code: 503, message: /server one/ }
  await t.rejects(secondServer.upload('shop', makePlainProgram('two')), unreachable)
  await t.rejects(secondServer.logs('shop'), unreachable)
  await t.rejects(secondServer.output('shop'), unreachable)
  await secondServer.update('shop', undefined, { env: ['one=1'] })
  t.match(
    await firstServer.settled('shop'),
    { status: 4 },
    'the update reaches the server that runs it',
  )
  await secondServer.call('Delete', 'shop')
  t.same(firstServer.registrar.addresses.get('shop'), [])
  t.same(await firstServer.read(), [])
})

t.test(
  "deletes the record of an unreachable server's service with force, even repeatedly",
  async (t) => {
    const sharedState = makeRuntimeState(t)
    const firstServer = await openPlatformRuntime(t, { server: 'one' }, sharedState)
    await firstServer.create('shop', makePlainProgram('one'))
    await firstServer.settled('shop')
    await firstServer.close()
    const otherHost = { ...sharedState, folder: makeTempFolder(t, 'runtime') }
    const secondServer = await openPlatformRuntime(
      t,
      { server: 'two', otherServerMs: 50 },
      otherHost,
    )
    const unreachable = {
      code: 503,
      message: /server one, which runs the service, is unreachable; use force/,
    }
    await t.rejects(secondServer.call('Delete', 'shop'), unreachable)
    await t.rejects(
      secondServer.call('Delete', 'shop'),
      unreachable,
      'an unavailable server is not considered deleted',
    )
    const repeated = secondServer.call('Create', 'shop', {
      resource: { service: { name: 'shop', source: SOURCE } },
    })
    await t.rejects(repeated, { code: 409, message: 'shop@latest is being deleted' })
    await secondServer.call('Delete', 'shop', { options: { force: true } })
    t.same(await secondServer.read(), [])
    t.equal(
      await secondServer.accounts.find('mx', 'shop@latest'),
      undefined,
      'its account is also deleted',
    )
    await secondServer.create('shop', makePlainProgram('two'))
    t.match(await secondServer.settled('shop'), { status: 4 })
  },
)

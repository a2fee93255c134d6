import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makePlainProgram } from '../../fixtures/deployer.ts'
import { makeRuntimeState, openPlatformRuntime } from '../../fixtures/platform-runtime.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { openRegistry } from '../../fixtures/sdk-services.ts'

t.test('registers the runtime service with its endpoints', async (t) => {
  const registry = openRegistry(t)
  await openPlatformRuntime(t, { registry })
  const [service] = await registry.getService('runtime')
  t.strictSame(
    service!.endpoints.map(({ name, metadata }) => `${name} ${metadata['stream'] ?? ''}`.trim()),
    [
      'Runtime.Create',
      'Runtime.Read',
      'Runtime.Update',
      'Runtime.Delete',
      'Runtime.Watch true',
      'Runtime.Logs true',
      'Source.Upload true',
      'Build.Read true',
    ],
  )
})

t.test('stops workloads with the service and starts them again', async (t) => {
  const sharedState = makeRuntimeState(t)
  const firstServer = await openPlatformRuntime(t, {}, sharedState)
  await firstServer.create('shop', makePlainProgram('hello'), { env: ['A=1'], secrets: { B: '2' } })
  t.match(await firstServer.settled('shop'), { status: 4 })
  t.equal(await firstServer.registrar.call('shop'), 'hello')
  await firstServer.close()
  t.same(firstServer.registrar.addresses.get('shop'), [])

  const secondServer = await openPlatformRuntime(t, {}, sharedState)
  t.match(await secondServer.settled('shop'), { status: 4 })
  await waitUntil(() => secondServer.registrar.addresses.get('shop')?.length === 1)
  t.equal(await secondServer.registrar.call('shop'), 'hello')
  await secondServer.call('Delete', 'shop')
})

t.test(
  "retains the secret of a service's account across restarts, and deletes both together",
  async (t) => {
    const sharedState = makeRuntimeState(t)
    const firstServer = await openPlatformRuntime(t, {}, sharedState)
    await firstServer.create('shop', makePlainProgram('hello'))
    await firstServer.settled('shop')
    const getSecret = async ({ registrar }: typeof firstServer) => {
      const [address] = registrar.addresses.get('shop')!
      return (await fetch(`http://${address}/MX_AUTH_SECRET`)).text()
    }
    const secret = await getSecret(firstServer)
    t.match(await firstServer.accounts.logIn('mx', 'shop@latest', secret, 'x'), { type: 'service' })
    const page = await sharedState.store.list(
      { database: 'mx', table: 'runtime' },
      { prefix: 'service:' },
    )
    t.notMatch(Buffer.from(page.records[0]!.value).toString(), secret)
    await firstServer.close()

    const secondServer = await openPlatformRuntime(t, {}, sharedState)
    await waitUntil(() => secondServer.registrar.addresses.get('shop')?.length === 1)
    t.equal(await getSecret(secondServer), secret)
    await secondServer.call('Delete', 'shop')
    t.equal(await secondServer.accounts.find('mx', 'shop@latest'), undefined)
  },
)

t.test('deletes all files of a deleted service', async (t) => {
  const { folder, ...runtime } = await openPlatformRuntime(t)
  await runtime.create('shop', makePlainProgram('hello'))
  await runtime.settled('shop')
  await runtime.upload('shop', makePlainProgram('never run'))
  await runtime.call('Delete', 'shop')
  t.same(readdirSync(join(folder, 'uploads')), [])
  t.same(readdirSync(join(folder, 'builds', 'mx', 'shop')), [])
  const { records } = await runtime.store.list(
    { database: 'mx', table: 'runtime' },
    { prefix: 'service:' },
  )
  t.same(records, [])
})

t.test('restarts an interrupted build on the next start', async (t) => {
  const sharedState = makeRuntimeState(t)
  const firstServer = await openPlatformRuntime(t, {}, sharedState)
  await firstServer.create('shop', makePlainProgram('one'))
  await firstServer.settled('shop')
  const gate = join(sharedState.folder, 'gate')
  const slow = { ...makePlainProgram('two'), 'mx.yaml': makeSlowProject(gate) }
  await firstServer.update('shop', slow)
  for await (const { metadata } of firstServer.follow('shop'))
    if (metadata['update'] === 'building') break
  await firstServer.close()
  t.same(firstServer.registrar.addresses.get('shop'), [])

  writeFileSync(gate, '')
  const secondServer = await openPlatformRuntime(t, {}, sharedState)
  const { metadata } = await secondServer.settled('shop')
  t.match({ error: metadata['error'], status: metadata['status'] }, { status: 'running' })
  await waitUntil(() => secondServer.registrar.addresses.get('shop')?.length === 1)
  t.equal(await secondServer.registrar.call('shop'), 'two')
  // The record is updated after the instances.
  await waitUntil(() => readdirSync(join(sharedState.folder, 'uploads')).length === 0)
})

t.test('cancels an update that is superseded or whose service is deleted', async (t) => {
  const runtime = await openPlatformRuntime(t)
  const gate = join(runtime.folder, 'gate')
  const building = async () => {
    for await (const { metadata } of runtime.follow('shop'))
      if (metadata['status'] === 'building' || metadata['update'] === 'building') return
  }
  await runtime.create('shop', { ...makePlainProgram('one'), 'mx.yaml': makeSlowProject(gate) })
  await building()
  await runtime.update('shop', makePlainProgram('two'))
  t.match(await runtime.settled('shop'), { status: 4 })
  t.equal(await runtime.registrar.call('shop'), 'two')
  await runtime.update('shop', { ...makePlainProgram('three'), 'mx.yaml': makeSlowProject(gate) })
  await building()
  await runtime.call('Delete', 'shop')
  t.same(await runtime.read(), [])
  t.same(readdirSync(join(runtime.folder, 'builds', 'mx', 'shop')), [])
})

t.test('reports secrets of another key as an error until an update replaces them', async (t) => {
  const sharedState = makeRuntimeState(t)
  const firstServer = await openPlatformRuntime(t, {}, sharedState)
  await firstServer.create('shop', makePlainProgram('one'), { secrets: { TOKEN: 'a' } })
  await firstServer.settled('shop')
  await firstServer.close()
  const secondServer = await openPlatformRuntime(
    t,
    {},
    { ...sharedState, sealer: makeRuntimeState(t).sealer },
  )
  for await (const { metadata } of secondServer.follow('shop'))
    if (metadata['error'] !== undefined) {
      t.match(metadata, { status: 'starting', error: /the secrets cannot be decrypted/ })
      break
    }
  await secondServer.update('shop', makePlainProgram('one'), { secrets: { TOKEN: 'b' } })
  t.match(await secondServer.settled('shop'), { status: 4 })
  const [address] = secondServer.registrar.addresses.get('shop')!
  t.equal(await (await fetch(`http://${address}/TOKEN`)).text(), 'b')
})

t.test('adopts objects of another server id if no other server uses the store', async (t) => {
  const remaining = makeRuntimeState(t)
  const one = await openPlatformRuntime(t, { server: 'one' }, remaining)
  await one.create('shop', makePlainProgram('one'))
  await one.settled('shop')
  await one.close()
  const two = await openPlatformRuntime(t, { server: 'two', isSingleServer: true }, remaining)
  await waitUntil(() => two.registrar.addresses.get('shop')?.length === 1)
  t.equal(await two.registrar.call('shop'), 'one')
})

/** A project whose build waits for a file. */
function makeSlowProject(gate: string): string {
  return `build: while [ ! -e ${gate} ]; do sleep 0.05; done\ncommand: node main.cjs\nprotocol: http\n`
}

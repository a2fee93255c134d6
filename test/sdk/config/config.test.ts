import t, { type Test } from 'tap'
import { type Config, createConfig } from '../../../sdk/config/config.ts'
import { createContext } from '../../../sdk/context.ts'
import { openPlatformConfig } from '../../fixtures/platform-config.ts'
import { createService, openClient, openRegistry } from '../../fixtures/sdk-services.ts'

async function open(t: Test) {
  const platform = await openPlatformConfig(t)
  return { ...platform, config: createConfig(platform.client) }
}

t.test('a value is written, read and deleted', async (t) => {
  const { config } = await open(t)
  await config.set('a', { b: 1, c: ['x'] })
  await config.set('a.d', 'text')
  t.strictSame((await config.get('a')).json(), { b: 1, c: ['x'], d: 'text' })
  t.equal((await config.get('a.b')).int(), 1)
  await config.delete('a.b')
  await config.delete('a.b')
  t.notOk((await config.get('a.b')).exists())
})

t.test('secrets are written and read only with the secret option', async (t) => {
  const { config } = await open(t)
  await config.set('a', { b: 'hunter2', c: 5 }, { secret: true })
  t.strictSame((await config.get('a')).json(), { b: '[secret]', c: '[secret]' })
  t.equal((await config.get('a.c')).string(), '[secret]')
  t.equal((await config.get('a.c', { secret: true })).int(), 5)
  t.equal((await config.get('a.c', { secret: false })).int(7), 7)
})

t.test('a missing value is not an error, even in an unused namespace', async (t) => {
  const { config } = await open(t)
  const check = async () => {
    const value = await config.get('x.y')
    t.notOk(value.exists())
    t.equal(value.error, undefined)
    t.equal(value.string('fallback'), 'fallback')
  }
  await check()
  await config.set('x', 1)
  await check()
})

t.test(
  'a failed read returns a value with the error, and accessors return fallbacks',
  async (t) => {
    const { config, close } = await open(t)
    const expectFallback = async (value: Awaited<ReturnType<Config['get']>>, error: object) => {
      t.match(value.error, error)
      t.notOk(value.exists())
      t.equal(value.string('fallback'), 'fallback')
      await t.rejects(value.scan({} as never), { message: value.error!.message })
    }
    await expectFallback(await config.get('a..b'), { code: 400, message: /^request\.path/ })
    await expectFallback(await config.get(5 as never), { code: 400 })
    const signal = AbortSignal.abort(new Error('enough'))
    await expectFallback(await config.get('a', { signal }), { message: 'enough' })
    const thrown = AbortSignal.abort('enough')
    await expectFallback(await config.get('a', { signal: thrown }), { message: 'enough' })
    await expectFallback(await config.get('a', { timeoutMs: -1 }), { name: 'TypeError' })
    const other = openClient(t, { registry: openRegistry(t) })
    await expectFallback(await createConfig(other).get('a'), {
      code: 404,
      message: /service not found/,
    })
    await close()
    await expectFallback(await config.get('a'), { code: 502 })
  },
)

t.test('a failed write rejects', async (t) => {
  const { config } = await open(t)
  await t.rejects(config.set('a..b', 1), { code: 400, message: /^request\.path/ })
  await t.rejects(config.set('a', undefined), { name: 'TypeError', message: /got undefined/ })
  await t.rejects(config.delete('.'), { code: 400 })
})

t.test('watch yields the current value, then each change until the loop ends', async (t) => {
  const { config } = await open(t)
  const values: unknown[] = []
  const watched = config.watch('a', { secret: true, retries: 3 })
  for await (const value of watched) {
    values.push(value.exists() ? value.json() : undefined)
    if (values.length === 1) await config.set('a', { b: 1 })
    if (values.length === 2) await config.set('a.c', 'hunter2', { secret: true })
    if (values.length === 3) await config.delete('a')
    if (values.length === 4) break
  }
  t.strictSame(values, [undefined, { b: 1 }, { b: 1, c: 'hunter2' }, undefined])
  t.strictSame(await watched.next(), { done: true, value: undefined })
})

t.test('watching a malformed path fails with 400', async (t) => {
  const { config } = await open(t)
  await t.rejects(config.watch('a..b').next(), { code: 400, message: /^request\.path/ })
})

t.test('the namespace comes from the call, the context or the config object', async (t) => {
  const { client, call } = await open(t)
  const config = createConfig(client)
  await config.set('a', 'default')
  await config.set('a', 'of the call', { namespace: 'one' })
  const context = createContext({ metadata: { 'mx-namespace': 'two' } })
  await config.set('a', 'of the context', { context })
  await createConfig(client, { namespace: 'three' }).set('a', 'of all')
  for (const [namespace, data] of [
    ['mx', '"default"'],
    ['one', '"of the call"'],
    ['two', '"of the context"'],
    ['three', '"of all"'],
  ])
    t.match(await call('Get', { namespace, path: 'a' }), { value: { data } })
})

t.test('a service uses the configuration of its client', async (t) => {
  const registry = openRegistry(t)
  await openPlatformConfig(t, { registry })
  const greeter = createService(t, { registry })
  t.teardown(() => greeter.client.close())
  const config = createConfig(greeter)
  await config.set('greeter.greeting', 'Hello')
  t.equal((await config.get('greeter.greeting')).string('Hi'), 'Hello')
})

t.test('unknown options are rejected', async (t) => {
  const { client, config } = await open(t)
  t.throws(() => createConfig(client, { secret: true } as never), {
    name: 'TypeError',
    message: /^createConfig: unknown option secret/,
  })
  await t.rejects(config.get('a', { secrte: true } as never), {
    name: 'TypeError',
    message: 'config.get: unknown option secrte, did you mean secret?',
  })
  await t.rejects(config.set('a', 1, { version: 1 } as never), {
    message: /^config\.set: unknown option/,
  })
  await t.rejects(config.delete('a', { secret: true } as never), {
    message: /^config\.delete: unknown option/,
  })
  t.throws(() => config.watch('a', { prefix: 'a' } as never), {
    message: /^config\.watch: unknown option/,
  })
})

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Credentials, findCredentials, toPlatform } from '../../../sdk/auth/credentials.ts'
import { metadata } from '../../../sdk/context.ts'
import { badRequest } from '../../../sdk/errors.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { createService, openClient } from '../../fixtures/sdk-services.ts'
import { makeNode, makeService } from '../../fixtures/services.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const EXPLICIT = { id: 'orders', secret: 's' }
const DEFAULTS = { namespace: 'mx', isImplicit: false }

/** Sets a new home folder, these variables and this credentials file. */
function setUpEnvironment(
  t: Test,
  { env = {}, file }: { env?: Record<string, string>; file?: string },
) {
  const home = makeTempFolder(t, 'home')
  const set = { HOME: home, MX_AUTH_ID: '', MX_AUTH_SECRET: '', MX_NAMESPACE: '', ...env }
  for (const [name, value] of Object.entries(set)) {
    const before = process.env[name]
    process.env[name] = value
    t.teardown(() => {
      if (before === undefined) delete process.env[name]
      else process.env[name] = before
    })
  }
  mkdirSync(join(home, '.mx'))
  const writeCredentials = (text: string) =>
    writeFileSync(join(home, '.mx', 'service_credentials'), text)
  if (file !== undefined) writeCredentials(file)
  return writeCredentials
}

t.test('the auth option takes precedence over variables, and variables over the file', (t) => {
  const file = JSON.stringify({ id: 'local', secret: 'f' })
  setUpEnvironment(t, { env: { MX_AUTH_ID: 'a', MX_AUTH_SECRET: 'b' }, file })
  t.same(findCredentials(EXPLICIT, '127.0.0.1:8081'), { ...EXPLICIT, ...DEFAULTS })
  t.same(findCredentials(undefined, 'example.com:8081'), { id: 'a', secret: 'b', ...DEFAULTS })
  t.end()
})

t.test('without a platform only the auth option is used', (t) => {
  setUpEnvironment(t, { env: { MX_AUTH_ID: 'a', MX_AUTH_SECRET: 'b' } })
  t.equal(findCredentials(undefined, undefined), undefined)
  t.same(findCredentials(EXPLICIT, undefined), { ...EXPLICIT, ...DEFAULTS })
  t.end()
})

t.test('the namespace is mx unless the option or MX_NAMESPACE sets another', (t) => {
  const env = { MX_AUTH_ID: 'a', MX_AUTH_SECRET: 'b', MX_NAMESPACE: ' acme ' }
  setUpEnvironment(t, { env, file: JSON.stringify({ id: 'local', secret: 'f' }) })
  const findNamespace = (input?: Credentials) => findCredentials(input, '127.0.0.1:8081')?.namespace
  t.equal(findNamespace({ ...EXPLICIT, namespace: 'other' }), 'other')
  t.equal(findNamespace(EXPLICIT), 'mx', 'MX_NAMESPACE applies to MX_AUTH_ID only')
  t.equal(findNamespace(), 'acme')
  process.env['MX_NAMESPACE'] = 'a b'
  t.throws(() => findNamespace(), {
    name: 'TypeError',
    message: /^MX_NAMESPACE must be letters.*got "a b"$/,
  })
  t.throws(() => findNamespace({ ...EXPLICIT, namespace: '' }), {
    message: /^auth\.namespace must be/,
  })
  t.end()
})

t.test('the credentials file is used only for platforms on this machine', (t) => {
  setUpEnvironment(t, { file: JSON.stringify({ id: 'local', secret: 'f' }) })
  const result = { id: 'local', secret: 'f', namespace: 'mx', isImplicit: true }
  for (const platform of [
    '127.0.0.1:8081',
    'mx://localhost:1',
    'mxs://[::1]:2',
    'mx://127.9.9.9:3',
  ])
    t.same(findCredentials(undefined, platform), result, platform)
  for (const platform of [
    'example.com:8081',
    'mx://127.0.0.1.example.com:1',
    'consul://127.0.0.1:8500',
  ])
    t.equal(findCredentials(undefined, platform), undefined, platform)
  t.end()
})

for (const file of [undefined, '', '{', '[]', 'null', '{"id":"a"}', '{"id":1,"secret":"s"}'])
  t.test(`an invalid credentials file is ignored: ${file}`, (t) => {
    setUpEnvironment(t, file === undefined ? {} : { file })
    const none = { id: '', secret: '', namespace: 'mx', isImplicit: true }
    t.same(findCredentials(undefined, '127.0.0.1:8081'), none)
    t.end()
  })

t.test('rejects an id without a secret, and a secret without an id', (t) => {
  setUpEnvironment(t, { env: { MX_AUTH_ID: 'a' } })
  t.throws(() => findCredentials(undefined, 'example.com:1'), {
    name: 'TypeError',
    message: 'MX_AUTH_ID and MX_AUTH_SECRET must both be set',
  })
  t.throws(() => findCredentials({ id: '', secret: 's' }, undefined), {
    name: 'TypeError',
    message: 'auth.id and auth.secret must both be set',
  })
  t.end()
})

t.test('an mx:// registry address is the address of the platform', (t) => {
  t.equal(toPlatform('mx://host:1'), 'mx://host:1')
  t.equal(toPlatform('memory'), undefined)
  t.equal(toPlatform(undefined), undefined)
  t.end()
})

t.test(
  'a credentials file that is created or replaced later is used by running programs',
  async (t) => {
    const writeCredentials = setUpEnvironment(t, {})
    let valid = 'first'
    let requests = 0
    const auth = createService(t, { name: 'auth' }).handle('Auth', {
      token: endpoint({
        handle(request) {
          requests++
          const { secret } = request as Credentials
          if (secret !== valid) throw badRequest('auth', 'Secret not correct')
          return { token: { access_token: secret, created: 0, expiry: 900 } }
        },
      }),
    })
    const greeter = createService(t).handle('Greeter', {
      seen: endpoint({
        handle: (_, ctx) => ({ seen: metadata.get(ctx, 'authorization')[0] || 'nothing' }),
      }),
    })
    const { address, registry } = await openPlatformRegistry(t)
    for (const service of [auth, greeter]) {
      const node = makeNode(await service.start(), { protocol: 'mx' })
      await registry.register!(makeService(service.name, [node]))
    }
    const client = openClient(t, { registry: `mx://${address}` })
    const callGreeter = () => client.call<{ seen: string }>('greeter', 'Greeter.Seen')
    t.same(await callGreeter(), { seen: 'nothing' })
    t.equal(requests, 0, 'there are no credentials')
    writeCredentials(JSON.stringify({ id: 'local', secret: 'wrong' }))
    await eventually(async () => {
      t.same(await callGreeter(), { seen: 'nothing' })
      return requests === 1
    })
    valid = 'second'
    writeCredentials(JSON.stringify({ id: 'local', secret: 'second' }))
    await eventually(async () => (await callGreeter()).seen === 'Bearer second')
    t.equal(requests, 2, 'rejected credentials are not sent again')
  },
)

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { configurationFrom } from '../../../../platform/config/load.ts'
import { listSecretPaths } from '../../../../platform/config/references/fetch-secrets.ts'
import type { Configuration } from '../../../../platform/config/types.ts'
import { readFlags } from '../../../../platform/settings/flags.ts'
import type { ServerCommand } from '../../../../platform/settings/setting.ts'
import { openServer } from '../../../fixtures/server.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const ENV = { MX_AUTH_SECRET: 'mx', MX_PROFILE: 'test' }

function load(t: Test, text: string, command: ServerCommand = 'api'): Promise<Configuration> {
  const file = join(makeTempFolder(t, 'secrets'), 'mx.yaml')
  writeFileSync(file, text)
  return configurationFrom(readFlags([`--config=${file}`], command), ENV, command)()
}

function getBody({ config }: Configuration): unknown {
  const { action } = config.routes[0]!
  return action.kind === 'respond' && action.body
}

t.test('reads secrets of the platform with the account of the gateway', async (t) => {
  const { proxy, post } = await openServer(t)
  const set = (path: string, data: unknown) =>
    post('/config/set', {
      ...{ path, value: { data: JSON.stringify(data) }, options: { secret: true } },
    })
  t.equal((await set('shop.key', 'hunter2')).status, 200)
  t.equal((await set('shop.port', 4711)).status, 200)
  t.equal((await set('shop.all', { a: 1 })).status, 200)
  const route = (body: string) => `routes: [{ respond: { body: "${body}" } }]\nauth_id: admin\n`
  const value = route(`\${secret:shop.key} at \${secret:shop.port}`)
  t.equal(getBody(await load(t, `${value}auth: mx://${proxy}\n`)), 'hunter2 at 4711')
  t.equal(getBody(await load(t, `${value}registry: mx://${proxy}\n`)), 'hunter2 at 4711')
  const missing = `${route(`\${secret:shop.none}\${secret:shop.all}`)}auth: mx://${proxy}\n`
  await t.rejects(load(t, missing), {
    message: /:1:29: routes\[0\]\.respond\.body: cannot read secret shop\.none: it does not exist/,
  })
  await t.rejects(load(t, `${route(`\${secret:shop.all}`)}auth: mx://${proxy}\n`), {
    message: /cannot read secret shop\.all: it must be text, a number or a boolean/,
  })
  await t.rejects(load(t, `${value}auth: mx://127.0.0.1:1\n`), {
    message: /cannot read secret shop\.key: .*refused the connection/,
  })
})

t.test('explains why no platform can be read', async (t) => {
  const value = `namespace: "\${secret:shop.key}"\n`
  await t.rejects(load(t, value), {
    message: /:1:12: namespace: cannot read secret shop\.key: the gateway runs without a platform/,
  })
  await t.rejects(load(t, value, 'server'), {
    message: /mx server starts its service config after/,
  })
})

t.test('finds each path in a text once', (t) => {
  t.same(listSecretPaths(`a: \${secret:x.y}\nb: "\${secret:x.y}\${secret:z}"\n`), ['x.y', 'z'])
  t.end()
})

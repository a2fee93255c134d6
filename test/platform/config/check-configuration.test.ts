import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createDisposer } from '../../../lib/async/disposer.ts'
import { checkApi } from '../../../platform/config/check-configuration.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createLog } from '../../../platform/process/log.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

async function check(t: Test, config: string, ...args: readonly string[]) {
  const file = join(makeTempFolder(t, 'check'), 'mx.yaml')
  writeFileSync(file, config)
  const configuration = await configurationFrom(
    readFlags([`--config=${file}`, ...args], 'api'),
    {},
  )()
  const closing = createDisposer()
  t.teardown(closing.close)
  return checkApi(configuration, createLog('silent'), closing)
}

t.test('returns address, handler, services, and plugins in order', async (t) => {
  const config = `
handler: proxy
services: { greeter: 127.0.0.1:9001 }
plugins: [request-id, { body-limit: { limit: 1mb } }, namespace]
`
  t.match(await check(t, config, '--address=127.0.0.1:7'), {
    ...{ address: '127.0.0.1:7', handler: 'proxy', services: ['go.mx.api.greeter'] },
    plugins: ['request-id', 'body-limit', 'namespace'],
    warnings: [],
  })
})

t.test('returns the settings of services', async (t) => {
  const config = `
handler: proxy
services:
  a: { nodes: [h:1], balance: p2c, timeout: { response: 5s, request: none }, keep_alive: 90s, host: backend }
  b: { nodes: ["https://h:1"], host: b.test, encoded_slash: true, tls: { server_name: b.test }, dns: { refresh: 5s } }
  c: h:1
`
  const { serviceSettings } = await check(t, config)
  t.strictSame(serviceSettings, {
    'go.mx.api.a': {
      ...{ balance: 'p2c', 'timeout.request': 'none', 'timeout.response': '5s' },
      ...{ keep_alive: '90s', host: 'backend' },
    },
    'go.mx.api.b': {
      ...{ encoded_slash: 'true', host: 'b.test', tls: 'server_name b.test', dns: 'refresh 5s' },
    },
  })
})

t.test('does not open the port, even if it is in use', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  t.match(await check(t, 'handler: rpc\n', `--address=127.0.0.1:${port}`), {
    address: `127.0.0.1:${port}`,
  })
})

t.test('builds plugins with their options and reads certificates', async (t) => {
  await t.rejects(check(t, 'plugins: [{ body-limit: { limit: many } }]'), /body-limit.*limit/s)
  const tls = ['--enable_tls', '--tls_cert_file=none.pem', '--tls_key_file=none.pem']
  await t.rejects(check(t, 'handler: rpc\n', ...tls), /none\.pem cannot be read/)
})

t.test('rejects incomplete credentials of the gateway', async (t) => {
  await t.rejects(check(t, 'handler: rpc\n', '--auth=mx://127.0.0.1:1', '--auth_id=admin'), {
    message: /auth_id and auth_secret/,
  })
})

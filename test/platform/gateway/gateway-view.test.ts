import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createMemoryRegistry } from '../../../adapters/registry/memory.ts'
import { REDACTED } from '../../../lib/text/redact.ts'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createGatewaySource } from '../../../platform/gateway/gateway-view.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { openAuthorizer } from '../../fixtures/authorizer.ts'
import { openServer, QUIET_FLAGS } from '../../fixtures/server.ts'

t.test('is empty before the gateway runs', async (t) => {
  const registry = createMemoryRegistry()
  t.teardown(() => registry.close?.())
  const { authorizer } = await openAuthorizer(t)
  const domains = { list: () => new Set<string>() } as never
  const source = createGatewaySource({ registry, domains, authorizer })
  t.equal(source.gateway(), undefined)
  t.equal(source.inFlight(), 0)
  t.equal(source.metrics.requests, 0)
})

t.test('reflects the current plugins and options, even after a reload', async (t) => {
  const cwd = t.testdir({
    'own.mjs': `
      import { definePlugin, Type } from 'mx-gateway'
      export default definePlugin({
        name: 'own',
        description: 'Does nothing.',
        options: Type.Object({
          pin: Type.String({ writeOnly: true }),
          limit: Type.Integer({ default: 7 }),
        }),
        create: () => ({ onReply() {} }),
      })`,
    'mx.yaml': 'plugins:\n  - ./own.mjs: { pin: "1234" }\n',
  })
  const file = join(cwd, 'mx.yaml')
  const { server, get } = await openServer(t, [`--config=${file}`])
  const read = async () => (await get('/api/plugins')).body.plugins
  const own = (await read()).find(({ name }: { name: string }) => name === 'own')
  t.match(own, {
    ...{ description: 'Does nothing.', specifier: join(cwd, 'own.mjs'), hooks: ['onReply'] },
    ...{ source: /mx\.yaml:2/, options: { pin: REDACTED, limit: 7 } },
  })
  writeFileSync(file, 'plugins:\n  - body-limit: { limit: 3 }\nservices:\n  plain: [127.0.0.1:1]\n')
  const flags = readFlags([...QUIET_FLAGS, `--config=${file}`], 'server')
  await server.reload(await configurationFrom(flags, { MX_PROFILE: 'test' }, 'server')())
  const names = (await read()).map(({ name }: { name: string }) => name)
  t.ok(names.includes('body-limit') && !names.includes('own'), names.join())
  const request = { method: 'POST', path: '/plain/x', body: '12345' }
  t.match((await get(`/api/explain?${new URLSearchParams(request)}`)).body, {
    answer: { status: 413 },
    why: 'plugin body-limit (onRequest) rejected the request',
  })
  t.match((await get('/api/routes?service=plain')).body.routes, [{ service: 'plain' }])
})

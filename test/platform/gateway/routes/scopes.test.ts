import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { buildScopes } from '../../../../platform/gateway/routes/scopes.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'
import { createTestEnv } from '../../../../sdk/testing.ts'

function build(text: string) {
  const config = parseConfig(text, 'mx.yaml')
  const inputs = new Map()
  return buildScopes(
    { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' },
    createTestEnv(),
    () => undefined,
  )
}

t.test('plugins of a route replace plugins of its service with the same name', async (t) => {
  const scopes = await build(`
services: { shop: { nodes: [127.0.0.1:1], plugins: [body-limit, proxy-status] } }
routes: [{ name: a, service: shop, plugins: [headers, body-limit] }]
`)
  const names = [...scopes.routes].map(([key, plugins]) => [
    key,
    ...plugins.map(({ name }) => name),
  ])
  t.strictSame(names, [
    ['go.mx.api.shop', 'body-limit', 'proxy-status'],
    ['route:a', 'proxy-status', 'headers', 'body-limit'],
  ])
})

t.test('plugins that only make sense for the gateway are rejected elsewhere', async (t) => {
  for (const name of ['namespace', 'hosts', 'tracing', 'forwarded']) {
    await t.rejects(build(`services: { a: { nodes: [127.0.0.1:1], plugins: [${name}] } }`), {
      message: `mx.yaml:1:50: plugin "${name}" is not allowed in the plugins of a service; allowed scopes: gateway`,
    })
    await t.rejects(build(`routes: [{ respond: {}, plugins: [${name}] }]`), {
      message: `mx.yaml:1:35: plugin "${name}" is not allowed in the plugins of a route; allowed scopes: gateway`,
    })
  }
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../platform/config/parse-file.ts'
import { compileRoutes } from '../../platform/gateway/routes/compile-routes.ts'
import { buildScopes } from '../../platform/gateway/routes/scopes.ts'
import { mergeSettings } from '../../platform/settings/sources.ts'
import { ROOT } from '../../scripts/root.ts'
import { createTestEnv } from '../../sdk/testing.ts'
import { createCertificate } from '../fixtures/certificates.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

t.test('the configuration of docs/routes.md is valid', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/routes.md'), 'utf8')
  const config = parseConfig(/```yaml\n([\s\S]*?)```/.exec(text)![1]!, 'mx.yaml')
  const inputs = new Map()
  const configuration = { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
  t.equal(compileRoutes(configuration).tree.size, 5)
  const scopes = await buildScopes(configuration, createTestEnv(), () => undefined)
  t.strictSame([...scopes.routes.keys()], ['go.mx.api.shop', 'route:shop-api'])
})

t.test('the configuration of docs/static-files.md is valid', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/static-files.md'), 'utf8')
  const { routes } = parseConfig(/```yaml\n([\s\S]*?)```/.exec(text)![1]!, 'mx.yaml')
  t.strictSame(
    routes.map(({ action }) => action.kind),
    ['service', 'files', 'files'],
  )
})

t.test('the configuration of docs/service-settings.md is valid', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/service-settings.md'), 'utf8')
  const folder = makeTempFolder(t, 'docs')
  writeFileSync(join(folder, 'shop-ca.pem'), createCertificate(['ca.test']).cert)
  const yaml = /```yaml\n([\s\S]*?)```/.exec(text)![1]!
  const { services } = parseConfig(yaml, join(folder, 'mx.yaml'))
  t.same(
    services.map(({ name }) => name),
    ['shop', 'catalog', 'blog'],
  )
  const rows = text.matchAll(/^\| `([a-z_]+)` \|/gm)
  const documented = [...rows].map(([, key]) => key!)
  for (const key of ['nodes', 'balance', 'timeout', 'host', 'tls', 'dns', 'encoded_slash'])
    t.ok(documented.includes(key), key)
})

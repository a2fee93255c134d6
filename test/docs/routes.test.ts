import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../platform/config/parse-file.ts'
import { compileRoutes } from '../../platform/gateway/routes/compile-routes.ts'
import { buildScopes } from '../../platform/gateway/routes/scopes.ts'
import { mergeSettings } from '../../platform/settings/sources.ts'
import { ROOT } from '../../scripts/root.ts'
import { createTestEnv } from '../../sdk/testing.ts'

t.test('the configuration of docs/routes.md is valid', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/routes.md'), 'utf8')
  const config = parseConfig(/```yaml\n([\s\S]*?)```/.exec(text)![1]!, 'mx.yaml')
  const inputs = new Map()
  const configuration = { settings: mergeSettings(inputs), config, inputs, file: 'mx.yaml' }
  t.equal(compileRoutes(configuration).tree.size, 5)
  const scopes = await buildScopes(configuration, createTestEnv(), () => undefined)
  t.strictSame([...scopes.keys()], ['go.mx.api.shop', 'route:shop-api'])
})

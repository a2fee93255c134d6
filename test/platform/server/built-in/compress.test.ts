import t from 'tap'
import { parseConfig } from '../../../../platform/config/parse-file.ts'
import { compressBuiltIns } from '../../../../platform/server/built-in/compress.ts'
import { mergeSettings } from '../../../../platform/settings/sources.ts'

/** Returns the services and the names and options of their plugins. */
function listPlugins(text: string): Record<string, [string, unknown][]> {
  const config = parseConfig(text, 'mx.yaml')
  const inputs = new Map()
  const settings = { ...mergeSettings(inputs), namespace: '' }
  const result = compressBuiltIns({ settings, config, inputs, file: 'mx.yaml' }, [
    'registry',
    'auth',
    'config',
    'store',
  ])
  return Object.fromEntries(
    result.config.services.map(({ name, plugins }) => [
      name,
      plugins.map(({ specifier, options }) => [specifier, options]),
    ]),
  )
}

const COMPRESS = ['compress', { types: ['application/json'] }]

t.test('compresses complete responses of services without secrets', async (t) => {
  t.strictSame(listPlugins('services: {}'), { registry: [COMPRESS], store: [COMPRESS] })
})

t.test('configured services keep their plugins and settings', async (t) => {
  t.strictSame(
    listPlugins(`
services:
  registry: { plugins: [proxy-status] }
  store: { plugins: [{ compress: { min: 4kb } }] }
  shop: [127.0.0.1:1]
`),
    {
      registry: [['proxy-status', undefined], COMPRESS],
      store: [['compress', { min: '4kb' }]],
      shop: [],
    },
  )
})

t.test('the plugin of the gateway applies to all services', async (t) => {
  t.strictSame(listPlugins('plugins: [{ compress: { encodings: [] } }]'), {})
})

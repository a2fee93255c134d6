import t from 'tap'
import plugin from '../../../plugins/http/namespace.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('uses go.mx.api by default', async (t) => {
  const { x } = await runPlugin(buildPlugin(plugin))
  t.equal(x.namespace, 'go.mx.api')
})

t.test('uses the configured namespace', async (t) => {
  for (const namespace of ['shop', 'com.example.shop-2', 'A1.b']) {
    const { x } = await runPlugin(buildPlugin(plugin, { namespace }))
    t.equal(x.namespace, namespace)
  }
})

t.test('disables the namespace with a single space', async (t) => {
  for (const namespace of [' ', '']) {
    const { x } = await runPlugin(buildPlugin(plugin, { namespace }))
    t.equal(x.namespace, '')
  }
})

t.test('rejects an invalid namespace', async (t) => {
  for (const namespace of ['.', 'a.', '.a', 'a..b', 'a b', 'a/b', '-a', 'a-', 'a_b', '\u00e4']) {
    t.throws(
      () => buildPlugin(plugin, { namespace }),
      /namespace must be dot-separated names/,
      namespace,
    )
  }
})

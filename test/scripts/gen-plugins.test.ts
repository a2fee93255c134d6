import t from 'tap'
import { definePlugin } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { plugins } from '../../plugins/index.gen.ts'
import { formatPlugins } from '../../scripts/gen-plugins.ts'

t.test('every plugin has a section, with its description and scopes', async (t) => {
  const page = formatPlugins()
  for (const { name, description, scopes } of Object.values(plugins)) {
    const allowed = scopes === undefined ? '' : ` Scope: ${scopes.join(', ')}.`
    t.ok(page.includes(`\n## ${name}\n${description}${allowed}\n`), name)
  }
})

t.test('every option has a row, including options of nested objects and list items', async (t) => {
  const probe = definePlugin({
    name: 'probe',
    description: 'Probes.',
    options: Type.Object({
      mode: Type.Union([Type.Literal('a'), Type.Literal('b')], { default: 'a' }),
      keys: Type.Array(Type.Object({ id: Type.String({ description: 'a | b' }) })),
      limit: Type.Optional(Type.Integer()),
    }),
    create: () => ({}),
  })
  t.match(
    formatPlugins({ probe }),
    [
      '## probe\nProbes.\n\n| option | type | default | description |\n|---|---|---|---|',
      '| `mode` | `"a"` or `"b"` | `"a"` |  |',
      '| `keys` | list of object | required |  |',
      '| `keys[].id` | string | required | a \\| b |',
      '| `limit` | integer |  |  |',
    ].join('\n'),
  )
})

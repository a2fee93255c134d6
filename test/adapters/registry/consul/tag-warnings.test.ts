import t from 'tap'
import { createCatalogReader } from '../../../../adapters/registry/consul/read-catalog.ts'
import { findTagWarnings } from '../../../../adapters/registry/consul/tag-warnings.ts'
import { parseTags } from '../../../../adapters/registry/consul/tags.ts'

const find = (...tags: string[]): string[] => findTagWarnings(parseTags(tags, 'mx', () => {}))

t.test('suggests the correct tag for a misspelled one', (t) => {
  for (const tag of [
    'mx.paht=/x',
    'MX.PATH=/x',
    'mx.path = /x',
    ' mx.path=/x',
    'mx.path',
    'mx-path=/x',
  ])
    t.same(find(tag), [`the tag ${JSON.stringify(tag)} has no effect, did you mean mx.path=?`])
  t.same(find('mx.colour=1'), ['the tag "mx.colour=1" has no effect'])
  t.end()
})

t.test('warns about a route without a path', (t) => {
  t.same(find('mx.host=a', 'mx.method=GET'), [
    'mx.host has no effect without mx.path, for example mx.path=/** for all paths',
    'mx.method has no effect without mx.path, for example mx.path=/** for all paths',
  ])
  t.end()
})

t.test('warns about an empty path', (t) => {
  t.same(find('mx.path='), ['mx.path= is empty: the service has no route'])
  t.same(find('mx.path=', 'mx.path=/x'), [])
  t.end()
})

t.test('warns about an invalid domain', (t) => {
  const rule = 'mx.domain must be letters, digits and inner dots, dashes or underscores'
  t.same(find('mx.domain=a b'), [`${rule}, got "a b": the service belongs to no domain`])
  t.same(find('mx.domain='), [`${rule}, got "": the service belongs to no domain`])
  t.end()
})

t.test('does not warn about other tags', (t) => {
  t.same(
    find('mx.host=a', 'mx.path=/x', 'blue', 'mxlike=1', 'mx-blue', 'mx.handler=web', 'mx.domain=d'),
    [],
  )
  t.same(find('mx', 'mx.version=1', 'mx.version@other=1', 'mx.node={}'), [])
  t.end()
})

t.test('reports a warning of the catalog once', async (t) => {
  const warnings: string[] = []
  const { read } = createCatalogReader({ domain: 'mx', warn: (reason) => warnings.push(reason) })
  const response = { chunks: [Buffer.from('{"shop":["mx.paht=/x"]}')], index: '1', era: 0 }
  await read(response)
  await read(response)
  t.same(warnings, ['service shop: the tag "mx.paht=/x" has no effect, did you mean mx.path=?'])
})

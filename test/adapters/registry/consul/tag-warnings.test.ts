import t from 'tap'
import { createCatalogReader } from '../../../../adapters/registry/consul/read-catalog.ts'
import { findTagWarnings } from '../../../../adapters/registry/consul/tag-warnings.ts'
import { parseTags } from '../../../../adapters/registry/consul/tags.ts'

const find = (...tags: string[]): string[] => findTagWarnings(parseTags(tags, 'mx', () => {}))

t.test('tags that are nearly those of mx are told with what was meant', (t) => {
  for (const tag of [
    'mx.paht=/x',
    'MX.PATH=/x',
    'mx.path = /x',
    ' mx.path=/x',
    'mx.path',
    'mx-path=/x',
  ])
    t.same(find(tag), [`the tag ${JSON.stringify(tag)} means nothing, did you mean mx.path=?`])
  t.same(find('mx.colour=1'), ['the tag "mx.colour=1" means nothing'])
  t.end()
})

t.test('a route without a path is told', (t) => {
  t.same(find('mx.host=a', 'mx.method=GET'), [
    'mx.host says nothing without mx.path, such as mx.path=/** for every path',
    'mx.method says nothing without mx.path, such as mx.path=/** for every path',
  ])
  t.end()
})

t.test('a path of nothing is told', (t) => {
  t.same(find('mx.path='), ['mx.path= names no path: nothing leads there'])
  t.same(find('mx.path=', 'mx.path=/x'), [])
  t.end()
})

t.test('a domain that is none is told, for the service is nowhere to be found', (t) => {
  const rule = 'mx.domain must be letters, digits and inner dots, dashes or underscores'
  t.same(find('mx.domain=a b'), [`${rule}, got "a b": the service is in no domain`])
  t.same(find('mx.domain='), [`${rule}, got "": the service is in no domain`])
  t.end()
})

t.test('everything else is no oddity', (t) => {
  t.same(
    find('mx.host=a', 'mx.path=/x', 'blue', 'mxlike=1', 'mx-blue', 'mx.handler=web', 'mx.domain=d'),
    [],
  )
  t.same(find('mx', 'mx.version=1', 'mx.version@other=1', 'mx.node={}'), [])
  t.end()
})

t.test('the catalog tells it once', async (t) => {
  const warnings: string[] = []
  const { read } = createCatalogReader({ domain: 'mx', warn: (reason) => warnings.push(reason) })
  const answer = { chunks: [Buffer.from('{"shop":["mx.paht=/x"]}')], index: '1', era: 0 }
  await read(answer)
  await read(answer)
  t.same(warnings, ['service shop: the tag "mx.paht=/x" means nothing, did you mean mx.path=?'])
})

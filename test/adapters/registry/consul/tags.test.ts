import t from 'tap'
import { findTagWarnings } from '../../../../adapters/registry/consul/tag-warnings.ts'
import {
  formatTag,
  parseTags,
  pickEndpoints,
  pickMetadata,
  type ReadTags,
  toPlainEndpoints,
  toPlainMetadata,
} from '../../../../adapters/registry/consul/tags.ts'

function read(tags: unknown, domain = 'mx'): ReadTags & { warnings: string[] } {
  const warnings: string[] = []
  return { ...parseTags(tags, domain, (reason) => warnings.push(reason)), warnings }
}

t.test('includes the domain in tags outside the default domain', async (t) => {
  t.equal(formatTag('version', 'mx', 'a=b'), 'mx.version=a=b')
  t.equal(formatTag('version', 'shop', 'a=b'), 'mx.version@shop=a=b')
  const tags = ['mx', 'mx.domain=shop', 'mx.version@shop=a=b', 'mx.version=latest']
  t.same(read(tags).versions, ['latest'])
  t.same(read(tags, 'shop').versions, ['a=b'])
  t.same([...read(tags).domains], ['shop'])
})

t.test('assigns endpoints and metadata to their version', async (t) => {
  const tags = read([
    'mx',
    'mx.version=latest',
    'mx.version=next',
    'mx.endpoint={"name":"A.Old"}',
    'mx.endpoint={"name":"A.New","version":"next"}',
    'mx.endpoint={"name":"A.New","version":"next","metadata":{"second":"x"}}',
    'mx.metadata={"values":{"a":"1"}}',
    'mx.metadata={"version":"next","values":{"b":"2"}}',
  ])
  const names = (version: string, only: boolean): string[] =>
    pickEndpoints(tags, version, only).map(({ name }) => name)
  t.same(names('latest', false), ['A.Old'])
  t.same(names('next', false), ['A.New'])
  t.same(names('next', true), ['A.Old', 'A.New'], 'the only version gets all endpoints')
  t.same(pickMetadata(tags, 'latest'), { a: '1' })
  t.same(pickMetadata(tags, 'next'), { b: '2' })
  t.same(pickMetadata(tags, 'other'), {})
  t.same(tags.warnings, [])
})

t.test('ignores malformed tags with a warning', async (t) => {
  const tags = read([
    7,
    null,
    'mx.endpoint=',
    'mx.endpoint=null',
    'mx.endpoint={"name":"A","version":1}',
    'mx.metadata=[]',
    'mx.metadata={"version":{}}',
    'mx.node=1',
    'mx.unknown=1',
    'mx.constructor=1',
    'blue',
    'x'.repeat(65_537),
  ])
  t.same(tags.endpoints, [])
  t.same(tags.others, ['mx.unknown=1', 'mx.constructor=1', 'blue'])
  t.equal(tags.warnings.length, 6)
  t.match(tags.warnings[0], /the tag "mx\.endpoint=" is ignored/)
  t.match(tags.warnings.at(-1), /a tag of 65537 characters is ignored: "x{80}"/)
  for (const text of [undefined, null, 'mx', {}]) t.equal(read(text).marked, false)
  const many = read(Array(5000).fill('a'))
  t.equal(many.others.length, 4096)
  t.same(many.warnings, ['only the first 4096 of its 5000 tags are read'])
})

t.test(
  'converts route tags of a plain service to an endpoint with the proxy handler',
  async (t) => {
    t.same(toPlainEndpoints(read(['mx.host=a.example'])), [], 'no endpoint without a path')
    const route = ['mx.path=/a', 'mx.path=/b/*', 'mx.method=GET', 'mx.handler=web']
    t.match(toPlainEndpoints(read(route)), [
      { name: 'Http.Any', metadata: { path: '/a,/b/*', method: 'GET', handler: 'web' } },
    ])
    t.match(toPlainEndpoints(read(['mx.path=/a'])), [{ metadata: { handler: 'proxy' } }])
  },
)

t.test('converts tags with settings to metadata of a plain service', (t) => {
  const tags = [
    'mx.keep_alive=5s',
    'mx.timeout.response=2s',
    'mx.host_header=backend',
    'mx.path=/a',
  ]
  const parsed = read([...tags, 'mx.timeout.respose=1s'])
  t.same(toPlainMetadata(parsed, 'http'), {
    'mx/keep_alive': '5s',
    'mx/timeout.response': '2s',
    'mx/host_header': 'backend',
  })
  t.same(parsed.others, ['mx.timeout.respose=1s'])
  t.same(findTagWarnings(parsed), [
    'the tag "mx.timeout.respose=1s" has no effect, did you mean mx.timeout.response=?',
  ])
  t.end()
})

t.test('sets the handler of a plain service without a route', (t) => {
  const getHandler = (protocol: string, ...tags: string[]) =>
    toPlainMetadata(
      parseTags(tags, 'mx', () => {}),
      protocol,
    )
  t.same(getHandler('', 'blue'), { handler: 'proxy' })
  t.same(getHandler('https', 'mx.handler=web'), { handler: 'web' })
  t.same(getHandler('', 'mx.path=/x'), {}, 'the endpoint has the handler')
  t.same(getHandler('mx'), {}, 'calls only, without a handler')
  t.end()
})

import t from 'tap'
import { HeaderList } from '../../../../../core/http/headers.ts'
import {
  createPrefixPlugin,
  HAS_NO_PREFIX,
} from '../../../../../platform/gateway/routes/rewrite/prefix-plugin.ts'
import { createTestExchange } from '../../../../../sdk/testing.ts'

function restore(stripped: string, added: string, headers: readonly string[]): string[] {
  const x = createTestExchange({ host: 'shop.test:8080' })
  x.replyHeaders = new HeaderList(headers)
  createPrefixPlugin({ stripped, added, isOptional: false }).onReply!(x)
  return [...x.replyHeaders.flat]
}

t.test('Location and Content-Location of the same host get the stripped prefix back', async (t) => {
  const rows: [string, string][] = [
    ['/login?x=1#y', '/api/login?x=1#y'],
    ['/', '/api/'],
    ['http://shop.test:8080/a', 'http://shop.test:8080/api/a'],
    ['https://SHOP.test:8080', 'https://SHOP.test:8080/api/'],
    ['https://shop.test:80801/a', 'https://shop.test:80801/a'],
    ['https://other.test/a', 'https://other.test/a'],
    ['//other.test/a', '//other.test/a'],
    ['relative', 'relative'],
  ]
  for (const [sent, expected] of rows) {
    t.strictSame(restore('/api', '', ['location', sent]), ['location', expected], sent)
    t.strictSame(restore('/api', '', ['content-location', sent])[1], expected)
  }
})

t.test('an added prefix is removed, and other paths are unchanged', async (t) => {
  t.strictSame(restore('', '/v2', ['location', '/v2/a'])[1], '/a')
  t.strictSame(restore('', '/v2', ['location', '/v2'])[1], '/')
  t.strictSame(restore('', '/v2', ['location', '/v22'])[1], '/v22')
  t.strictSame(restore('/api', '/v2', ['location', '/v2/a'])[1], '/api/a')
})

t.test('a path of this host never becomes a URL of another host', async (t) => {
  for (const path of ['/v2//evil.test/x', '/v2/\\evil.test', '/v2/\t/evil.test'])
    t.strictSame(restore('', '/v2', ['location', path])[1], path, path)
  t.strictSame(restore('', '/v2', ['set-cookie', 'a=1; Path=/v2//evil'])[1], 'a=1; Path=/v2//evil')
  t.strictSame(restore('', '/v2', ['location', '/v2?x=1'])[1], '/?x=1')
  t.strictSame(restore('', '/v2', ['location', '/v2#x'])[1], '/#x')
})

t.test('the Path of cookies is restored, without a trailing slash', async (t) => {
  const cookies = [
    'set-cookie',
    'a=1; Path=/; Secure',
    'set-cookie',
    'b=2; path=/x',
    'set-cookie',
    'c=3',
  ]
  t.strictSame(restore('/api', '', cookies), [
    ...['set-cookie', 'a=1; Path=/api; Secure'],
    ...['set-cookie', 'b=2; path=/api/x', 'set-cookie', 'c=3'],
  ])
})

t.test('a request without an optional prefix gets none in its response', async (t) => {
  const plugin = createPrefixPlugin({ stripped: '/api', added: '/v2', isOptional: true })
  for (const [hasPrefix, expected] of [
    [true, '/api/login'],
    [false, '/login'],
  ] as const) {
    const x = createTestExchange()
    if (!hasPrefix) x.state.set(HAS_NO_PREFIX, true)
    x.replyHeaders = new HeaderList(['location', '/v2/login'])
    plugin.onReply!(x)
    t.equal(x.replyHeaders.get('location'), expected)
  }
})

import t from 'tap'
import { HeaderList } from '../../../../core/http/headers.ts'
import { createPrefixPlugin } from '../../../../platform/gateway/routes/prefix-plugin.ts'
import { createTestExchange } from '../../../../sdk/testing.ts'

function restore(stripped: string, added: string, headers: readonly string[]): string[] {
  const x = createTestExchange({ host: 'shop.test:8080' })
  x.replyHeaders = new HeaderList(headers)
  createPrefixPlugin(stripped, added).onReply!(x)
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

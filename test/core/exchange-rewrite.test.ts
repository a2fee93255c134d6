import t from 'tap'
import { createTestExchange } from '../../sdk/testing.ts'

t.test('rewrite replaces the path and preserves the query', async (t) => {
  const x = createTestExchange({ path: '/old/a?b=c' })
  x.rewrite('/new/a%20b;v=1')
  t.equal(x.path, '/new/a%20b;v=1')
  t.equal(x.target, '/new/a%20b;v=1?b=c')
})

t.test('rewrite throws on a path that is not valid in a request line', async (t) => {
  const x = createTestExchange({ path: '/old' })
  for (const path of [
    '',
    'new',
    '/a b',
    '/a?b',
    '/a#b',
    '/a\\b',
    '/a\r\nHost: x',
    '/\u00e4',
    '/\x7f',
    'http://x/',
  ]) {
    t.throws(() => x.rewrite(path), /^path must start with \//, JSON.stringify(path))
  }
  t.equal(x.path, '/old')
})

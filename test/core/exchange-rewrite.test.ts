import t from 'tap'
import { createTestExchange } from '../../sdk/testing.ts'

t.test('a rewritten path is what is routed and sent on, and the query stays', async (t) => {
  const x = createTestExchange({ path: '/old/a?b=c' })
  x.rewrite('/new/a%20b;v=1')
  t.equal(x.path, '/new/a%20b;v=1')
  t.equal(x.target, '/new/a%20b;v=1?b=c')
})

t.test('what cannot stand in a request line is refused and the path stays', async (t) => {
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

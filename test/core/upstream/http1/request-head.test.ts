import t from 'tap'
import { createHeaderBlock } from '../../../../core/http/headers.ts'
import { formatRequestHead } from '../../../../core/upstream/http1/request-head.ts'
import { createTestExchange } from '../../../../sdk/testing.ts'

t.test('the head has request line, Host and headers in order', async (t) => {
  const x = createTestExchange({
    path: '/a%20b?c=d',
    host: 'shop.test:81',
    headers: { 'X-A': ['1', '2'], cookie: 'y' },
  })
  t.equal(
    formatRequestHead(x),
    'GET /a%20b?c=d HTTP/1.1\r\nhost: shop.test:81\r\nx-a: 1\r\nx-a: 2\r\ncookie: y\r\n\r\n',
  )
})

t.test('the body is framed by its length or as chunked (RFC 9112 §6)', async (t) => {
  const cases: [Parameters<typeof createTestExchange>[0], RegExp][] = [
    [{ method: 'POST', body: '12345' }, /\r\ncontent-length: 5\r\n\r\n$/],
    [{ method: 'GET', body: '12345' }, /\r\ncontent-length: 5\r\n\r\n$/],
    [{ method: 'POST', body: '1', chunked: true }, /\r\ntransfer-encoding: chunked\r\n\r\n$/],
    [{ method: 'POST' }, /\r\ncontent-length: 0\r\n\r\n$/],
    [{ method: 'PUT' }, /\r\ncontent-length: 0\r\n\r\n$/],
    [{ method: 'PATCH' }, /\r\ncontent-length: 0\r\n\r\n$/],
    [{ method: 'DELETE' }, /^DELETE \/ HTTP\/1\.1\r\nhost: localhost\r\n\r\n$/],
  ]
  for (const [request, end] of cases) t.match(formatRequestHead(createTestExchange(request)), end)
})

t.test('a Host header set by a plugin replaces the one from the client', async (t) => {
  const x = createTestExchange()
  x.headers.set('X-A', '1')
  x.headers.set('Host', 'inner.test')
  t.equal(formatRequestHead(x), 'GET / HTTP/1.1\r\nhost: inner.test\r\nx-a: 1\r\n\r\n')
})

t.test('a rewritten path is sent with the query', async (t) => {
  const x = createTestExchange({ path: '/old?q' })
  x.rewrite('/new')
  t.match(formatRequestHead(x), /^GET \/new\?q HTTP/)
})

t.test('a shared header block is written first, after Host', async (t) => {
  const x = createTestExchange({ path: '/a', host: 'shop.test', headers: { accept: '*/*' } })
  x.headers.appendBlock(createHeaderBlock(['via', '1.1 mx', 'x-forwarded-proto', 'http']))
  x.headers.append('x-request-id', '1')
  const head =
    'host: shop.test\r\nvia: 1.1 mx\r\nx-forwarded-proto: http\r\naccept: */*\r\nx-request-id: 1\r\n\r\n'
  t.equal(formatRequestHead(x), `GET /a HTTP/1.1\r\n${head}`)
  x.rewrite('/b')
  t.equal(formatRequestHead(x), `GET /b HTTP/1.1\r\n${head}`)
  x.headers.delete('x-request-id')
  t.equal(
    formatRequestHead(x),
    'GET /b HTTP/1.1\r\nhost: shop.test\r\naccept: */*\r\nvia: 1.1 mx\r\nx-forwarded-proto: http\r\n\r\n',
    'after a delete the headers are written in order',
  )
})

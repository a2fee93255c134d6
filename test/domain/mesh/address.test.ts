import t from 'tap'
import { isServerAddress, parseServerAddress } from '../../../domain/mesh/address.ts'

t.test('parses host, port and TLS of a server address', (t) => {
  const plain = { host: 'example.com', port: 8081, secure: false, text: 'mx://example.com:8081' }
  t.strictSame(parseServerAddress('example.com:8081'), plain)
  t.strictSame(parseServerAddress(' mx://example.com:8081 '), plain)
  t.strictSame(parseServerAddress('mxs://[::1]:443'), {
    host: '::1',
    port: 443,
    secure: true,
    text: 'mxs://[::1]:443',
  })
  t.end()
})

t.test('rejects invalid addresses', (t) => {
  for (const text of [
    '',
    'example.com',
    ':8081',
    'http://example.com:80',
    'mx://',
    'mx://a:0',
    'a:65536',
    'mx://a:1/path',
    'mx://user@a:1',
    `${'a.'.repeat(200)}a:1`,
  ])
    t.equal(parseServerAddress(text), undefined, text)
  t.end()
})

t.test('writes an advertised address in full', (t) => {
  t.ok(isServerAddress('mx://a:1'))
  for (const value of ['a:1', ' mx://a:1', 1, undefined, null]) t.notOk(isServerAddress(value))
  t.end()
})

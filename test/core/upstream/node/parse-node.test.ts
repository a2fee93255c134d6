import t from 'tap'
import { parseHostPort, parseNode } from '../../../../core/upstream/node/parse-node.ts'
import { makeNode } from '../../../fixtures/services.ts'

t.test('an address is a host or an IP address, and a port', async (t) => {
  t.same(parseHostPort('127.0.0.1:9001'), { host: '127.0.0.1', port: 9001 })
  t.same(parseHostPort('[::1]:9001'), { host: '::1', port: 9001 })
  t.same(parseHostPort('db_1.internal:65535'), { host: 'db_1.internal', port: 65_535 })
  t.same(parseHostPort('a:1'), { host: 'a', port: 1 })
})

t.test('other addresses are rejected', async (t) => {
  const invalid = [
    '',
    ':',
    ':80',
    'a',
    'a:',
    'a:0',
    'a:65536',
    'a:080',
    'a:8x',
    'a:+80',
    'a:1e2',
    '::1:80',
  ]
  const hosts = [
    '[::1]',
    '[::1',
    '[a]:80',
    '[127.0.0.1]:80',
    '10.0.0.256:80',
    '1.2.3:80',
    'node.1:80',
    'node.0x1f:80',
    '0x7f000001:80',
    '..:80',
    'a..b:80',
  ]
  const invalidNodes = [
    'a b:80',
    'a/b:80',
    'a@b:80',
    '-a:80',
    'a-:80',
    'http://a:80',
    'a:80 ',
    'a\r\n:80',
    'ü:80',
  ]
  for (const address of [...invalid, ...hosts, ...invalidNodes, `${'a'.repeat(254)}:80`]) {
    t.equal(parseHostPort(address), undefined, JSON.stringify(address))
  }
})

t.test('metadata sets protocol, weight and pipeline', async (t) => {
  const plain = {
    host: 'a',
    port: 80,
    secure: false,
    protocol: 'http',
    weight: 1,
    pipeline: 1,
    priority: 0,
    zone: '',
    draining: false,
    resolved: '',
  }
  t.same(parseNode(makeNode('a:80')), plain)
  t.same(parseNode(makeNode('a:80', { protocol: 'http', transport: 'grpc', region: 'x' })), plain)
  t.same(parseNode(makeNode('a:80', { protocol: 'https', weight: '1000', pipeline: '64' })), {
    ...plain,
    secure: true,
    weight: 1000,
    pipeline: 64,
  })
  t.match(parseNode(makeNode('a:80', { 'mx/priority': '65535' })), { priority: 65_535 })
  t.match(parseNode(makeNode('a:80', { zone: 'eu-1' })), { zone: 'eu-1' })
  t.match(parseNode(makeNode('a:80', { protocol: 'mx' })), { protocol: 'mx', secure: false })
  t.match(parseNode(makeNode('a:80', { protocol: 'mxs' })), { protocol: 'mx', secure: true })
})

t.test('malformed metadata is rejected with a reason', async (t) => {
  const cases: [Record<string, string>, string][] = [
    [{ protocol: 'ftp' }, 'protocol must be http, https, mx, mxs, grpc or grpcs, got "ftp"'],
    [{ protocol: '' }, 'protocol must be http, https, mx, mxs, grpc or grpcs, got ""'],
    [{ weight: '0' }, 'weight must be a whole number from 1 to 1000, got "0"'],
    [{ weight: '1001' }, 'weight must be a whole number from 1 to 1000, got "1001"'],
    [{ weight: '1.5' }, 'weight must be a whole number from 1 to 1000, got "1.5"'],
    [{ weight: '-1' }, 'weight must be a whole number from 1 to 1000, got "-1"'],
    [{ weight: ' 1' }, 'weight must be a whole number from 1 to 1000, got " 1"'],
    [{ pipeline: '65' }, 'pipeline must be a whole number from 1 to 64, got "65"'],
    [{ 'mx/priority': '-1' }, 'mx/priority must be a whole number from 0 to 65535, got "-1"'],
    [{ resolved: '10.0.0.1,a' }, 'resolved must be IP addresses, got "10.0.0.1,a"'],
  ]
  for (const [metadata, reason] of cases) t.equal(parseNode(makeNode('a:80', metadata)), reason)
  t.match(
    parseNode(makeNode('a')),
    /^address must be host:port .* a port from 1 to 65535, got "a"$/,
  )
})

import { once } from 'node:events'
import {
  type ConnectionOptions,
  connect as connectTls,
  createServer as createTlsServer,
} from 'node:tls'
import t from 'tap'
import {
  describeConnectFault,
  findConnectFault,
  toConnectDetail,
} from '../../../core/upstream/connect-error.ts'
import { createCertificate } from '../../fixtures/certificates.ts'
import { listen } from '../../fixtures/listen.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'

t.test('connect errors are described to clients without addresses', (t) => {
  const cases: readonly [detail: string, expected: string][] = [
    ['connect ECONNREFUSED 127.0.0.1:1', 'the backend refused the connection'],
    ['getaddrinfo ENOTFOUND orders.internal', 'the name of the backend does not resolve'],
    ['getaddrinfo EAI_AGAIN orders', 'resolving the name of the backend timed out'],
    ['connect EHOSTUNREACH 10.0.0.1:80', 'there is no route to the backend'],
    ['connect ENETUNREACH 10.0.0.1:80', 'there is no route to the backend'],
    ['connect ETIMEDOUT 10.0.0.1:80', 'the backend did not accept a connection in time'],
    ['connecting to the backend timed out', 'the backend did not accept a connection in time'],
    [
      'no connection to a:1: no response within 9 ms',
      'the backend did not accept a connection in time',
    ],
    ['certificate has expired', 'the certificate of the backend is not trusted'],
    ['write EPROTO SSL routines: packet', 'the TLS handshake with the backend failed'],
    ['the backend does not offer HTTP/2 (ALPN h2)', 'the backend does not speak HTTP/2'],
    ['socket hang up', 'the backend closed the connection before it responded'],
    ['read ECONNRESET', 'the backend closed the connection before it responded'],
    ['connection closed', 'cannot connect to the backend'],
  ]
  for (const [detail, expected] of cases)
    t.equal(describeConnectFault(detail, 'the backend'), expected)
  t.equal(findConnectFault('no connection to tls.issuer:1: connect ECONNREFUSED'), 'refused')
  t.end()
})

t.test('TLS failures are described with a one-line message', async (t) => {
  const { port } = await openRawBackend(t, {
    onRequest: () => {},
    certificate: createCertificate(['a.test']),
  })
  const plain = await openRawBackend(t)
  plain.server.on('connection', (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const fail = async (options: ConnectionOptions): Promise<string> => {
    const socket = connectTls({ host: '127.0.0.1', ...options })
    t.teardown(() => socket.destroy())
    const [error] = await once(socket, 'error')
    const detail = toConnectDetail(error)
    t.notMatch(detail, /\n|\.c:/)
    return detail
  }
  t.equal(findConnectFault(await fail({ port })), 'certificate')
  const noTls = await fail({ port: plain.port })
  t.match(noTls, /wrong version number$/)
  t.equal(findConnectFault(noTls), 'tls')
  const { cert, key } = createCertificate(['a.test'])
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const strict = createTlsServer({
      ...{ cert, key, requestCert: true, rejectUnauthorized: true },
      ...{ minVersion: version, maxVersion: version },
    })
    strict.on('tlsClientError', () => {})
    const strictPort = await listen(t, strict)
    const options = { port: strictPort, rejectUnauthorized: false }
    const detail = await fail(options)
    t.equal(findConnectFault(detail), version === 'TLSv1.3' ? 'client-certificate' : 'tls', detail)
  }
})

t.test('a failed connect to several addresses is described by its code', (t) => {
  const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  t.equal(toConnectDetail(error), 'connect ECONNREFUSED')
  t.end()
})

import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import t from 'tap'
import { createConsulRegistry } from '../../../adapters/registry/consul.ts'
import { createMxRegistry } from '../../../adapters/registry/mx.ts'
import { explainTls } from '../../../lib/net/tls-error-hint.ts'
import { createCertificate } from '../../fixtures/certificates.ts'
import { listen } from '../../fixtures/listen.ts'

t.test('a TLS connection to a plain registry fails with a hint to the plain scheme', async (t) => {
  const server = createServer()
  const port = await listen(t, server)
  const options = { host: '127.0.0.1', port, secure: true }
  const rows = { mx: createMxRegistry(options), consul: createConsulRegistry(options) }
  for (const [name, registry] of Object.entries(rows)) {
    t.teardown(() => registry.close?.())
    await t.rejects(Promise.resolve(registry.getService('a')), {
      message: new RegExp(
        `127\\.0\\.0\\.1:${port} is unreachable: the server does not use TLS; use ${name}:// instead$`,
      ),
    })
  }
})

t.test(
  'a certificate from an unknown authority fails with a hint to the setting for its file',
  async (t) => {
    const { cert, key } = createCertificate(['127.0.0.1'])
    const server = createTlsServer({ cert, key })
    const port = await listen(t, server)
    const options = { host: '127.0.0.1', port, secure: true }
    const rows = [
      [createMxRegistry(options), 'NODE_EXTRA_CA_CERTS'],
      [createConsulRegistry(options), '\\?ca= or CONSUL_CACERT'],
    ] as const
    for (const [registry, place] of rows) {
      t.teardown(() => registry.close?.())
      await t.rejects(Promise.resolve(registry.getService('a')), {
        message: new RegExp(`: set ${place} to the file of its certificate authority$`),
      })
    }
  },
)

t.test('any other error message is unchanged', (t) => {
  t.equal(explainTls('connect ECONNREFUSED', 'mx://', 'X'), 'connect ECONNREFUSED')
  t.end()
})

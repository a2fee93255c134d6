import { createServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import t from 'tap'
import { checkServer } from '../../../cli/doctor/server.ts'
import { withSession } from '../../../cli/session/session.ts'
import { createCertificate } from '../../fixtures/certificates.ts'
import { openCli } from '../../fixtures/cli.ts'
import { listen } from '../../fixtures/listen.ts'

await openCli(t)
const tls = await listen(t, createServer(createCertificate(['127.0.0.1'])))
const plain = await listen(
  t,
  createTcpServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 404 Not Found\r\n\r\n')),
)

t.test('a failed TLS or protocol handshake names the reason and the remedy', async (t) => {
  t.teardown(() => delete process.env['MX_ENV_DEV_ADDRESS'])
  for (const [address, reason] of [
    [
      `mxs://127.0.0.1:${tls}`,
      'self-signed certificate: set NODE_EXTRA_CA_CERTS to the file of its certificate authority',
    ],
    [`127.0.0.1:${tls}`, `socket hang up; if the server uses TLS, use mxs://127.0.0.1:${tls}`],
    [`mxs://127.0.0.1:${plain}`, 'the server does not use TLS; use mx:// instead'],
    [`127.0.0.1:${plain}`, 'another program listens at this address'],
  ] as const) {
    process.env['MX_ENV_DEV_ADDRESS'] = address
    const env = 'dev'
    const message = `Failed to connect to mx server at ${address}, the address of dev: ${reason}. See 'mx env'`
    const response = withSession({ env }, ({ call }) =>
      call('registry', 'Registry.ListServices', {}),
    )
    await t.rejects(response, { status: 4, message })
    t.match(await checkServer({ env }), {
      canStart: false,
      findings: [{ found: `unreachable: ${reason}`, advice: 'see mx env' }],
    })
  }
})

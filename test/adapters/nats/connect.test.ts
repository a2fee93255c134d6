import { join } from 'node:path'
import t, { type Test } from 'tap'
import { connectNats } from '../../../adapters/nats/connect.ts'
import { type NatsHost, parseNatsUrl } from '../../../adapters/nats/url.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { startNats } from '../../fixtures/nats.ts'
import { openRawBackend } from '../../fixtures/raw-backend.ts'

async function connect(t: Test, url: string, host?: NatsHost) {
  const address = parseNatsUrl(url)
  const { signal } = new AbortController()
  const options = { timeoutMs: 2000, pingMs: 5000, signal }
  const connection = await connectNats(address, host ?? address.hosts[0]!, options)
  t.teardown(() => connection.close())
  return connection
}

t.test('authenticates by user and password or by token', async (t) => {
  const server = await startNats(t, {
    settings: ['authorization { user: ann, password: "p@ss: word" }'],
  })
  if (server === undefined) return
  const at = `127.0.0.1:${server.port}`
  const connection = await connect(t, `nats://ann:p%40ss%3A%20word@${at}`)
  await connection.flush()
  for (const invalid of ['', 'ann:wrong@', 'p%40ss%3A%20word@'])
    await t.rejects(connect(t, `nats://${invalid}${at}`), {
      denied: true,
      message: /authentication failed: .*Authorization Violation/i,
    })
  await server.start(['authorization { token: "s3cret" }'])
  await (await connect(t, `nats://s3cret@${at}`)).flush()
  await t.rejects(connect(t, `nats://other@${at}`), {
    denied: true,
    message: /authentication failed/,
  })
})

t.test('requires TLS for tls:// without fallback', async (t) => {
  const folder = createCertificateFolder(t)
  const certificate = createCertificate(['localhost', '127.0.0.1'])
  const { certFile, keyFile } = folder.write('server', certificate)
  const server = await startNats(t, { certificate })
  if (server === undefined) return
  const { port } = server
  for (const host of ['localhost', '127.0.0.1'])
    await (await connect(t, `tls://${host}:${port}?ca=${certFile}`)).flush()
  const other = folder.write('other', createCertificate(['elsewhere'], { hasOwnKey: true }))
  const rejections: [string, RegExp][] = [
    [`nats://localhost:${port}`, /TLS is required; did you mean tls:\/\/\?/],
    [`tls://localhost:${port}`, /TLS: self-signed certificate/],
    [`tls://localhost:${port}?ca=${other.certFile}`, /TLS: /],
    [`tls://localhost:${port}?ca=${join(folder.path, 'none')}`, /cannot read the ca file: ENOENT/],
    [
      `tls://localhost:${port}?ca=${certFile}&cert=${certFile}&key=${other.certFile}`,
      /invalid certificates/,
    ],
  ]
  for (const [url, message] of rejections)
    await t.rejects(connect(t, url), { denied: true, message }, url)
  const named = createCertificate(['elsewhere'])
  const otherName = await startNats(t, { certificate: named })
  const { certFile: namedFile } = folder.write('named', named)
  await t.rejects(
    connect(t, `tls://localhost:${otherName!.port}?ca=${namedFile}`),
    { denied: true, message: /TLS: .*altnames/ },
    'a certificate for another name',
  )

  await server.start([
    `tls { cert_file: "${certFile}", key_file: "${keyFile}", ca_file: "${certFile}", verify: true }`,
  ])
  await t.rejects(connect(t, `tls://localhost:${port}?ca=${certFile}`), {
    denied: true,
    message: /TLS: .*certificate/,
  })
  const withClientCertificate = `tls://localhost:${port}?ca=${certFile}&cert=${certFile}&key=${keyFile}`
  await (await connect(t, withClientCertificate)).flush()

  const plain = await startNats(t)
  await t.rejects(connect(t, `tls://localhost:${plain!.port}?ca=${certFile}`), {
    denied: true,
    message: /TLS is not supported; did you mean nats:\/\/\?/,
  })
})

t.test('rejects a server without support for headers', async (t) => {
  const server = await startNats(t, { settings: ['no_header_support: true'] })
  if (server === undefined) return
  await t.rejects(connect(t, server.url), { denied: true, message: /does not support headers/ })
})

t.test('treats an unreachable server as an outage', async (t) => {
  const backend = await openRawBackend(t)
  backend.close()
  const failure = await connect(t, `nats://127.0.0.1:${backend.port}`).catch((error) => error)
  t.match(failure, { message: 'connection refused', denied: undefined })
})

import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createCertificate, createCertificateFolder } from '../fixtures/certificates.ts'
import { startMx } from '../fixtures/mx.ts'

async function startBackend(t: Test, options: ServerOptions): Promise<string> {
  const backend = createServer(options, (_, response) => response.end('ok'))
  backend.listen(0, '127.0.0.1')
  await once(backend, 'listening')
  t.teardown(() => {
    backend.close()
    backend.closeAllConnections()
  })
  return `https://127.0.0.1:${(backend.address() as AddressInfo).port}`
}

t.test('backends with a private authority, and with client certificates', async (t) => {
  const folder = createCertificateFolder()
  t.teardown(folder.remove)
  const names = ['127.0.0.1']
  const known = createCertificate(names, { ownKey: true })
  const { certFile } = folder.write('known', known)
  const backends = {
    known: await startBackend(t, known),
    unknown: await startBackend(t, createCertificate(names, { ownKey: true })),
    closed: await startBackend(t, { ...known, ca: known.cert, requestCert: true }),
  }
  const words = Object.entries(backends).map(([name, url]) => `--backend=${name}=${url}`)
  const mx = startMx(['api', '--handler=proxy', '--address=127.0.0.1:0', ...words], {
    cwd: folder.path,
    env: { NODE_EXTRA_CA_CERTS: certFile, MX_ADMIN_ADDRESS: 'none' },
  })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const ask = async (name: string): Promise<string> => {
    const reply = await fetch(`${url}/${name}/`)
    return `${reply.status} ${await reply.text()}`
  }
  t.equal(await ask('known'), '200 ok', 'NODE_EXTRA_CA_CERTS adds an authority')
  t.match(await ask('unknown'), /^502 .*the certificate of the backend is not trusted/)
  t.match(
    await ask('closed'),
    /^502 .*requires a client certificate, which the gateway does not send/,
  )
})

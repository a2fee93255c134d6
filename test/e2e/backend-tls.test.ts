import { writeFileSync } from 'node:fs'
import { createServer, type ServerOptions } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCertificate, createCertificateFolder } from '../fixtures/certificates.ts'
import { listen } from '../fixtures/listen.ts'
import { startMx } from '../fixtures/mx.ts'

async function startBackend(t: Test, options: ServerOptions): Promise<string> {
  const backend = createServer(options, (_, response) => response.end('ok'))
  return `https://127.0.0.1:${await listen(t, backend)}`
}

t.test('trusts a private authority, and explains rejected certificates', async (t) => {
  const folder = createCertificateFolder(t)
  const names = ['127.0.0.1']
  const certificate = createCertificate(names, { hasOwnKey: true })
  const { certFile } = folder.write('known', certificate)
  const backends = {
    known: await startBackend(t, certificate),
    unknown: await startBackend(t, createCertificate(names, { hasOwnKey: true })),
    closed: await startBackend(t, { ...certificate, ca: certificate.cert, requestCert: true }),
  }
  const args = Object.entries(backends).map(([name, url]) => `--backend=${name}=${url}`)
  const mx = startMx(['api', '--handler=proxy', '--address=127.0.0.1:0', ...args], {
    cwd: folder.path,
    env: { NODE_EXTRA_CA_CERTS: certFile, MX_ADMIN_ADDRESS: 'none' },
  })
  t.teardown(async () => {
    mx.child.kill('SIGKILL')
    await mx.ended
  })
  const url = await mx.url()
  const sendRequest = async (name: string): Promise<string> => {
    const reply = await fetch(`${url}/${name}/`)
    return `${reply.status} ${await reply.text()}`
  }
  t.equal(await sendRequest('known'), '200 ok', 'NODE_EXTRA_CA_CERTS adds an authority')
  t.match(await sendRequest('unknown'), /^502 .*the certificate of the backend is not trusted/)
  t.match(
    await sendRequest('closed'),
    /^502 .*requires a client certificate, which the gateway does not send/,
  )
})

for (const workers of [1, 2])
  t.test(`${workers} workers: reloads a changed TLS file without a restart`, async (t) => {
    const folder = createCertificateFolder(t)
    const [before, after] = [1, 2].map(() => createCertificate(['127.0.0.1'], { hasOwnKey: true }))
    const node = await startBackend(t, after!)
    folder.write('trusted', before!)
    const text = `
services:
  shop: { nodes: [${node}], tls: { ca: trusted.crt } }
  any: { nodes: [${node}], tls: { insecure_skip_verify: true } }
`
    writeFileSync(join(folder.path, 'mx.yaml'), text)
    const args = ['api', '--handler=proxy', '--address=127.0.0.1:0', `--workers=${workers}`]
    const mx = startMx(args, { cwd: folder.path })
    t.teardown(async () => {
      mx.child.kill('SIGKILL')
      await mx.ended
    })
    const url = await mx.url()
    t.equal((await fetch(`${url}/any`)).status, 200)
    t.equal((await fetch(`${url}/shop`)).status, 502)
    await mx.waitUntil(/mx\.yaml:4:\d+: insecure_skip_verify lets any server pose as a node/)
    folder.write('trusted', after!)
    await mx.waitUntil(/configuration reloaded/)
    let tries = 0
    while ((await fetch(`${url}/shop`)).status !== 200 && tries < 200) tries++
    t.ok(tries < 200, 'the new authority is in use')
    t.match(mx.output.stderr, /"servicesChanged":\["go\.mx\.api\.shop"\]/)
  })

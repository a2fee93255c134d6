import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { loadTls } from '../../../../core/listener/tls/tls.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'
import { openListener } from '../../../fixtures/open-listener.ts'
import { skipUnless } from '../../../fixtures/servers.ts'

const run = promisify(execFile)

t.test('third-party clients', async (t) => {
  const folder = createCertificateFolder(t)
  const tls = loadTls([folder.write('a', createCertificate(['a.test']))])
  const { port, faults, gateway } = await openListener(
    t,
    createNodeListener,
    async (x) => {
      const body = await x.readBody()
      x.reply(200, `${x.httpVersion} ${x.method} ${body.length}`)
    },
    { tls },
  )
  const url = `https://127.0.0.1:${port}/`

  await t.test(
    'h2load: 2000 requests over 4 connections with 50 streams each succeed',
    async (t) => {
      const h2load = skipUnless(t, 'h2load')
      if (h2load === undefined) return
      const { stdout } = await run(h2load, ['-n', '2000', '-c', '4', '-m', '50', url])
      t.match(stdout, /2000 succeeded, 0 failed, 0 errored, 0 timeout/)
      t.match(stdout, /Application protocol: h2/)
    },
  )

  await t.test('nghttp: a GET and an upload of 300,000 bytes succeed', async (t) => {
    const nghttp = skipUnless(t, 'nghttp')
    if (nghttp === undefined) return
    t.equal((await run(nghttp, ['--no-verify-peer', url])).stdout, '2 GET 0')
    const { certFile } = folder.write('body', { cert: 'x'.repeat(300_000), key: '' })
    const upload = await run(nghttp, ['--no-verify-peer', '-d', certFile, url])
    t.equal(upload.stdout, '2 POST 300000')
  })

  await t.test('curl: uses HTTP/2 by default, and HTTP/1.1 with --http1.1', async (t) => {
    const curl = skipUnless(t, 'curl')
    if (curl === undefined) return
    t.equal((await run(curl, ['-sk', url])).stdout, '2 GET 0')
    t.equal((await run(curl, ['-sk', '--http1.1', '-d', 'abc', url])).stdout, '1.1 POST 3')
  })

  t.same(faults, [])
  t.equal(gateway.inFlight, 0)
})

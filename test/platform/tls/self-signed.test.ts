import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { pino } from 'pino'
import t from 'tap'
import { createNodeListener } from '../../../core/listener/node/listener.ts'
import { openSelfSigned } from '../../../platform/tls/self-signed.ts'
import { openListener } from '../../fixtures/open-listener.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const DAY_MS = 24 * 3600 * 1000

t.test('creates a certificate for this machine once, readable by its owner only', async (t) => {
  const folder = join(makeTempFolder(t, 'self-signed'), 'mx')
  const messages: string[] = []
  const log = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) })
  let nowMs = Date.now()
  const open = async () => {
    const tls = await openSelfSigned({ folder, log, nowMs: () => nowMs })
    t.teardown(() => tls.close())
    return tls
  }
  const first = await open()
  const { cert } = first.pairs[0]!
  const { subjectAltName, ca, validTo } = new X509Certificate(cert)
  t.match(subjectAltName, /^DNS:localhost,.*IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1$/)
  t.equal(ca, false, 'the certificate is not a certificate authority')
  t.equal(Math.round((Date.parse(validTo) - nowMs) / DAY_MS), 365)
  const certFile = join(folder, 'self_signed.crt')
  t.match(messages, [
    new RegExp(`^self-signed certificate created; to trust it: curl --cacert ${certFile}`),
  ])
  for (const file of [certFile, join(folder, 'self_signed.key')])
    t.equal(statSync(file).mode & 0o777, 0o600, file)

  await t.test('clients that trust it connect', async (t) => {
    const { port } = await openListener(t, createNodeListener, (x) => x.reply(200, ''), {
      tls: first,
    })
    for (const host of ['localhost', '127.0.0.1']) {
      const socket = connect({ port, host, ca: readFileSync(certFile, 'utf8') })
      await once(socket, 'secureConnect')
      t.equal(socket.authorized, true, host)
      socket.destroy()
    }
  })

  await t.test('reuses the certificate', async (t) => {
    t.equal((await open()).pairs[0]!.cert, cert)
    t.equal(messages.length, 1)
  })

  await t.test('renews the certificate before it expires, without interruption', async (t) => {
    nowMs += 300 * DAY_MS
    first.reload()
    t.equal(first.pairs[0]!.cert, cert)
    nowMs += 36 * DAY_MS
    const changed = new Promise<void>((resolve) => first.onChange(() => resolve()))
    first.reload()
    await changed
    t.not(first.pairs[0]!.cert, cert)
    t.equal(readFileSync(certFile, 'utf8'), first.pairs[0]!.cert)
  })

  await t.test('replaces a damaged certificate', async (t) => {
    writeFileSync(certFile, 'nothing')
    t.match((await open()).pairs[0]!.cert, /BEGIN CERTIFICATE/)
  })
})

t.test('without a folder the certificate is temporary', async (t) => {
  const messages: string[] = []
  const log = pino({}, { write: (line: string) => messages.push(JSON.parse(line).msg) })
  const tls = await openSelfSigned({ folder: undefined, log })
  await tls.close()
  t.equal(tls.pairs.length, 1)
  t.same(messages, ['temporary self-signed certificate created'])
})

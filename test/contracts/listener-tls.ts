import { once } from 'node:events'
import { type ConnectionOptions, connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import t from 'tap'
import { WebSocket } from 'ws'
import { createCertificateSource } from '../../core/listener/tls/certificates.ts'
import { type Certificate, loadTls } from '../../core/listener/tls/tls.ts'
import { createCertificate, createCertificateFolder } from '../fixtures/certificates.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import { openBackendServer, openWebGateway } from '../fixtures/web-gateway.ts'
import type { ListenerSubject } from './listener-subject.ts'

/** Certificate that a server presents for `servername`. */
async function getCertificate(port: number, servername: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { raw }: PeerCertificate = socket.getPeerCertificate()
  socket.destroy()
  return raw.toString('base64')
}

async function handshake(port: number, options: ConnectionOptions): Promise<string> {
  const socket: TLSSocket = connect({
    port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...options,
  })
  try {
    await once(socket, 'secureConnect')
    return socket.getProtocol() ?? ''
  } catch {
    return 'refused'
  } finally {
    socket.destroy()
  }
}

function toPair(name: string): Certificate {
  return { ...createCertificate([name]), names: [name] }
}

const toBase64 = (pem: string) => pem.replace(/-----.*-----|\s/g, '')

/** Certificates: selected by name, and replaced while connections stay open. */
export function testListenerTls({ create, name }: ListenerSubject): void {
  t.test('TLS', async (t) => {
    const folder = createCertificateFolder(t)
    const first = createCertificate(['first.test'])
    const second = createCertificate(['second.test', '*.wild.test'])
    const files = [folder.write('first', first), folder.write('second', second)]
    const tls = loadTls(files, { warn: (message) => t.fail(message) })
    t.teardown(tls.close)
    const { port } = await openListener(t, create, (x) => x.reply(200, `${x.secure} ${x.path}`), {
      tls,
    })

    await t.test('serves requests marked as secure', async (t) => {
      const client = new RawClient(port, { servername: 'first.test' })
      const [reply] = await client.send('GET /a HTTP/1.1\r\nHost: first.test\r\n\r\n').replies(1)
      client.destroy()
      t.ok(reply!.endsWith('\r\n\r\ntrue /a'))
    })

    await t.test('selects the certificate by the name in the handshake (SNI)', async (t) => {
      t.equal(await getCertificate(port, 'first.test'), toBase64(first.cert))
      t.equal(await getCertificate(port, 'second.test'), toBase64(second.cert))
      // µWebSockets compares case-sensitively; clients send names in lower case.
      if (name !== 'uws') t.equal(await getCertificate(port, 'SECOND.test'), toBase64(second.cert))
      t.equal(await getCertificate(port, 'a.wild.test'), toBase64(second.cert))
      t.equal(await getCertificate(port, 'unknown.test'), toBase64(first.cert), 'an unknown name')
      t.equal(await getCertificate(port, ''), toBase64(first.cert), 'no name')
    })

    await t.test('accepts TLS 1.2 and 1.3 with authenticated suites only', async (t) => {
      t.equal(await handshake(port, { maxVersion: 'TLSv1.3' }), 'TLSv1.3')
      t.equal(await handshake(port, { maxVersion: 'TLSv1.2' }), 'TLSv1.2')
      const ciphers = 'ALL:@SECLEVEL=0'
      t.equal(
        await handshake(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers }),
        'refused',
      )
      for (const cipher of [
        'AES128-SHA',
        'ECDHE-RSA-AES128-SHA',
        'AES128-GCM-SHA256',
        'ECDHE-RSA-AES256-SHA384',
      ]) {
        const options = { maxVersion: 'TLSv1.2', ciphers: `${cipher}:@SECLEVEL=0` } as const
        t.equal(await handshake(port, options), 'refused', cipher)
      }
    })

    await t.test('closes plain HTTP connections', async () => {
      await new RawClient(port).send('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n').ended()
    })

    await t.test(
      'uses new certificates for new connections and leaves existing ones open',
      async (t) => {
        const old = new RawClient(port, { servername: 'second.test' })
        await old.send('GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
        for (let round = 0; round < 3; round++) {
          const newFirst = createCertificate(['first.test'])
          // The names change, too: the second name is now unknown.
          const newSecond = createCertificate([`round-${round}.test`])
          folder.write('first', newFirst)
          folder.write('second', newSecond)
          tls.reload()
          t.equal(
            await getCertificate(port, ''),
            toBase64(newFirst.cert),
            'the default without a name',
          )
          t.equal(
            await getCertificate(port, 'unknown.test'),
            toBase64(newFirst.cert),
            'the default',
          )
          t.equal(await getCertificate(port, 'first.test'), toBase64(newFirst.cert))
          t.equal(await getCertificate(port, `round-${round}.test`), toBase64(newSecond.cert))
          t.equal(
            await getCertificate(port, 'second.test'),
            toBase64(newFirst.cert),
            'a removed name',
          )
          t.equal(
            await getCertificate(port, 'a.wild.test'),
            toBase64(newFirst.cert),
            'a removed wildcard',
          )
        }
        const replies = await old.send('GET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(2)
        old.destroy()
        t.ok(replies[1]!.endsWith('true /2'))
      },
    )

    await t.test('retains the current certificate if a file does not load', async (t) => {
      const before = await getCertificate(port, 'first.test')
      folder.write('first', { cert: 'nothing', key: 'nothing' })
      t.throws(() => tls.reload(), /contains no PEM certificate/)
      t.equal(await getCertificate(port, 'first.test'), before)
      t.equal(await getCertificate(port, ''), before)
    })
  })

  t.test('loads certificates added while the listener serves', async (t) => {
    const requests: string[] = []
    const tls = createCertificateSource({
      isStrict: true,
      request: async (serverName) => void requests.push(serverName),
    })
    const { port } = await openListener(t, create, (x) => x.reply(200, x.path), { tls })
    const rejected = { servername: 'a.test' }
    t.equal(await handshake(port, rejected), 'refused', 'no certificate exists yet')
    const a = toPair('a.test')
    tls.use([a])
    t.equal(await getCertificate(port, 'a.test'), toBase64(a.cert))
    const old = new RawClient(port, { servername: 'a.test' })
    await old.send('GET /1 HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(1)
    const b = toPair('b.test')
    tls.use([b, a])
    t.equal(await getCertificate(port, 'a.test'), toBase64(a.cert), 'the old certificate')
    t.equal(await getCertificate(port, 'b.test'), toBase64(b.cert), 'the added certificate')
    t.equal(
      await handshake(port, { servername: 'c.test' }),
      'refused',
      'there is no default certificate',
    )
    t.equal(await handshake(port, {}), 'refused', 'a handshake without a name is rejected')
    t.same(
      [...new Set(requests)],
      ['a.test', 'c.test'],
      'certificates of missing names are requested',
    )
    const renewed = toPair('a.test')
    tls.use([b, renewed])
    t.equal(await getCertificate(port, 'a.test'), toBase64(renewed.cert), 'the renewed certificate')
    t.equal(await getCertificate(port, 'b.test'), toBase64(b.cert))
    await old.send('GET /2 HTTP/1.1\r\nHost: a.test\r\n\r\n').replies(2)
    old.destroy()
    tls.use([b])
    t.equal(await handshake(port, { servername: 'a.test' }), 'refused', 'a removed certificate')
  })

  t.test(
    'serves WebSockets over TLS by the default certificate and by name, across a reload',
    async (t) => {
      const folder = createCertificateFolder(t)
      const files = ['first', 'second'].map((name) =>
        folder.write(name, createCertificate([`${name}.test`])),
      )
      const tls = loadTls(files)
      t.teardown(tls.close)
      const backend = await openBackendServer(t)
      const { port, listener } = await openWebGateway(t, create, [backend.port], {
        listener: { tls },
      })
      const clients: WebSocket[] = []
      for (const servername of ['', 'first.test', 'second.test']) {
        const accepted = backend.accepted()
        const options = { servername, rejectUnauthorized: false }
        const client = new WebSocket(`wss://127.0.0.1:${port}/app`, options)
        clients.push(client)
        const peer = await accepted
        peer.on('message', (message) => peer.send(message))
        if (client.readyState !== client.OPEN) await once(client, 'open')
      }
      for (let round = 0; round < 2; round++) {
        folder.write('first', createCertificate(['first.test']))
        tls.reload()
        for (const client of clients) {
          client.send(`round ${round}`)
          const [message] = await once(client, 'message')
          t.equal(String(message), `round ${round}`)
        }
      }
      t.equal(listener.connections, clients.length)
      const codes = clients.map(async (client) => (await once(client, 'close'))[0])
      await listener.close()
      t.same(await Promise.all(codes), [1012, 1012, 1012])
    },
  )
}

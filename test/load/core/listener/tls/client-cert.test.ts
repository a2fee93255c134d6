import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { get } from 'node:https'
import { join } from 'node:path'
import { connect as connectTls, type SecureVersion, type TLSSocket } from 'node:tls'
import t from 'tap'
import type { ListenerOptions } from '../../../../../core/listener/listener.ts'
import { createNodeListener } from '../../../../../core/listener/node/listener.ts'
import { loadClientCa } from '../../../../../core/listener/tls/client-ca.ts'
import { loadTls } from '../../../../../core/listener/tls/tls.ts'
import { createUwsListener } from '../../../../../core/listener/uws/listener.ts'
import { createCertificate, createCertificateFolder } from '../../../../fixtures/certificates.ts'
import { createAuthority } from '../../../../fixtures/client-authority.ts'
import { openListener } from '../../../../fixtures/open-listener.ts'
import { waitUntil } from '../../../../fixtures/raw-backend.ts'
import type { Teardown } from '../../../../fixtures/teardown.ts'

const root = createAuthority('root')
const intermediate = root.createAuthority('middle')
const alice = root.issue('alice')
const bob = intermediate.issue('bob')
const untrusted = createAuthority('other').issue('mallory')

interface ClientCertificate {
  readonly cert?: string
  readonly key?: string
}

async function open(t: Teardown, isOptional: boolean, options: Partial<ListenerOptions> = {}) {
  const folder = createCertificateFolder(t)
  const tls = loadTls([folder.write('server', createCertificate(['a.test']))])
  const file = join(folder.path, 'clients.pem')
  const replace = (pem: string) => writeFileSync(file, pem)
  replace(root.cert)
  const warnings: string[] = []
  const warn = (message: string) => warnings.push(message)
  const clientCa = loadClientCa(file, { isOptional, warn, settleMs: 1 })
  t.teardown(async () => {
    clientCa.close()
    await tls.close()
  })
  const listener = await openListener(
    t,
    createNodeListener,
    (x) => x.reply(200, JSON.stringify(x.headers.flat)),
    { tls, clientCa, ...options },
  )
  return { ...listener, tls, clientCa, warnings, replace }
}

/** Received headers of a request over HTTP/1.1, or undefined if the connection was rejected. */
async function sendRequest(
  port: number,
  { cert, key }: ClientCertificate,
  headers = {},
): Promise<string[] | undefined> {
  const options = {
    port,
    host: '127.0.0.1',
    agent: false,
    rejectUnauthorized: false,
    headers,
    ...(cert && { cert, key: key! }),
  }
  try {
    const [reply] = await once(get(options), 'response')
    return JSON.parse(Buffer.concat(await reply.toArray()).toString())
  } catch {
    return undefined
  }
}

/** Received headers of a request over HTTP/2. */
async function sendRequest2(
  port: number,
  { cert, key }: ClientCertificate,
): Promise<string[] | undefined> {
  const client = connectHttp2(`https://127.0.0.1:${port}`, {
    rejectUnauthorized: false,
    ...(cert && { cert, key: key! }),
  })
  try {
    client.on('error', () => {})
    const stream = client.request({ ':path': '/', 'client-cert': ':AAAA:' })
    return JSON.parse(Buffer.concat(await stream.toArray()).toString())
  } catch {
    return undefined
  } finally {
    client.destroy()
  }
}

interface Resumed {
  readonly text: string
  readonly isReused: boolean
  /** The last session that the server offered. */
  readonly session: Buffer | undefined
}

/** Sends a request over this protocol, with the session of an earlier connection. */
async function requestWith(
  port: number,
  { cert, key }: ClientCertificate,
  version: SecureVersion,
  ALPNProtocols: string[],
  session?: Buffer,
): Promise<Resumed> {
  const socket: TLSSocket = connectTls({
    port,
    host: '127.0.0.1',
    servername: 'a.test',
    rejectUnauthorized: false,
    minVersion: version,
    maxVersion: version,
    ALPNProtocols,
    ...(session && { session }),
    ...(cert && { cert, key: key! }),
  })
  let offered: Buffer | undefined
  socket.on('session', (next) => {
    offered = next
  })
  await once(socket, 'secureConnect')
  const isReused = socket.isSessionReused()
  if (socket.alpnProtocol === 'h2') {
    const client = connectHttp2('https://a.test', { createConnection: () => socket })
    const stream = client.request({ ':path': '/' })
    const text = Buffer.concat(await stream.toArray()).toString()
    client.destroy()
    return { text, isReused, session: offered ?? socket.getSession() }
  }
  socket.write('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
  const text = Buffer.concat(await socket.toArray()).toString()
  return { text, isReused, session: offered ?? socket.getSession() }
}

const toBinary = (pem: string) => `:${new X509Certificate(pem).raw.toString('base64')}:`

t.test('a required client certificate must be issued by the configured authority', async (t) => {
  const { port, served } = await open(t, false)
  for (const sendWith of [sendRequest, sendRequest2]) {
    t.same(await sendWith(port, alice), ['client-cert', toBinary(alice.cert)], sendWith.name)
    t.equal(await sendWith(port, {}), undefined)
    t.equal(await sendWith(port, untrusted), undefined)
    t.equal(await sendWith(port, bob), undefined, 'the intermediate authority is unknown')
  }
  t.equal(served.length, 2)
})

t.test('client-cert-chain has the intermediate certificates without the root', async (t) => {
  const { port } = await open(t, false)
  const certificate = { cert: `${bob.cert}\n${intermediate.cert}`, key: bob.key }
  const expected = [
    'client-cert',
    toBinary(bob.cert),
    'client-cert-chain',
    toBinary(intermediate.cert),
  ]
  t.same(await sendRequest(port, certificate), expected)
  t.same(await sendRequest2(port, certificate), expected)
})

t.test(
  'TLS sessions are not resumed, so every connection presents its certificate and chain',
  async (t) => {
    const { port } = await open(t, false)
    const certificate = { cert: `${bob.cert}\n${intermediate.cert}`, key: bob.key }
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
      for (const protocol of ['http/1.1', 'h2']) {
        const first = await requestWith(port, certificate, version, [protocol])
        t.ok(first.session, `${version} ${protocol}`)
        const second = await requestWith(port, certificate, version, [protocol], first.session)
        t.equal(second.isReused, false, `${version} ${protocol}`)
        t.match(second.text, `"client-cert-chain","${toBinary(intermediate.cert)}"`)
      }
  },
)

t.test('removes client-cert headers sent by clients, with and without certificates', async (t) => {
  const claims = {
    'client-cert': ':AAAA:',
    'Client-Cert-Chain': ':AAAA:',
    client_cert: ':AAAA:',
    'x-a': '1',
    connection: 'close, client-cert',
  }
  const { port } = await open(t, true)
  t.same(await sendRequest(port, alice, claims), ['x-a', '1', 'client-cert', toBinary(alice.cert)])
  t.same(await sendRequest(port, {}, claims), ['x-a', '1'])
})

t.test('an optional client certificate is rejected if it is invalid', async (t) => {
  const { port, served } = await open(t, true)
  for (const sendWith of [sendRequest, sendRequest2]) {
    t.same(await sendWith(port, {}), [], sendWith.name)
    t.equal(await sendWith(port, untrusted), undefined)
  }
  t.equal(served.length, 2)
})

t.test(
  'reloads the authorities when the file changes, and keeps them if the new file is invalid',
  async (t) => {
    const { port, clientCa, warnings, replace, tls } = await open(t, false)
    t.ok(await sendRequest(port, alice))
    replace('nothing')
    t.throws(
      () => clientCa.reload(),
      /^TLS client CA file .*clients.pem contains no PEM certificate$/,
    )
    await waitUntil(() => warnings.length > 0)
    t.match(warnings[0], /contains no PEM certificate.*; the previous authorities stay in use$/)
    t.ok(await sendRequest(port, alice))
    const changed = new Promise<void>((resolve) => clientCa.onChange(resolve))
    replace(createAuthority('new').cert)
    await changed
    t.equal(await sendRequest(port, alice), undefined)
    t.equal(tls.pairs.length, 1)
  },
)

t.test('the error for a missing or damaged authority file names the file', async (t) => {
  t.throws(
    () => loadClientCa('/nowhere/ca.pem'),
    /^TLS client CA file \/nowhere\/ca.pem cannot be read: /,
  )
  const folder = createCertificateFolder(t)
  const file = join(folder.path, 'a.pem')
  writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')
  t.throws(() => loadClientCa(file), /contains a malformed certificate$/)
})

t.test('starts with the previous authorities if the file cannot be loaded', async (t) => {
  const folder = createCertificateFolder(t)
  const file = join(folder.path, 'a.pem')
  const { cert } = createAuthority('kept')
  const warnings: string[] = []
  const clientCa = loadClientCa(file, { last: cert, warn: (message) => warnings.push(message) })
  t.teardown(clientCa.close)
  t.equal(clientCa.pem, cert)
  t.match(warnings, [/cannot be read: .*; the previous authorities stay in use$/])
})

t.test('a listener without support for client certificates does not open', async (t) => {
  const { clientCa } = await open(t, false)
  const options = { host: '127.0.0.1', port: 0, clientCa, handle: () => {} }
  await t.rejects(createUwsListener(options), /use the node listener/)
})

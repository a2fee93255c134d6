import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import type { CreateListener } from '../../core/listener/listener.ts'
import { loadTls } from '../../core/listener/tls/tls.ts'
import { createCertificate, createCertificateFolder } from '../fixtures/certificates.ts'
import { listen } from '../fixtures/listen.ts'
import { openListener } from '../fixtures/open-listener.ts'
import { findClosedPort } from '../fixtures/ports.ts'
import { openRawBackend, waitUntil } from '../fixtures/raw-backend.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import {
  connectWebSocket,
  getClose,
  nextMessage,
  openBackendServer,
  openWebGateway,
  rejectedWebSocket,
} from '../fixtures/web-gateway.ts'

export interface TunnelSubject {
  readonly create: CreateListener
  readonly name: 'uws' | 'node'
  /** Close code for a client whose backend closed without a close frame. */
  readonly backendClosed: string
  /** Events after a client's close code 3000; some parsers reject codes between 1011 and 4000. */
  readonly clientClosed3000: readonly string[]
  /** Whether a frame without a mask ends the WebSocket, as required by RFC 6455 §5.1. */
  readonly demandsMasks: boolean
  /** Whether a client that sends more than its backend reads is paused. */
  readonly pausesClients: boolean
}

const KIB = 1024
const MIB = 1024 * KIB
/** The `Sec-WebSocket-Accept` for the key of {@link HANDSHAKE}. */
const ACCEPT = 's3pPLMBiTxaQ9kYGzzhZRbK+xOo='
const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** Contract of listeners for WebSockets relayed to a backend (RFC 6455). */
export function testTunnel(subject: TunnelSubject): void {
  const { create, name, backendClosed } = subject
  t.test(`${name}: transfers text as text and bytes as bytes in order`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    backend.accepted().then((socket) => {
      socket.on('message', (data, binary) => socket.send(data, { binary }))
    }, t.threw)
    const client = await connectWebSocket(t, port)
    const received: (string | Buffer)[] = []
    client.on('message', (data, binary) =>
      received.push(binary ? (data as Buffer) : data.toString()),
    )
    const sent = ['grüße ✓', Buffer.from([0, 255, 1]), '', Buffer.alloc(0), 'x'.repeat(70_000)]
    for (const message of sent) client.send(message)
    await waitUntil(() => received.length === sent.length)
    t.strictSame(received, sent)
  })

  t.test(
    `${name}: sends the client's handshake to the backend, which selects the subprotocol`,
    async (t) => {
      const backend = await openBackendServer(t, { handleProtocols: (offers) => [...offers][1]! })
      const { port } = await openWebGateway(t, create, [backend.port])
      const handshake = once(backend.server, 'upgrade')
      const client = await connectWebSocket(t, port, ['a.v1', 'b.v2'], {
        path: '/app/a%20b;c?x=1&y=%2F?',
        headers: {
          'X-Custom': 'yes',
          Cookie: 'sid=1',
          Host: 'app.test:8080',
          Origin: 'https://app.test',
        },
      })
      t.equal(client.protocol, 'b.v2')
      const [request] = await handshake
      t.equal(request.url, '/app/a%20b;c?x=1&y=%2F?')
      t.match(request.headers, {
        host: 'app.test:8080',
        'x-custom': 'yes',
        cookie: 'sid=1',
        origin: 'https://app.test',
        'sec-websocket-protocol': 'a.v1,b.v2',
      })
    },
  )

  t.test(`${name}: allows a backend to select no subprotocol`, async (t) => {
    const backend = await openBackendServer(t, { handleProtocols: () => false })
    const { port } = await openWebGateway(t, create, [backend.port])
    const client = new RawClient(port)
    t.teardown(() => client.socket.destroy())
    client.send(`GET /app HTTP/1.1\r\nHost: a\r\nSec-WebSocket-Protocol: a, b\r\n${HANDSHAKE}`)
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    t.match(client.text, /^HTTP\/1.1 101 /)
    t.match(client.text, /s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/, 'the response to this key')
    t.notMatch(client.text, /sec-websocket-protocol/i)
  })

  t.test(
    `${name}: sends headers of the backend's 101 and of reply hooks to the client`,
    async (t) => {
      const backend = await openBackendServer(t)
      backend.server.prependListener('upgrade', () => {})
      const hook = { name: 'test', onReply: (x: Exchange) => x.replyHeaders.set('x-hook', '101') }
      const { port } = await openWebGateway(t, create, [backend.port], { plugins: [hook] })
      const client = new WebSocket(`ws://127.0.0.1:${port}/app`)
      t.teardown(() => client.terminate())
      const [reply] = await once(client, 'upgrade')
      t.equal(reply.headers['x-hook'], '101')
    },
  )

  const accepted = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: '
  for (const [description, response] of [
    ['a 101 without headers', 'HTTP/1.1 101 As You Wish\r\n\r\n'],
    ['a 101 without Connection', 'HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\r\n'],
    ['a 101 without Upgrade', 'HTTP/1.1 101 x\r\nConnection: Upgrade\r\n\r\n'],
    ['a 101 with a length', 'HTTP/1.1 101 x\r\nContent-Length: 5\r\n\r\nhello'],
    [
      'a 101 that upgrades to something else',
      `HTTP/1.1 101 x\r\n${accepted.replace('websocket', 'h2c')}${ACCEPT}\r\n\r\n`,
    ],
    ['a 101 for another key', `HTTP/1.1 101 x\r\n${accepted}AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n`],
    [
      'a 101 for this key, with a body',
      `HTTP/1.1 101 x\r\n${accepted}${ACCEPT}\r\nContent-Length: 5\r\n\r\nhello`,
    ],
    ['a 100 and the end of the connection', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['a 102 and the end of the connection', 'HTTP/1.1 102 x\r\nContent-Length: 0\r\n\r\n'],
    ['a 103 and the end of the connection', 'HTTP/1.1 103 x\r\n\r\n'],
    ['a status beyond 599', 'HTTP/1.1 600 x\r\nContent-Length: 0\r\n\r\n'],
    ['chunks in HTTP/1.0', 'HTTP/1.0 404 x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ] as const) {
    t.test(
      `${name}: responds with 502 to a backend that responds to the handshake with ${description}`,
      async (t) => {
        const backend = await openRawBackend(t, {
          onRequest: (connection) => {
            connection.send(response)
            if (response.startsWith('HTTP/1.1 10') && !response.startsWith('HTTP/1.1 101'))
              connection.socket.end()
          },
        })
        const { port, gateway } = await openWebGateway(t, create, [backend.port])
        const client = new RawClient(port)
        client.send(`GET /app HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
        await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
        t.match(client.text, /^HTTP\/1.1 502 /)
        await (await backend.connection()).ended()
        await gateway.idle()
      },
    )
  }

  t.test(
    `${name}: responds with 502 to a backend that resets the handshake connection`,
    async (t) => {
      const backend = await openRawBackend(t, {
        onRequest: ({ socket }) => socket.resetAndDestroy(),
      })
      const { port } = await openWebGateway(t, create, [backend.port])
      const client = new RawClient(port)
      client.send(`GET /app HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
      await client.waitUntil(({ text }) => text.includes('}'))
      t.match(
        client.text,
        /^HTTP\/1.1 502 .*"Detail":"the backend closed the connection before it responded"/s,
      )
      client.destroy()
    },
  )

  t.test(`${name}: sends exactly one 101 per handshake`, async (t) => {
    const { port, faults } = await openListener(t, create, (x) => {
      if (x.path === '/whole') x.reply(101)
      else x.start(101, x.replyHeaders, -1)
    })
    for (const path of ['/whole', '/streamed']) {
      const client = new RawClient(port)
      client.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
      await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
      t.match(client.text, /^HTTP\/1.1 500 /)
    }
    t.match(faults, [/status must be an integer from 200 to 599, got 101/, /got 101/])
  })

  for (const close of [
    '1000 done',
    '1001 away',
    '1008 policy',
    '3000',
    '4000 x',
    '4999 ünï',
    '1005',
  ]) {
    t.test(`${name}: relays close ${close} both ways`, async (t) => {
      const backend = await openBackendServer(t)
      const { port, gateway } = await openWebGateway(t, create, [backend.port])
      for (const from of ['client', 'backend'] as const) {
        const accepted = backend.accepted()
        const client = await connectWebSocket(t, port)
        const peer = await accepted
        const [sender, receiver] = from === 'client' ? [client, peer] : [peer, client]
        const ends = Promise.all([getClose(receiver), getClose(sender)])
        const [code, reason = ''] = close.split(' ')
        if (code === '1005') sender.close()
        else sender.close(Number(code), reason)
        const isClientClose3000 = from === 'client' && close === '3000'
        const expected = isClientClose3000 ? subject.clientClosed3000 : [close]
        for (const end of await ends) t.ok(expected.includes(end), `from the ${from}: ${end}`)
      }
      await gateway.idle()
    })
  }

  t.test(`${name}: behaves the same over TLS, with a slow backend`, async (t) => {
    const folder = createCertificateFolder(t)
    const certificate = createCertificate(['app.test'])
    const tls = loadTls([folder.write('app', certificate)])
    t.teardown(() => tls.close())
    const backend = await openBackendServer(t)
    const { port, served } = await openWebGateway(t, create, [backend.port], { listener: { tls } })
    const accepted = backend.accepted()
    const options = { ca: certificate.cert, servername: 'app.test' }
    const client = await connectWebSocket(t, port, ['chat'], options)
    t.match(served[0], { secure: true, upgrade: true })
    const peer = await accepted
    peer.pause()
    const count = 200
    for (let i = 0; i < count; i++) client.send(Buffer.alloc(64 * KIB, i))
    await whenStable(() => client.bufferedAmount)
    const received: number[] = []
    peer.on('message', (data: Buffer) => received.push(data[0]!))
    peer.resume()
    await waitUntil(() => received.length === count)
    t.strictSame(received, [...Array(count).keys()])
    const end = getClose(client)
    peer.close(4001, 'bye')
    t.equal(await end, '4001 bye')
  })

  t.test(`${name}: transfers a message of 10 MiB both ways`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    backend.accepted().then((socket) => {
      socket.on('message', (data) => socket.send(data))
    }, t.threw)
    const client = await connectWebSocket(t, port)
    const message = randomBytes(10 * MIB)
    client.send(message)
    const back = await nextMessage(client)
    t.equal(hash(back as Buffer), hash(message))
  })

  t.test(`${name}: joins fragments with pings between them`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    for (const [sender, receiver] of [
      [client, peer],
      [peer, client],
    ] as const) {
      const message = nextMessage(receiver)
      const pong = once(sender, 'pong')
      sender.send('frag', { fin: false })
      sender.send('men', { fin: false })
      sender.ping('between')
      sender.send('ted', { fin: true })
      t.equal(await message, 'fragmented')
      t.equal(String((await pong)[0]), 'between')
    }
  })

  t.test(`${name}: relays pings and their pongs`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port, [], {})
    const peer = await accepted
    for (const [sender, receiver] of [
      [client, peer],
      [peer, client],
    ] as const) {
      for (const payload of ['', 'payload']) {
        const answered = Promise.all([once(receiver, 'ping'), once(sender, 'pong')])
        sender.ping(payload)
        const [[ping], [pong]] = await answered
        t.strictSame([String(ping), String(pong)], [payload, payload])
      }
    }
  })

  t.test(`${name}: sends no pong to a backend if the client sends none`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port, [], { autoPong: false })
    const peer = await accepted
    let pongs = 0
    peer.on('pong', () => pongs++)
    const ping = once(client, 'ping')
    peer.ping()
    await ping
    client.send('after')
    await nextMessage(peer)
    t.equal(pongs, 0)
  })

  t.test(
    `${name}: a slow client applies back-pressure to its backend and loses nothing`,
    async (t) => {
      const backend = await openBackendServer(t)
      const { port, served } = await openWebGateway(t, create, [backend.port])
      const accepted = backend.accepted()
      const client = await connectWebSocket(t, port)
      const peer = await accepted
      client.pause()
      const count = 1000
      const message = randomBytes(64 * KIB)
      for (let i = 0; i < count; i++) {
        message.writeUInt32BE(i, 0)
        peer.send(Buffer.from(message))
      }
      const total = count * message.length
      const bufferedBytes = await whenStable(() => peer.bufferedAmount)
      // The sent bytes are in the buffers of two connections and the gateway.
      t.ok(
        total - bufferedBytes < 16 * MIB,
        `${total - bufferedBytes} of ${total} bytes were accepted`,
      )
      let next = 0
      const last = new Promise<void>((resolve) => {
        client.on('message', (data: Buffer) => {
          if (data.readUInt32BE(0) === next && data.subarray(4).equals(message.subarray(4))) next++
          if (next === count) resolve()
        })
      })
      client.resume()
      await last
      t.equal(next, count)
      client.close()
      await waitUntil(() => served[0]!.finished)
      t.ok(served[0]!.bytesOut >= total, 'bytes sent are counted')
    },
  )

  const skipPauses = subject.pausesClients ? false : 'the library cannot pause reading'
  t.test(
    `${name}: a slow backend applies back-pressure to its client and loses nothing`,
    { skip: skipPauses },
    async (t) => {
      const backend = await openBackendServer(t)
      const { port, served } = await openWebGateway(t, create, [backend.port])
      for (const [count, size] of [
        [1000, 64 * KIB],
        [200_000, 100],
      ] as const) {
        const accepted = backend.accepted()
        const client = await connectWebSocket(t, port)
        const peer = await accepted
        peer.pause()
        const message = randomBytes(size)
        for (let i = 0; i < count; i++) {
          message.writeUInt32BE(i, 0)
          client.send(Buffer.from(message))
        }
        const total = count * size
        const bufferedBytes = await whenStable(() => client.bufferedAmount)
        t.ok(
          total - bufferedBytes < 16 * MIB,
          `${total - bufferedBytes} of ${total} bytes were accepted`,
        )
        let next = 0
        const last = new Promise<void>((resolve) => {
          peer.on('message', (data: Buffer) => {
            if (data.readUInt32BE(0) === next) next++
            if (next === count) resolve()
          })
        })
        // Meanwhile, the other direction stays open, even for more data than the client accepts in one read.
        const back = nextMessage(client)
        peer.send(Buffer.alloc(10 * MIB))
        t.equal((await back).length, 10 * MIB)
        peer.resume()
        await last
        t.equal(next, count, 'all of them, in order')
        const end = getClose(peer)
        client.close(4000, 'done')
        t.equal(await end, '4000 done')
        const x = served.at(-1)!
        await waitUntil(() => x.finished)
        t.ok(x.bytesIn >= total, 'bytes received are counted')
      }
    },
  )

  t.test(
    `${name}: keeps a client paused while its backend sends`,
    { skip: skipPauses },
    async (t) => {
      const backend = await openBackendServer(t)
      const { port } = await openWebGateway(t, create, [backend.port])
      const accepted = backend.accepted()
      const client = await connectWebSocket(t, port)
      const peer = await accepted
      peer.pause()
      const count = 1000
      for (let i = 0; i < count; i++) client.send(Buffer.alloc(64 * KIB))
      const total = count * 64 * KIB
      await whenStable(() => client.bufferedAmount)
      // Repeatedly sends more data than the client accepts in one read.
      for (let round = 0; round < 20; round++) {
        const back = nextMessage(client)
        peer.send(Buffer.alloc(8 * MIB))
        await back
      }
      const bufferedBytes = client.bufferedAmount
      t.ok(
        total - bufferedBytes < 16 * MIB,
        `${total - bufferedBytes} of ${total} bytes were accepted`,
      )
      let received = 0
      peer.on('message', () => received++)
      peer.resume()
      await waitUntil(() => received === count)
      t.equal(received, count)
    },
  )

  t.test(
    `${name}: relays the error response of a backend that rejects the handshake`,
    async (t) => {
      const backend = await openBackendServer(t, {
        verifyClient: (_info, done) =>
          done(false, 401, 'log in first', { 'WWW-Authenticate': 'Basic', Location: '/login' }),
      })
      const { port, gateway, upstream } = await openWebGateway(t, create, [backend.port])
      const { status, headers, body } = await rejectedWebSocket(port)
      t.strictSame([status, body], [401, 'log in first'])
      t.match(headers, { 'www-authenticate': 'Basic', location: '/login' })
      await gateway.idle()
      await waitUntil(() => upstream.nodes[0]!.active === 0)
    },
  )

  t.test(`${name}: relays a rejection that arrives in parts`, async (t) => {
    const backend = await openBackendServer(t, { noServer: true, server: undefined! })
    const body = randomBytes(3 * MIB).toString('hex')
    backend.server.on('upgrade', (_request, socket: Socket) => {
      socket.on('error', t.comment)
      socket.write('HTTP/1.1 404 Nope\r\nTransfer-Encoding: chunked\r\n\r\n')
      for (let at = 0; at < body.length; at += MIB) {
        socket.write(`${MIB.toString(16)}\r\n${body.slice(at, at + MIB)}\r\n`)
      }
      socket.write('0\r\n\r\n')
    })
    const { port } = await openWebGateway(t, create, [backend.port])
    const reply = await rejectedWebSocket(port)
    t.equal(reply.status, 404)
    t.ok(reply.body === body, 'the body is complete')
  })

  t.test(`${name}: ends the client's WebSocket when the backend disconnects`, async (t) => {
    const backend = await openBackendServer(t)
    const { port, gateway, upstream } = await openWebGateway(t, create, [backend.port])
    const accepted = backend.accepted()
    const client = await connectWebSocket(t, port)
    const peer = await accepted
    const end = getClose(client)
    peer.terminate()
    t.equal(await end, backendClosed)
    await gateway.idle()
    t.equal(upstream.nodes[0]!.active, 0)
  })

  t.test(
    `${name}: ends the backend's WebSocket immediately when the client vanishes`,
    async (t) => {
      const backend = await openBackendServer(t)
      const { port, gateway, served } = await openWebGateway(t, create, [backend.port])
      const accepted = backend.accepted()
      const client = await connectWebSocket(t, port)
      const end = getClose(await accepted)
      client.terminate()
      t.equal(await end, '1006')
      await gateway.idle()
      t.equal(served[0]!.finished, true)
    },
  )

  t.test(`${name}: sends the response of a plugin instead of the backend's`, async (t) => {
    const backend = await openBackendServer(t)
    const guard = {
      name: 'test',
      onRequest: () => {
        throw new GatewayError('go.mx.auth', 401, 'who are you?', {
          headers: ['www-authenticate', 'Bearer'],
        })
      },
    }
    const { port } = await openWebGateway(t, create, [backend.port], { plugins: [guard] })
    const { status, headers, body } = await rejectedWebSocket(port)
    t.equal(status, 401)
    t.equal(headers['www-authenticate'], 'Bearer')
    t.match(JSON.parse(body), { Id: 'go.mx.auth', Code: 401, Detail: 'who are you?' })
    t.equal(backend.sockets.length, 0)
  })

  t.test(
    `${name}: responds with 500 and closes the backend connection if a reply hook throws`,
    async (t) => {
      const backend = await openBackendServer(t)
      const hook = {
        name: 'test',
        onReply: () => {
          throw new Error('broken plugin')
        },
      }
      const { port, gateway, upstream } = await openWebGateway(t, create, [backend.port], {
        plugins: [hook],
      })
      const end = backend.accepted().then(getClose)
      t.equal((await rejectedWebSocket(port)).status, 500)
      t.equal(await end, '1006')
      await gateway.idle()
      await waitUntil(() => upstream.nodes[0]!.active === 0)
    },
  )

  const skip = subject.demandsMasks ? false : 'the parser does not check masks'
  t.test(`${name}: does not relay unmasked frames to the backend`, { skip }, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    const accepted = backend.accepted()
    const client = new RawClient(port)
    client.send(`GET /app HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
    const peer = await accepted
    let messages = 0
    peer.on('message', () => messages++)
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    const end = getClose(peer)
    client.send(new Uint8Array([0x82, 4, 1, 2, 3, 4]))
    client.send(new Uint8Array([0x82, 4, 1, 2, 3, 4]))
    client.socket.end()
    await end
    t.equal(messages, 0)
    client.socket.destroy()
  })

  t.test(
    `${name}: ends both sides for a message beyond the limit and reports the cause to the client`,
    async (t) => {
      const backend = await openBackendServer(t)
      const options = { maxMessageBytes: 64 * KIB, listener: { maxMessageBytes: 64 * KIB } }
      const { port, gateway } = await openWebGateway(t, create, [backend.port], options)
      for (const from of ['client', 'backend'] as const) {
        const accepted = backend.accepted()
        const client = await connectWebSocket(t, port)
        const peer = await accepted
        const delivered = nextMessage(from === 'client' ? peer : client)
        const [sender, receiver] = from === 'client' ? [client, peer] : [peer, client]
        sender.send(Buffer.alloc(64 * KIB))
        t.equal((await delivered).length, 64 * KIB)
        let over = 0
        receiver.on('message', () => over++)
        const ends = Promise.all([getClose(client), getClose(peer)])
        sender.send(Buffer.alloc(64 * KIB + 1))
        t.equal((await ends)[0], '1009 message too long', `from the ${from}`)
        t.equal(over, 0)
      }
      await gateway.idle()
    },
  )

  t.test(
    `${name}: responds with 503 without a node, 502 if none is reachable, 504 if one is silent`,
    async (t) => {
      const closed = await findClosedPort()
      const { port: quiet } = await openSilentServer(t)
      for (const [ports, code] of [
        [[], 503],
        [[closed], 502],
        [[quiet], 504],
      ] as const) {
        const { port, gateway, upstream } = await openWebGateway(t, create, ports, {
          timeoutMs: 200,
        })
        const { status, body } = await rejectedWebSocket(port)
        t.equal(status, code)
        t.match(JSON.parse(body), { Id: 'go.mx.web.app', Code: code })
        await gateway.idle()
        t.ok(upstream.nodes.every((node) => node.active === 0))
      }
    },
  )

  t.test(
    `${name}: applies the response timeout to the handshake of a connected backend`,
    async (t) => {
      const backend = await openBackendServer(t, {
        verifyClient: (_info, accept) => setTimeout(accept, 300, true),
      })
      const options = { connectTimeoutMs: 100, timeoutMs: 10_000 }
      const { port } = await openWebGateway(t, create, [backend.port], options)
      const client = await connectWebSocket(t, port)
      t.equal(client.readyState, WebSocket.OPEN)
    },
  )

  t.test(
    `${name}: tries the next node after a connect timeout, or responds with 504`,
    async (t) => {
      // It does not respond to the TLS handshake.
      const { port: quiet, sockets } = await openSilentServer(t)
      const metadata = { protocol: 'https' }
      const node = { id: 'silent', address: `127.0.0.1:${quiet}`, metadata }
      const backend = await openBackendServer(t)
      const options = { connectTimeoutMs: 100 }
      const twoNodes = await openWebGateway(t, create, [node, backend.port], options)
      for (let i = 0; i < 2; i++) await connectWebSocket(t, twoNodes.port)
      t.ok(sockets.length > 0, 'one node was skipped')
      const single = await openWebGateway(t, create, [node], options)
      const { status, body } = await rejectedWebSocket(single.port)
      t.equal(status, 504)
      t.match(JSON.parse(body), { Detail: 'connecting to the backend timed out' })
      t.equal(single.served[0]!.failureKind, 'connect-timeout')
    },
  )

  t.test(`${name}: skips an unreachable node`, async (t) => {
    const backend = await openBackendServer(t)
    const closed = await findClosedPort()
    const { port, served } = await openWebGateway(t, create, [closed, backend.port])
    for (let i = 0; i < 4; i++) {
      const client = await connectWebSocket(t, port)
      t.equal(served[i]!.node, `n-${backend.port}`)
      client.terminate()
    }
    const failures = served.map(({ failure }) => failure).filter((failure) => failure !== '')
    t.ok(failures.length > 0)
    for (const failure of failures)
      t.match(failure, /^the backend refused the connection: .*ECONNREFUSED/)
  })

  t.test(`${name}: rejects a backend with a wrong accept key`, async (t) => {
    const invalidServer = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () =>
        socket.write(
          'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: AAAA\r\n\r\n',
        ),
      )
    })
    const { port, gateway } = await openWebGateway(t, create, [await listen(t, invalidServer)])
    t.equal((await rejectedWebSocket(port)).status, 502)
    await gateway.idle()
  })

  t.test(
    `${name}: closes the backend connection when the client disconnects during the handshake`,
    async (t) => {
      const { port: quiet, sockets } = await openSilentServer(t)
      const { port, gateway, upstream, served } = await openWebGateway(t, create, [quiet])
      const client = new RawClient(port)
      client.send(`GET /app HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
      await waitUntil(() => sockets.length === 1)
      const end = once(sockets[0]!.resume(), 'close')
      client.socket.destroy()
      await end
      await gateway.idle()
      t.equal(served[0]!.aborted, true)
      await waitUntil(() => upstream.nodes[0]!.active === 0)
      t.equal(upstream.nodes[0]!.failures.consecutive, 0, 'the node is not at fault')
    },
  )

  t.test(`${name}: responds with 400 to invalid handshakes`, async (t) => {
    const backend = await openBackendServer(t)
    const { port } = await openWebGateway(t, create, [backend.port])
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    const version = 'Sec-WebSocket-Version: 13\r\n'
    for (const [description, fields, expected] of [
      ['no key', version, 400],
      ['a short key', `${version}Sec-WebSocket-Key: c2hvcnQ=\r\n`, 400],
      [
        'a key that is not base64',
        `${version}Sec-WebSocket-Key: !!!!!!!!!!!!!!!!!!!!!!==\r\n`,
        400,
      ],
      ['two keys', `${version}${key}${key}`, 400],
      ['no version', key, 400],
      ['two versions', `${version}${version}${key}`, 400],
      ['version 12', `Sec-WebSocket-Version: 12\r\n${key}`, 426],
      ['a body', `${version}${key}Content-Length: 1\r\n`, 400],
    ] as const) {
      const client = new RawClient(port)
      client.send(
        `GET /app HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${fields}\r\n`,
      )
      await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
      t.match(client.text, new RegExp(`^HTTP/1.1 ${expected} `), description)
      if (expected === 426) {
        t.match(client.text, /sec-websocket-version: 13\r\n/i)
        t.match(client.text, /upgrade: websocket\r\n/i)
      }
      client.socket.destroy()
    }
    t.equal(backend.sockets.length, 0)
  })

  t.test(`${name}: serves a request without Upgrade and Connection as a plain one`, async (t) => {
    const backend = await openBackendServer(t)
    const { port, served } = await openWebGateway(t, create, [backend.port])
    const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
    for (const [description, head] of [
      ['no Upgrade', `GET /app HTTP/1.1\r\nHost: a\r\n${key}\r\n`],
      [
        'Connection without Upgrade',
        `GET /app HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n${key}\r\n`,
      ],
      [
        'Upgrade without Connection',
        `GET /app HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n${key}\r\n`,
      ],
      ['h2c', `GET /app HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n`],
      [
        'POST',
        `POST /app HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n${key}\r\n`,
      ],
    ] as const) {
      const client = new RawClient(port)
      client.send(head)
      await client.waitUntil(({ text }) => text.includes('plain'))
      t.match(client.text, /^HTTP\/1.1 200 /, description)
      t.equal(served.at(-1)!.upgrade, false)
      client.socket.destroy()
    }
  })

  t.test(`${name}: closes all tunnels with 1012`, async (t) => {
    const backend = await openBackendServer(t)
    const done: number[] = []
    const log = { name: 'test', onDone: (x: Exchange) => done.push(x.status) }
    const { port, gateway, listener, served, upstream } = await openWebGateway(
      t,
      create,
      [backend.port],
      {
        plugins: [log],
      },
    )
    const clients = await Promise.all([1, 2, 3].map(() => connectWebSocket(t, port)))
    await waitUntil(() => backend.sockets.length === 3)
    t.equal(listener.connections, 3)
    clients[0]!.send('12345')
    await nextMessage(backend.sockets[0]!).catch(t.threw)
    t.equal(gateway.inFlight, 3)
    const ends = Promise.all(clients.map(getClose))
    const backends = Promise.all(backend.sockets.map(getClose))
    listener.drain()
    listener.closeTunnels()
    t.strictSame(await ends, Array(3).fill('1012 service restart'))
    await backends
    await gateway.idle()
    t.strictSame(done, [101, 101, 101], 'each is done once')
    t.equal(upstream.nodes[0]!.active, 0)
    const bytesIn = served.reduce((sum, x) => sum + x.bytesIn, 0)
    t.equal(bytesIn, 5, 'bytes of messages count, not of frames')
    await waitUntil(() => listener.connections === 0)
  })

  t.test(`${name}: closes WebSockets with 1012 when the listener closes`, async (t) => {
    const backend = await openBackendServer(t)
    const { port, gateway, listener } = await openWebGateway(t, create, [backend.port])
    const client = await connectWebSocket(t, port)
    const end = getClose(client)
    await listener.close()
    t.equal(await end, '1012 service restart')
    await gateway.idle()
  })

  t.test(`${name}: releases everything after many WebSockets`, async (t) => {
    const backend = await openBackendServer(t)
    const { port, gateway, listener, upstream } = await openWebGateway(t, create, [backend.port])
    backend.server.on('upgrade', () => {})
    for (let round = 0; round < 4; round++) {
      const clients = await Promise.all(Array.from({ length: 50 }, () => connectWebSocket(t, port)))
      const ends = Promise.all(clients.map(getClose))
      clients.forEach((client, i) => {
        if (i % 2 === 0) client.terminate()
        else client.close(1000)
      })
      await ends
    }
    await gateway.idle()
    await waitUntil(() => listener.connections === 0)
    t.equal(upstream.nodes[0]!.active, 0)
  })
}

/** Returns the value once it is stable. */
async function whenStable(read: () => number): Promise<number> {
  let value = read()
  for (let same = 0; same < 6; ) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = read()
    same = now === value ? same + 1 : 0
    value = now
  }
  return value
}

function hash(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

/** Accepts connections and sends nothing. */
async function openSilentServer(t: Test): Promise<{ port: number; sockets: readonly Socket[] }> {
  const sockets: Socket[] = []
  const silent = createServer((socket) => sockets.push(socket))
  return { port: await listen(t, silent), sockets }
}

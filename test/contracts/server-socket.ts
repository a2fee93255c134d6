import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mock } from 'node:test'
import t from 'tap'
import { WebSocket } from 'ws'
import type { Plugin } from '../../core/chain.ts'
import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { HeaderList } from '../../core/http/headers.ts'
import type { CreateListener, ListenerOptions } from '../../core/listener/listener.ts'
import { loadTls } from '../../core/listener/tls/tls.ts'
import type { AcceptOptions, ServerSocket } from '../../core/listener/websocket/session.ts'
import { createCertificate, createCertificateFolder } from '../fixtures/certificates.ts'
import { type OpenListener, openListener } from '../fixtures/open-listener.ts'
import { waitUntil } from '../fixtures/raw-backend.ts'
import { RawClient } from '../fixtures/raw-client.ts'
import {
  connectWebSocket,
  getClose,
  nextMessage,
  rejectedWebSocket,
} from '../fixtures/web-gateway.ts'

export interface ServerSocketSubject {
  readonly create: CreateListener
  readonly name: 'uws' | 'node'
  /** Close code that the receiver gets when a client sends 3000; some parsers reject codes between 1011 and 4000. */
  readonly clientClosed3000: readonly string[]
  /** Close code for a client that sent invalid UTF-8. */
  readonly invalidText: string
  /** Whether the listener can pause a client. */
  readonly pausesClients: boolean
}

type Message = string | Buffer

/** A receiver that records its events. */
class Recorder {
  readonly x: Exchange
  readonly messages: Message[] = []
  bytes = 0
  drains = 0
  /** `code reason` of every end. */
  readonly ends: string[] = []
  socket: ServerSocket | undefined = undefined
  /** Called instead of recording messages. */
  onData: ((data: Uint8Array, binary: boolean) => void) | undefined = undefined
  onWritable: () => void = () => {}

  constructor(x: Exchange) {
    this.x = x
  }

  readonly onMessage = (data: Uint8Array, binary: boolean): void => {
    this.bytes += data.length
    if (this.onData !== undefined) return this.onData(data, binary)
    const copy = Buffer.from(data)
    this.messages.push(binary ? copy : copy.toString())
  }

  readonly onDrain = (): void => {
    this.drains++
    this.onWritable()
  }

  readonly onClose = (code: number, reason: string): void => {
    this.ends.push(`${code} ${reason}`.trim())
  }

  accept(options?: AcceptOptions): ServerSocket | undefined {
    this.socket = this.x.accept(this, options)
    return this.socket
  }
}

interface SocketServer extends OpenListener {
  /** Recorders of all exchanges so far. */
  readonly recorders: Recorder[]
  /** Opens a WebSocket and returns the client's and the server's end. */
  readonly connect: () => Promise<Connected>
}

interface Connected {
  readonly client: WebSocket
  readonly recorder: Recorder
  readonly socket: ServerSocket
}

interface ServerOptions {
  readonly accept?: AcceptOptions
  readonly listener?: Partial<ListenerOptions>
  readonly plugins?: readonly Plugin[]
  /** Called instead of accepting immediately. */
  readonly handle?: (recorder: Recorder) => void | Promise<void>
}

/** Headers of a handshake, and the end of its head. */
const HANDSHAKE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

type Teardown = Parameters<typeof openListener>[0]

const KIB = 1024
const MIB = 1024 * KIB
/** Maximum size of the buffers between a sender and a paused reader: kernel and library buffers plus the limit. */
const SLACK_BYTES = 16 * MIB

async function openServer(
  t: Teardown & { readonly teardown: (close: () => unknown) => void },
  create: CreateListener,
  { accept, listener = {}, plugins = [], handle }: ServerOptions = {},
): Promise<SocketServer> {
  const recorders: Recorder[] = []
  const step = (x: Exchange): void | Promise<void> => {
    const recorder = new Recorder(x)
    recorders.push(recorder)
    if (handle !== undefined) return handle(recorder)
    recorder.accept(accept)
  }
  const open = await openListener(t, create, step, listener, plugins)
  const connect = async (): Promise<Connected> => {
    const client = await connectWebSocket(t, open.port)
    const recorder = recorders.at(-1)!
    return { client, recorder, socket: recorder.socket! }
  }
  return { ...open, recorders, connect }
}

/** Echoes every message. */
function echo(recorder: Recorder): void {
  const socket = recorder.accept()!
  recorder.onData = (data, binary) =>
    socket.send(binary ? data : Buffer.from(data).toString(), binary)
}

/** Contract of listeners for WebSockets that terminate in this process (RFC 6455). */
export function testServerSocket(subject: ServerSocketSubject): void {
  const { create, name } = subject

  t.test(`${name}: transfers text as text and bytes as bytes in order, both ways`, async (t) => {
    const server = await openServer(t, create, { handle: echo })
    const client = await connectWebSocket(t, server.port)
    const received: Message[] = []
    client.on('message', (data, binary) =>
      received.push(binary ? (data as Buffer) : data.toString()),
    )
    const sent = ['grüße ✓', Buffer.from([0, 255, 1]), '', Buffer.alloc(0), 'x'.repeat(70_000)]
    for (const message of sent) client.send(message)
    await waitUntil(() => received.length === sent.length)
    t.strictSame(received, sent)
    client.close(1000)
    await server.gateway.idle()
    const bytes = sent.reduce((sum, message) => sum + Buffer.byteLength(message), 0)
    t.match(server.served[0], { status: 101, bytesIn: bytes, bytesOut: bytes, aborted: false })
    t.strictSame(server.faults, [])
  })

  t.test(`${name}: sends the first message immediately`, async (t) => {
    const server = await openServer(t, create, {
      handle: (recorder) => void recorder.accept()!.send('welcome', false),
    })
    const client = new WebSocket(`ws://127.0.0.1:${server.port}`)
    t.teardown(() => client.terminate())
    t.equal(await nextMessage(client), 'welcome')
  })

  t.test(`${name}: accepts a WebSocket after a delay`, async (t) => {
    const server = await openServer(t, create, {
      handle: async (recorder) => {
        await new Promise(setImmediate)
        echo(recorder)
      },
    })
    const client = await connectWebSocket(t, server.port)
    client.send('late')
    t.equal(await nextMessage(client), 'late')
  })

  t.test(`${name}: allows reuse of a message's memory once it is sent`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, socket } = await connect()
    client.pause()
    const count = 200
    const memory = new Uint8Array(16 * KIB)
    for (let i = 0; i < count; i++) {
      memory.fill(i)
      socket.send(memory.subarray(i), true)
    }
    memory.fill(255)
    const received: Buffer[] = []
    client.on('message', (data: Buffer) => received.push(data))
    client.resume()
    await waitUntil(() => received.length === count)
    const complete = received.every((data, i) => data.equals(Buffer.alloc(memory.length - i, i)))
    t.ok(complete, 'every message arrives as it was sent')
  })

  t.test(
    `${name}: delivers several messages of any length from one read one by one, in order`,
    async (t) => {
      const { connect, served, gateway } = await openServer(t, create)
      const { client, socket } = await connect()
      const received: Buffer[] = []
      client.on('message', (data: Buffer) => received.push(data))
      const sent = Array.from({ length: 300 }, (_, i) => Buffer.alloc(i * 100, i))
      t.equal(socket.sendAll([], true), true)
      socket.sendAll(sent, true)
      for (const message of sent) message.fill(255)
      socket.send('last', false)
      await waitUntil(() => received.length === sent.length + 1)
      t.ok(received.slice(0, -1).every((data, i) => data.equals(Buffer.alloc(i * 100, i))))
      t.equal(String(received.at(-1)), 'last')
      client.close(1000)
      await gateway.idle()
      t.equal(served[0]?.bytesOut, (300 * 299 * 100) / 2 + 4)
    },
  )

  t.test(`${name}: delivers the messages before a message that exceeds the limit`, async (t) => {
    const { connect, gateway } = await openServer(t, create, { accept: { maxMessageBytes: KIB } })
    const { client, recorder, socket } = await connect()
    const received: number[] = []
    client.on('message', (data: Buffer) => received.push(data.length))
    const end = getClose(client)
    t.equal(
      socket.sendAll(
        [1, 2, KIB + 1, 3].map((size) => Buffer.alloc(size)),
        true,
      ),
      false,
    )
    t.match(await end, /^1009/)
    t.strictSame(received, [1, 2])
    t.strictSame(recorder.ends, ['1009 message too long'])
    t.equal(socket.sendAll([Buffer.alloc(1)], true), false)
    await gateway.idle()
  })

  t.test(`${name}: replaces lone surrogates in text`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, socket } = await connect()
    const message = nextMessage(client)
    socket.send('a\ud800b', false)
    t.equal(await message, 'a\ufffdb')
  })

  t.test(`${name}: transfers a message of 10 MiB both ways`, async (t) => {
    const server = await openServer(t, create, { handle: echo })
    const client = await connectWebSocket(t, server.port)
    const message = randomBytes(10 * MIB)
    client.send(message)
    t.equal(hash((await nextMessage(client)) as Buffer), hash(message))
  })

  t.test(`${name}: joins fragments and responds to a ping between them`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, recorder } = await connect()
    const pong = once(client, 'pong')
    client.send('frag', { fin: false })
    client.ping('between')
    client.send('men', { fin: false })
    client.send('ted', { fin: true })
    await waitUntil(() => recorder.messages.length === 1)
    t.strictSame(recorder.messages, ['fragmented'])
    t.equal(String((await pong)[0]), 'between')
  })

  t.test(`${name}: selects a subprotocol offered by the client`, async (t) => {
    const server = await openServer(t, create, { accept: { protocol: 'b.v2' } })
    for (const [offers, chosen] of [
      [['a.v1', 'b.v2'], 'b.v2'],
      [['b.v2'], 'b.v2'],
    ] as const) {
      const client = await connectWebSocket(t, server.port, [...offers])
      t.equal(client.protocol, chosen)
    }
    for (const offer of ['', 'Sec-WebSocket-Protocol: a.v1, b.v22\r\n']) {
      const client = new RawClient(server.port)
      client.send(`GET / HTTP/1.1\r\nHost: a\r\n${offer}${HANDSHAKE}`)
      await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
      t.match(client.text, /^HTTP\/1.1 101 /)
      t.match(client.text, /s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/, 'the response to this key')
      t.notMatch(client.text, /sec-websocket-protocol/i)
      client.destroy()
    }
  })

  t.test(`${name}: does not negotiate compression`, async (t) => {
    const server = await openServer(t, create, { handle: echo })
    const client = await connectWebSocket(t, server.port, [], { perMessageDeflate: true })
    t.equal(client.extensions, '')
  })

  t.test(`${name}: sends headers of the response and of reply hooks`, async (t) => {
    const hook = { name: 'test', onReply: (x: Exchange) => x.replyHeaders.set('x-hook', '101') }
    const { port } = await openServer(t, create, {
      handle: (recorder) => {
        // UTF-8 as in header values: one character per byte.
        const headers = new HeaderList(['x-name', Buffer.from('grün').toString('latin1')])
        headers.append('set-cookie', 'a=1')
        headers.append('set-cookie', 'b=2')
        recorder.accept({ headers })
      },
      plugins: [hook],
    })
    const client = new WebSocket(`ws://127.0.0.1:${port}`)
    t.teardown(() => client.terminate())
    const [reply] = await once(client, 'upgrade')
    t.equal(reply.headers['x-hook'], '101')
    t.equal(Buffer.from(reply.headers['x-name'], 'latin1').toString(), 'grün')
    t.strictSame(reply.headers['set-cookie'], ['a=1', 'b=2'])
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
    t.test(`${name}: reports close ${close} to the peer`, async (t) => {
      const { connect, gateway } = await openServer(t, create)
      const [code, reason] = parseClose(close)
      for (const from of ['client', 'server'] as const) {
        const { client, recorder, socket } = await connect()
        const end = getClose(client)
        if (from === 'server') {
          socket.close(code, reason)
          t.strictSame(recorder.ends, [close], 'onClose is called before close returns')
          t.equal(await end, close)
        } else {
          if (code === 1005) client.close()
          else client.close(code, reason)
          await end
          await waitUntil(() => recorder.ends.length > 0)
          const expected = close === '3000' ? subject.clientClosed3000 : [close]
          t.ok(expected.includes(recorder.ends[0]!), String(recorder.ends[0]))
        }
        await gateway.idle()
        t.equal(recorder.x.aborted, false)
        t.equal(recorder.ends.length, 1, 'onClose is called once')
      }
    })
  }

  t.test(`${name}: delivers messages sent before the close`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, socket } = await connect()
    client.pause()
    let received = 0
    client.on('message', (data: Buffer) => {
      received += data.length
    })
    for (let i = 0; i < 8; i++) socket.send(Buffer.alloc(MIB), true)
    socket.close(4000, 'all of it')
    const end = getClose(client)
    client.resume()
    t.equal(await end, '4000 all of it')
    t.equal(received, 8 * MIB)
  })

  t.test(`${name}: ignores calls after the end`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const end = getClose(client)
    socket.close(4000, '')
    t.equal(socket.send('late', false), false)
    socket.close(4001, 'again')
    socket.pause()
    socket.resume()
    socket.terminate()
    client.send('ignored')
    t.equal(await end, '4000')
    await gateway.idle()
    t.equal(socket.send('late', false), false)
    t.equal(socket.bufferedBytes, 0)
    t.strictSame(recorder.ends, ['4000'])
    t.strictSame(recorder.messages, [])
    t.equal(recorder.x.bytesOut, 0)
  })

  t.test(`${name}: rejects reserved close codes and truncates long reasons`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    for (const code of [0, 999, 1004, 1006, 1015, 2999, 5000, 1000.5, Number.NaN]) {
      t.throws(() => socket.close(code, ''), { name: 'TypeError' }, String(code))
    }
    t.strictSame(recorder.ends, [])
    const end = getClose(client)
    socket.close(4000, `a${'ü'.repeat(100)}`)
    t.equal(await end, `4000 a${'ü'.repeat(61)}`)
  })

  t.test(`${name}: reports 1006 for a client that vanishes`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder } = await connect()
    client.terminate()
    await gateway.idle()
    t.strictSame(recorder.ends, ['1006'])
    t.equal(recorder.x.aborted, true)
  })

  t.test(
    `${name}: reports 1006 for a client that closes its connection without a close frame`,
    async (t) => {
      const server = await openServer(t, create)
      const client = new RawClient(server.port)
      client.send(`GET / HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
      await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
      client.socket.end()
      await server.gateway.idle()
      t.strictSame(server.recorders[0]!.ends, ['1006'])
      t.equal(server.served[0]!.aborted, true)
      client.destroy()
    },
  )

  t.test(`${name}: reports 1006 at both ends of a cut connection`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const end = getClose(client)
    socket.terminate()
    t.strictSame(recorder.ends, ['1006'], 'onClose is called before terminate returns')
    t.equal(await end, '1006')
    await gateway.idle()
    t.equal(recorder.x.aborted, true)
    t.equal(recorder.ends.length, 1)
  })

  t.test(`${name}: can be closed and cut during a message`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    for (const end of ['close', 'terminate'] as const) {
      const { client, recorder, socket } = await connect()
      recorder.onData = () => (end === 'close' ? socket.close(4000, 'done') : socket.terminate())
      const closed = getClose(client)
      for (let i = 0; i < 10; i++) client.send('x')
      t.equal(await closed, end === 'close' ? '4000 done' : '1006')
      t.equal(recorder.bytes, 1, 'later messages are dropped')
    }
    await gateway.idle()
  })

  t.test(
    `${name}: bounds the memory of a client that does not read, and loses nothing`,
    async (t) => {
      const { connect } = await openServer(t, create)
      const { client, recorder, socket } = await connect()
      client.pause()
      const count = 1000
      const message = randomBytes(64 * KIB)
      let sent = 0
      const pump = (): void => {
        while (sent < count) {
          message.writeUInt32BE(sent, 0)
          sent++
          if (!socket.send(message, true)) return
        }
      }
      pump()
      t.ok(sent < count, 'send returns false: back-pressure')
      t.ok(socket.bufferedBytes < 2 * MIB, `${socket.bufferedBytes} bytes are buffered`)
      t.ok(sent * message.length < SLACK_BYTES, `${sent} messages were accepted`)
      t.equal(recorder.drains, 0)
      let maxAtDrain = 0
      recorder.onWritable = () => {
        maxAtDrain = Math.max(maxAtDrain, socket.bufferedBytes)
        pump()
      }
      let next = 0
      client.on('message', (data: Buffer) => {
        if (data.readUInt32BE(0) === next && data.subarray(4).equals(message.subarray(4))) next++
      })
      client.resume()
      await waitUntil(() => next === count)
      t.ok(recorder.drains > 0, 'onDrain is called')
      t.ok(maxAtDrain <= 256 * KIB, `at most ${maxAtDrain} bytes are buffered at a drain`)
      t.strictSame(recorder.ends, [])
      t.equal(recorder.x.bytesOut, count * message.length)
    },
  )

  t.test(`${name}: sends long messages sequentially as the client reads`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const message = Buffer.alloc(4 * MIB, 'x')
    let remaining = 8
    recorder.onWritable = () => {
      while (remaining > 0) {
        remaining--
        if (!socket.send(message, true)) return
      }
    }
    let bytes = 0
    client.on('message', (data: Buffer) => {
      bytes += data.length
    })
    recorder.onWritable()
    await waitUntil(() => bytes === 8 * message.length)
    t.strictSame(recorder.ends, [])
  })

  for (const moment of ['unprompted', 'in response to messages', 'after a microtask'] as const) {
    t.test(`${name}: ends a sender that ignores back-pressure, ${moment}, with 1013`, async (t) => {
      const accept = { maxMessageBytes: MIB }
      const { connect, gateway } = await openServer(t, create, { accept })
      const { client, recorder, socket } = await connect()
      client.pause()
      // For responses, less than the library buffers before it writes.
      const [count, size] = moment === 'unprompted' ? [16, 64 * KIB] : [8, KIB]
      const message = Buffer.alloc(size)
      let maxBuffered = 0
      const send = (): void => {
        for (let i = 0; i < count; i++) socket.send(message, true)
        maxBuffered = Math.max(maxBuffered, socket.bufferedBytes)
      }
      if (moment !== 'unprompted') {
        recorder.onData = moment === 'in response to messages' ? send : () => queueMicrotask(send)
        while (recorder.ends.length === 0) {
          for (let i = 0; i < 10; i++) client.send('more')
          await new Promise(setImmediate)
        }
      } else {
        while (recorder.ends.length === 0) {
          send()
          await new Promise(setImmediate)
        }
      }
      t.strictSame(recorder.ends, ['1013 the client is too slow'])
      t.ok(maxBuffered <= 2 * MIB + 64 * KIB, `${maxBuffered} bytes were buffered`)
      let received = 0
      client.on('message', (data: Buffer) => {
        received += data.length
      })
      const end = getClose(client)
      client.resume()
      t.equal(await end, '1013 the client is too slow')
      await gateway.idle()
      t.equal(received, recorder.x.bytesOut, 'all accepted bytes arrive')
    })
  }

  const skip = subject.pausesClients ? false : 'the library cannot pause reading'
  t.test(`${name}: pauses and resumes a client`, { skip }, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const count = 1000
    const message = randomBytes(64 * KIB)
    let next = 0
    recorder.onData = (data) => {
      if (Buffer.from(data).readUInt32BE(0) === next) next++
    }
    socket.pause()
    socket.pause()
    for (let i = 0; i < count; i++) {
      message.writeUInt32BE(i, 0)
      client.send(Buffer.from(message))
    }
    const total = count * message.length
    const bufferedBytes = await whenStable(() => client.bufferedAmount)
    t.ok(
      total - bufferedBytes < SLACK_BYTES,
      `${total - bufferedBytes} of ${total} bytes were accepted`,
    )
    t.ok(recorder.bytes < SLACK_BYTES, `${recorder.bytes} bytes arrived`)
    // Meanwhile, the other direction stays open, even for more data than the client accepts in one read.
    const back = new Promise<number>((resolve) => {
      let received = 0
      client.on('message', (data: Buffer) => {
        received += data.length
        if (received === 8 * MIB) resolve(received)
      })
    })
    for (let i = 0; i < 8; i++) socket.send(Buffer.alloc(MIB), true)
    await back
    const before = recorder.bytes
    t.ok(
      (await whenStable(() => recorder.bytes)) - before < SLACK_BYTES,
      'the client is still paused',
    )
    socket.resume()
    socket.resume()
    await waitUntil(() => next === count)
    t.equal(recorder.bytes, total, 'all of them, in order')
    client.close(4000, 'done')
    await gateway.idle()
    t.strictSame(recorder.ends, ['4000 done'])
  })

  t.test(`${name}: retains received data of a paused client until it resumes`, async (t) => {
    const events: string[] = []
    let socket: ServerSocket | undefined
    const server = await openServer(t, create, {
      handle: ({ x }) => {
        socket = x.accept({
          onMessage: (data) => {
            events.push(Buffer.from(data).toString())
            socket!.pause()
          },
          onDrain: () => {},
          onClose: (code, reason) => events.push(`${code} ${reason}`),
        })
      },
    })
    const client = await connectWebSocket(t, server.port)
    for (const message of ['a', 'b', 'c', 'd']) client.send(message)
    client.close(4000, 'bye')
    const expected = ['a', 'b', 'c', 'd', '4000 bye']
    while (events.length < expected.length) {
      const before = events.length
      // The close may arrive before the pause takes effect, but after all messages.
      socket!.resume()
      t.equal(events.length, before, 'not during the call')
      await new Promise(setImmediate)
    }
    t.strictSame(events, expected)
  })

  t.test(`${name}: delivers nothing from a paused client`, async (t) => {
    const { connect } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    recorder.onData = (data) => {
      recorder.messages.push(Buffer.from(data).toString())
      socket.pause()
    }
    for (let i = 0; i < 10; i++) client.send(`${i}`)
    await whenStable(() => recorder.messages.length)
    t.strictSame(recorder.messages, ['0'])
    recorder.onData = undefined
    socket.resume()
    await waitUntil(() => recorder.messages.length === 10)
    t.strictSame(recorder.messages, [...'0123456789'])
  })

  t.test(`${name}: loses nothing when paused and resumed at random`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const random = createRandom(7)
    const sent: string[] = []
    const responses: string[] = []
    recorder.onData = (data, binary) => {
      recorder.messages.push(hash(Buffer.from(data)))
      socket.send(data, binary)
      if (random() < 0.3) socket.pause()
    }
    client.on('message', (data: Buffer) => responses.push(hash(data)))
    for (let i = 0; i < 1500; i++) {
      const message = randomBytes(Math.floor(random() < 0.02 ? MIB * random() : 3000 * random()))
      sent.push(hash(message))
      const fragmentEnd = random() < 0.3 ? Math.floor(message.length * random()) : 0
      if (fragmentEnd > 0)
        client.send(message.subarray(0, fragmentEnd), { fin: false, binary: true })
      client.send(message.subarray(fragmentEnd), { fin: true, binary: true })
      if (random() < 0.2) await new Promise(setImmediate)
      if (random() < 0.3) socket.resume()
    }
    const last = waitUntil(() => responses.length === sent.length)
    while (recorder.messages.length < sent.length) {
      socket.resume()
      await new Promise(setImmediate)
    }
    await last
    t.ok(isSame(recorder.messages, sent), 'all messages, in order')
    t.ok(isSame(responses, sent), 'all responses, in order')
    socket.resume()
    client.close(1000)
    await gateway.idle()
    t.strictSame(recorder.ends, ['1000'])
  })

  t.test(`${name}: closes a paused client`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    socket.pause()
    for (let i = 0; i < 100; i++) client.send(Buffer.alloc(64 * KIB))
    const end = getClose(client)
    socket.close(4000, 'done')
    t.equal(await end, '4000 done')
    await gateway.idle()
    t.strictSame(recorder.ends, ['4000 done'])
  })

  t.test(`${name}: ends a client that is paused for a minute`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder, socket } = await connect()
    const end = getClose(client)
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      socket.pause()
      mock.timers.tick(30_000)
      socket.resume()
      socket.pause()
      mock.timers.tick(59_999)
      t.strictSame(recorder.ends, [])
      mock.timers.tick(1)
    } finally {
      mock.timers.reset()
    }
    t.strictSame(recorder.ends, ['1013 paused for too long'])
    t.equal(await end, '1013 paused for too long')
    await gateway.idle()
  })

  t.test(
    `${name}: ends with 1009 for a message beyond the limit in either direction`,
    async (t) => {
      const accept = { maxMessageBytes: 64 * KIB }
      const { connect, gateway } = await openServer(t, create, { accept })
      for (const from of ['client', 'client, in fragments', 'server'] as const) {
        const { client, recorder, socket } = await connect()
        const atLimit = Buffer.alloc(64 * KIB)
        const tooLong = Buffer.alloc(64 * KIB + 1)
        const end = getClose(client)
        if (from === 'server') {
          const message = nextMessage(client)
          t.equal(socket.send(atLimit, true), true)
          t.equal((await message).length, atLimit.length)
          t.equal(socket.send(tooLong, true), false)
        } else {
          client.send(atLimit)
          await waitUntil(() => recorder.messages.length === 1)
          if (from === 'client') client.send(tooLong)
          else {
            client.send(atLimit, { fin: false })
            client.send('x', { fin: true })
          }
        }
        t.match(await end, /^1009/, from)
        await waitUntil(() => recorder.ends.length > 0)
        t.strictSame(recorder.ends, ['1009 message too long'])
        t.equal(recorder.messages.length, from === 'server' ? 0 : 1)
      }
      await gateway.idle()
    },
  )

  t.test(`${name}: caps the message limit at the limit of the listener`, async (t) => {
    const listener = { maxMessageBytes: 64 * KIB }
    const { connect } = await openServer(t, create, { listener, accept: { maxMessageBytes: MIB } })
    const { client, recorder } = await connect()
    const end = getClose(client)
    client.send(Buffer.alloc(64 * KIB))
    client.send(Buffer.alloc(64 * KIB + 1))
    t.match(await end, /^1009/)
    await waitUntil(() => recorder.ends.length > 0)
    t.equal(recorder.messages.length, 1)
  })

  t.test(`${name}: ends with 1007 for text that is not UTF-8`, async (t) => {
    const { connect, gateway } = await openServer(t, create)
    const { client, recorder } = await connect()
    const end = getClose(client)
    client.send(Buffer.from([0x61, 0xff]), { binary: false })
    t.equal(await end, subject.invalidText)
    await gateway.idle()
    t.strictSame(recorder.ends, ['1007 invalid UTF-8'])
    t.strictSame(recorder.messages, [])
  })

  t.test(`${name}: responds with 426 to a request without upgrade`, async (t) => {
    const server = await openServer(t, create)
    const reply = await fetch(`http://127.0.0.1:${server.port}/`)
    t.equal(reply.status, 426)
    t.equal(reply.headers.get('upgrade'), 'websocket')
    t.match(await reply.json(), { Code: 426, Detail: 'a WebSocket handshake is required' })
    const { ends, messages } = server.recorders[0]!
    t.strictSame([ends, messages], [[], []])
  })

  t.test(`${name}: does not pass an invalid handshake to the receiver`, async (t) => {
    const server = await openServer(t, create)
    const client = new RawClient(server.port)
    t.teardown(() => client.destroy())
    client.send(
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 12\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    )
    await client.waitUntil(({ text }) => text.includes('\r\n\r\n'))
    t.match(client.text, /^HTTP\/1.1 426 /)
    t.equal(server.recorders.length, 0)
  })

  t.test(`${name}: throws for a subprotocol that is not a token`, async (t) => {
    const server = await openServer(t, create, { accept: { protocol: 'a b' } })
    t.equal((await rejectedWebSocket(server.port)).status, 500)
    t.match(server.faults, [{ name: 'TypeError' }])
  })

  for (const [description, onReply, status] of [
    [
      'responds with 500 if a reply hook throws',
      () => {
        throw new Error('broken plugin')
      },
      500,
    ],
    [
      'responds with the status of a reply hook that throws a GatewayError',
      () => {
        throw new GatewayError('go.mx.test', 403, 'denied')
      },
      403,
    ],
    [
      'responds with the status that a reply hook sets',
      (x: Exchange) => {
        if (x.status === 101) x.status = 404
      },
      404,
    ],
  ] as const) {
    t.test(`${name}: ${description}, and opens no WebSocket`, async (t) => {
      const returned: unknown[] = []
      const server = await openServer(t, create, {
        plugins: [{ name: 'test', onReply }],
        handle: (recorder) => void returned.push(recorder.accept()),
      })
      t.equal((await rejectedWebSocket(server.port)).status, status)
      await server.gateway.idle()
      t.strictSame(returned, [undefined])
      t.strictSame(server.recorders[0]!.ends, [], 'the receiver is not called')
      t.equal(server.served[0]!.status, status)
    })
  }

  t.test(`${name}: does not accept an exchange that already has a response`, async (t) => {
    const returned: unknown[] = []
    const server = await openServer(t, create, {
      handle: (recorder) => {
        recorder.x.reply(401, 'who are you?')
        returned.push(recorder.accept())
      },
    })
    const { status, body } = await rejectedWebSocket(server.port)
    t.strictSame([status, body], [401, 'who are you?'])
    t.strictSame(returned, [undefined])
    t.strictSame(server.recorders[0]!.ends, [])
  })

  t.test(
    `${name}: does not accept a client that disconnected before the handshake response`,
    async (t) => {
      const returned: unknown[] = []
      let resolveDisconnect: () => void = () => {}
      const vanished = new Promise<void>((resolve) => {
        resolveDisconnect = resolve
      })
      const server = await openServer(t, create, {
        handle: async (recorder) => {
          await vanished
          returned.push(recorder.accept())
        },
      })
      const client = new RawClient(server.port)
      client.send(`GET / HTTP/1.1\r\nHost: a\r\n${HANDSHAKE}`)
      await waitUntil(() => server.recorders.length === 1)
      client.destroy()
      await server.gateway.idle()
      resolveDisconnect()
      await waitUntil(() => returned.length === 1)
      t.strictSame(returned, [undefined])
      t.strictSame(server.recorders[0]!.ends, [])
      t.strictSame(server.faults, [])
    },
  )

  t.test(`${name}: ends with 1011 if the handler fails after accepting`, async (t) => {
    const server = await openServer(t, create, {
      handle: (recorder) => {
        recorder.accept()
        throw new Error('broken handler')
      },
    })
    const client = new WebSocket(`ws://127.0.0.1:${server.port}`)
    t.equal(await getClose(client), '1011 internal error')
    await server.gateway.idle()
    t.strictSame(server.recorders[0]!.ends, ['1011 internal error'])
    t.match(server.faults, [{ message: 'broken handler' }])
  })

  t.test(`${name}: closes with 1012 when tunnels close, and draining waits for it`, async (t) => {
    const done: number[] = []
    const log = { name: 'test', onDone: (x: Exchange) => done.push(x.status) }
    const { connect, gateway, listener, recorders } = await openServer(t, create, {
      plugins: [log],
    })
    const clients: WebSocket[] = []
    for (let i = 0; i < 3; i++) clients.push((await connect()).client)
    listener.drain()
    clients[0]!.send('still served')
    await waitUntil(() => recorders[0]!.messages.length === 1)
    t.equal(gateway.inFlight, 3)
    const ends = Promise.all(clients.map(getClose))
    listener.closeTunnels()
    const reported = recorders.map((recorder) => recorder.ends.join())
    t.strictSame(reported, Array(3).fill('1012 service restart'))
    t.strictSame(await ends, Array(3).fill('1012 service restart'))
    await gateway.idle()
    t.strictSame(done, [101, 101, 101], 'each is done once')
    await waitUntil(() => listener.connections === 0)
  })

  t.test(`${name}: accepts no WebSocket while the listener drains`, async (t) => {
    let accept: () => void = () => {}
    const accepted = new Promise<void>((resolve) => {
      accept = resolve
    })
    const server = await openServer(t, create, {
      handle: async (recorder) => {
        await accepted
        recorder.accept()
      },
    })
    const rejection = rejectedWebSocket(server.port)
    await waitUntil(() => server.recorders.length === 1)
    server.listener.drain()
    accept()
    t.equal((await rejection).status, 503)
    t.strictSame(server.recorders[0]!.ends, [])
  })

  t.test(`${name}: closes WebSockets with 1012 when the listener closes`, async (t) => {
    const { connect, gateway, listener } = await openServer(t, create)
    const { client, recorder } = await connect()
    const end = getClose(client)
    await listener.close()
    t.equal(await end, '1012 service restart')
    await gateway.idle()
    t.strictSame(recorder.ends, ['1012 service restart'])
  })

  t.test(`${name}: behaves the same over TLS, with slow clients`, async (t) => {
    const folder = createCertificateFolder(t)
    const certificate = createCertificate(['app.test'])
    const tls = loadTls([folder.write('app', certificate)])
    t.teardown(() => tls.close())
    const { port, recorders, gateway } = await openServer(t, create, { listener: { tls } })
    const options = { ca: certificate.cert, servername: 'app.test' }
    const client = await connectWebSocket(t, port, [], options)
    const recorder = recorders[0]!
    const socket = recorder.socket!
    t.match(recorder.x, { secure: true, upgrade: true })
    client.send('over TLS')
    await waitUntil(() => recorder.messages.length === 1)
    t.strictSame(recorder.messages, ['over TLS'])

    client.pause()
    let sent = 0
    while (sent < 1000 && socket.send(Buffer.alloc(64 * KIB, sent), true)) sent++
    t.ok(sent < 1000, 'send returns false: back-pressure')
    const received: number[] = []
    client.on('message', (data: Buffer) => received.push(data[0]!))
    client.resume()
    await waitUntil(() => recorder.drains === 1)
    socket.send(Buffer.of(255), true)
    await waitUntil(() => received.at(-1) === 255)
    t.equal(received.length, sent + 2)

    if (subject.pausesClients) {
      socket.pause()
      for (let i = 0; i < 400; i++) client.send(Buffer.alloc(64 * KIB))
      await whenStable(() => client.bufferedAmount)
      t.ok(recorder.bytes < SLACK_BYTES, `${recorder.bytes} bytes arrived`)
      socket.resume()
      await waitUntil(() => recorder.bytes === 400 * 64 * KIB + 8)
    }
    const end = getClose(client)
    socket.close(4001, 'bye')
    t.equal(await end, '4001 bye')
    await gateway.idle()
  })

  t.test(`${name}: releases everything after many WebSockets`, async (t) => {
    const server = await openServer(t, create)
    for (let round = 0; round < 4; round++) {
      const clients = await Promise.all(
        Array.from({ length: 50 }, () => connectWebSocket(t, server.port)),
      )
      const ends = Promise.all(clients.map(getClose))
      clients.forEach((client, i) => {
        if (i % 3 === 0) client.terminate()
        else if (i % 3 === 1) client.close(1000)
        else server.recorders.at(-1 - i)!.socket!.close(1000, '')
      })
      for (const { ends: reported, socket } of server.recorders)
        if (reported.length === 0) socket!.close(1000, '')
      await ends
    }
    await server.gateway.idle()
    await waitUntil(() => server.listener.connections === 0)
    t.ok(server.recorders.every(({ ends }) => ends.length === 1))
    t.strictSame(server.faults, [])
  })
}

/** Whether two lists are equal. A comparison by tap would print the complete lists. */
function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i])
}

/** Pseudo-random numbers from 0 to 1 with a fixed seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

function parseClose(text: string): [code: number, reason: string] {
  const [code, reason = ''] = text.split(' ')
  return [Number(code), reason]
}

/** Waits until the value is stable and returns it. */
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

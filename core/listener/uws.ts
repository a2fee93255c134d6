// One file, though long: whatever touches objects of the library stands where it is imported.
import { STATUS_CODES } from 'node:http'
import { createRequire } from 'node:module'
import { Exchange, type TunnelTarget } from '../exchange.ts'
import type { HeaderList } from '../headers.ts'
import {
  type AcceptOptions,
  MESSAGE_MAX_BYTES,
  type ServerSocket,
  type SocketReceiver,
} from '../server-socket.ts'
import { claimPort } from './claim-port.ts'
import { INTERNAL_ERROR } from './close-codes.ts'
import { Guard } from './guard.ts'
import { expectHandshake, judgeHandshake } from './handshake.ts'
import type { CreateListener, Listener, ListenerOptions } from './listener.ts'
import { PeerAddresses, toAddress } from './peer-addresses.ts'
import type { SocketOwner } from './socket-owner.ts'
import { type AppSetup, createTlsApp } from './uws-tls.ts'
import type {
  App,
  HttpRequest,
  HttpResponse,
  ListenSocket,
  SocketContext,
  Uws,
} from './uws-types.d.ts'
import { createSocketBehavior, type SocketData, type SocketExchange, Sockets } from './websocket.ts'

/** Request line and header fields together, bytes; more is answered 431. */
const HEADER_MAX_BYTES = 16 * 1024

/** The library's default mode: SO_REUSEADDR and SO_REUSEPORT. */
const LISTEN_SHARED = 0

/**
 * Versions whose WebSockets can be paused with the methods of the response they were made of,
 * which both are one socket below; the library has none for WebSockets (uWebSockets issue 1020).
 * Found out version by version: what these methods touch is not ours to know.
 */
const PAUSES_WEBSOCKETS = /^20\.51\./
let pausesWebSockets = false

const NON_ASCII = /[^\0-\x7f]/

/** `404 Not Found` and so on: built once, not per reply. */
const STATUS_LINES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(STATUS_CODES).map(([code, reason]) => [code, `${code} ${reason}`]),
)

/**
 * The µWebSockets of this platform, or undefined where there is none: the
 * platform package that npm installed, else a `@uwsjs/core` the user added.
 */
export function loadUws(): Uws | undefined {
  const require = createRequire(import.meta.url)
  // Read by the library when it is loaded.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(HEADER_MAX_BYTES)
  const major = process.versions.node.split('.')[0]
  for (const name of [`@uwsjs/${process.platform}-${process.arch}-${major}`, '@uwsjs/core']) {
    try {
      const uws = require(name) as Uws
      const { version } = require(`${name}/package.json`) as { version: string }
      pausesWebSockets = PAUSES_WEBSOCKETS.test(version)
      return uws
    } catch {
      // Not installed for this platform, or built for another C library: the next one.
    }
  }
  return undefined
}

// The exchange whose reply is being written: `cork` takes a callback, and one
// shared by all exchanges saves a closure per reply.
let corked: UwsExchange
let corkedBody: string | Uint8Array = ''
const writeWhole = () => corked.writeWhole(corkedBody)

// The parser goes on with pipelined bytes of the same segment after a synchronous answer, even
// one that closes the connection: one request would become two. Only a later macrotask stops it,
// so what answers a request with a body is held until the turn of the event loop is over.
let turn = 0
let turnEnds = false
/** Exchanges that have something to send then. */
let held: UwsExchange[] = []

/** Bytes of a stream held until the turn is over, before its writer is told to hold back. */
const HELD_MAX_BYTES = 64 * 1024

/** The turn of the event loop that is under way. */
function holdTurn(): number {
  if (!turnEnds) {
    turnEnds = true
    setImmediate(endTurn)
  }
  return turn
}

function endTurn(): void {
  turn++
  turnEnds = false
  const exchanges = held
  held = []
  for (const x of exchanges) x.release()
}

/** What a listener's exchanges share. */
interface Life {
  readonly peers: PeerAddresses
  /** Every reply ends its connection. */
  draining: boolean
}

/** What turns a response into a WebSocket. */
interface Upgrade {
  readonly context: SocketContext
  readonly key: string
  readonly sockets: Sockets
}

class UwsExchange extends Exchange implements SocketExchange {
  #res: HttpResponse
  readonly #life: Life
  #address: string | undefined = undefined
  readonly #upgrade: Upgrade | undefined
  /** Of the WebSocket it has become, or is about to become. */
  #owner: SocketOwner | undefined = undefined
  #protocol = ''
  /** The last turn of the event loop in which it must not be answered; -1: any will do. */
  #heldTurn: number
  /** What is to be sent when it is over, in order. */
  #held: (() => void)[] | undefined = undefined
  #heldBytes = 0
  /** Body bytes announced to the client; -1: chunked. */
  #length = -1
  #headSent = false
  #readPaused = false
  /** What the socket did not take of the last chunk of a reply of known length. */
  #rest: Uint8Array | undefined = undefined
  #ending = false
  /** False from a write the socket did not take whole until it takes more. */
  #writes = true

  constructor(
    res: HttpResponse,
    req: HttpRequest,
    guard: Guard,
    secure: boolean,
    context: SocketContext | undefined,
    sockets: Sockets,
    life: Life,
  ) {
    const method = req.getCaseSensitiveMethod()
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    let malformed = guard.judge(method, path, query)
    // The library takes a request for a WebSocket by its key alone.
    const upgrade = guard.websocket && method === 'GET'
    if (upgrade) malformed ??= judgeHandshake(guard.headers, guard.bodyLength)
    super(method, path, query, guard.host, guard.headers, secure, guard.bodyLength, upgrade)
    this.#res = res
    this.#life = life
    this.#address = life.peers.sole
    this.#upgrade =
      upgrade && context !== undefined
        ? { context, key: guard.headers.get('sec-websocket-key') ?? '', sockets }
        : undefined
    this.malformed = malformed
    this.closing = guard.closing || malformed !== undefined
    this.#heldTurn = this.closing || this.bodyLength !== 0 ? holdTurn() : -1
    res.onAborted(() => this.abort())
    if (this.bodyLength !== 0 && malformed === undefined) {
      res.onData((chunk, last) => {
        // A connection that stays paused would neither take the next request nor notice its end.
        if (last) this.#unpause()
        this.#heldTurn = holdTurn()
        this.receive(new Uint8Array(chunk), last)
      })
    }
  }

  get remoteAddress(): string {
    if (this.#address === undefined) {
      if (this.finished) return ''
      this.#address = toAddress(this.#res.getRemoteAddress())
    }
    return this.#address
  }

  tunnel(target: TunnelTarget): Promise<void> {
    if (this.#upgrade !== undefined) return this.#upgrade.sockets.tunnel(this, target)
    return Promise.reject(expectHandshake())
  }

  accept(receiver: SocketReceiver, options: AcceptOptions = {}): ServerSocket | undefined {
    if (this.answered) return undefined
    if (this.#upgrade === undefined) throw expectHandshake()
    return this.#upgrade.sockets.accept(this, receiver, options)
  }

  openSocket(owner: SocketOwner, protocol: string, headers: HeaderList): boolean {
    this.#owner = owner
    this.#protocol = protocol
    this.start(101, headers, -1)
    if (this.#headSent && !this.finished && this.status === 101) return true
    this.#owner = undefined
    this.end()
    return false
  }

  socketEnded(aborted: boolean): void {
    this.aborted = aborted
    this.finish()
  }

  protected transmit(body: string | Uint8Array): void {
    if (this.#heldTurn === turn) {
      // A reply from upstream lies in memory that the next read overwrites.
      const kept = typeof body === 'string' ? body : Uint8Array.prototype.slice.call(body)
      this.#hold(() => this.transmit(kept))
      return
    }
    this.#unpause()
    this.closing ||= this.#life.draining
    corked = this
    corkedBody = body
    this.#res.cork(writeWhole)
    this.finish()
  }

  writeWhole(body: string | Uint8Array): void {
    const res = this.#res
    this.#writeHead()
    if (this.#isBodyless()) return this.#endBodyless(this.method === 'HEAD' ? byteLength(body) : -1)
    this.bytesOut = byteLength(body)
    res.end(body, this.closing)
  }

  protected transmitHead(length: number): void {
    if (this.#owner !== undefined && this.status === 101) return this.#become(this.#owner)
    if (this.#heldTurn === turn) {
      this.#hold(() => this.transmitHead(length))
      return
    }
    this.closing ||= this.#life.draining
    // A reply that closes the connection cannot be written piecewise with a
    // length: the library takes the wish to close only with a whole body or a
    // chunked end.
    this.#length = this.closing ? -1 : length
    const res = this.#res
    if (this.#isBodyless()) {
      res.cork(() => {
        this.#writeHead()
        this.#endBodyless(length)
      })
      this.finish()
      return
    }
    // Must be in place before the first write: without it the library ends a
    // stream some seconds after its back-pressure has gone.
    res.onWritable(() => this.#writable())
    // The head goes out with the first chunk, or on its own when none comes at once.
    setImmediate(() => this.#flushHead())
  }

  protected transmitChunk(chunk: Uint8Array): boolean {
    if (this.#heldTurn === turn) {
      const copy = Uint8Array.prototype.slice.call(chunk)
      this.#hold(() => this.transmitChunk(copy))
      this.#heldBytes += chunk.length
      return this.#writes && this.#heldBytes < HELD_MAX_BYTES
    }
    if (chunk.length === 0) return true
    this.#res.cork(() => {
      this.#headOnce()
      this.#writes = this.#length >= 0 ? this.#tryWrite(chunk) : this.#res.write(chunk)
    })
    return this.#writes
  }

  protected transmitEnd(): void {
    if (this.#heldTurn === turn) {
      this.#hold(() => this.transmitEnd())
      return
    }
    if (this.#rest !== undefined) {
      this.#ending = true
      return
    }
    if (this.finished) return
    this.#unpause()
    this.#res.cork(() => {
      this.#headOnce()
      this.#res.end('', this.closing)
    })
    this.finish()
  }

  protected cut(): void {
    if (this.finished) return
    if (this.#owner !== undefined) this.#owner.close(INTERNAL_ERROR, 'internal error')
    // The library answers with the abort callback, which ends the exchange.
    else this.#res.close()
  }

  protected pauseRead(): void {
    this.#readPaused = true
    this.#res.pause()
  }

  protected resumeRead(): void {
    this.#readPaused = false
    readOn(this.#res)
  }

  #unpause(): void {
    if (this.#readPaused) this.resumeRead()
  }

  /** Sends what was held. */
  release(): void {
    const sends = this.#held
    if (sends === undefined) return
    const wasFull = this.#heldBytes >= HELD_MAX_BYTES
    this.#held = undefined
    this.#heldBytes = 0
    for (const send of sends) if (!this.finished) send()
    // Whoever was told to hold back, though the client takes all of it.
    if (wasFull && this.#writes && !this.finished) this.drained()
  }

  /** Keeps what is to be sent, behind what is kept already. */
  #hold(send: () => void): void {
    if (this.#held === undefined) {
      held.push(this)
      this.#held = [send]
    } else this.#held.push(send)
  }

  #become(owner: SocketOwner): void {
    // Not to be had any more once the response has become a WebSocket.
    this.#address = this.remoteAddress
    const { context, key } = this.#upgrade!
    const res = this.#res
    const toSwitch = pausesWebSockets ? switchBy(res) : undefined
    const data: SocketData = { owner, toSwitch }
    res.cork(() => this.#writeHead())
    // Outside of `cork`, although the library writes a warning to stderr for it: what 20.51 does
    // at the end of `cork` takes the new WebSocket for a response, and at random closes it.
    res.upgrade(data, key, this.#protocol, '', context)
  }

  #isBodyless(): boolean {
    return this.method === 'HEAD' || this.status === 204 || this.status === 304
  }

  #endBodyless(length: number): void {
    const res = this.#res
    // Only `end` closes a connection, and it always adds a length: better a
    // needless `Content-Length: 0` than a connection that must not go on.
    if (this.closing) return res.end('', true)
    if (length >= 0 && this.status !== 204) res.writeHeader('content-length', String(length))
    res.endWithoutBody()
  }

  #headOnce(): void {
    if (!this.#headSent) this.#writeHead()
  }

  #writeHead(): void {
    this.#headSent = true
    const res = this.#res
    const { status } = this
    if (status !== 200) res.writeStatus(STATUS_LINES[status] ?? `${status} Unknown`)
    const headers = this.replyHeaders
    if (headers.size === 0) return
    // One call for all fields: each crosses into native code, which costs more
    // than joining them. Safe because every name and value was checked.
    const value = headers.formatValue()
    res.writeHeader(headers.flat[0]!, headers.ascii ? value : Buffer.from(value, 'latin1'))
  }

  /** Sends the head of a stream whose first chunk is not there yet, where the library can. */
  #flushHead(): void {
    if (this.#headSent || this.finished) return
    const res = this.#res
    if (this.#length > 0) {
      res.cork(() => {
        this.#writeHead()
        res.tryEnd('', this.#length)
      })
    } else if (this.#length < 0 && res.beginWrite !== undefined) {
      res.cork(() => {
        this.#writeHead()
        res.beginWrite!()
      })
    }
  }

  /** Writes a piece of a reply of known length; what the socket refuses is kept. */
  #tryWrite(chunk: Uint8Array): boolean {
    if (this.#rest !== undefined) {
      this.#rest = Buffer.concat([this.#rest, chunk])
      return false
    }
    const res = this.#res
    const before = res.getWriteOffset()
    const [ok, done] = res.tryEnd(chunk, this.#length)
    if (done) {
      this.finish()
      return true
    }
    if (ok) return true
    this.#rest = Uint8Array.prototype.slice.call(chunk, res.getWriteOffset() - before)
    return false
  }

  #writable(): boolean {
    if (this.finished) return true
    const rest = this.#rest
    if (rest !== undefined) {
      this.#rest = undefined
      if (!this.#tryWrite(rest)) return false
      if (this.finished) return true
    }
    this.#writes = true
    if (this.#ending) this.transmitEnd()
    else this.drained()
    return true
  }
}

/** A listener on µWebSockets: HTTP/1.1 and WebSocket, plain or TLS. */
export const createUwsListener: CreateListener = async (options: ListenerOptions) => {
  const uws = loadUws()
  if (uws === undefined) {
    throw new Error(
      `no uWebSockets binary for ${process.platform}-${process.arch}, Node ${process.versions.node}`,
    )
  }
  uws._cfg('silent')
  const secure = options.tls !== undefined
  const guard = new Guard(options.internalFields)
  const maxMessageBytes = options.maxMessageBytes ?? MESSAGE_MAX_BYTES
  const sockets = new Sockets(maxMessageBytes)
  const maxConnections = options.maxConnections ?? Number.POSITIVE_INFINITY
  let connections = 0
  /** The library remembers what sockets do: before it does, it would resume them to nothing. See {@link readOn}. */
  let remembers = false
  const life: Life = { draining: false, peers: new PeerAddresses() }

  const add = (name: string, value: string) => {
    // The library decodes UTF-8; header values are strings of bytes.
    if (NON_ASCII.test(value)) {
      guard.headers.ascii = false
      guard.add(name, Buffer.from(value, 'utf8').toString('latin1'))
    } else guard.add(name, value)
  }
  const serve = (res: HttpResponse, req: HttpRequest, context: SocketContext | undefined) => {
    guard.reset()
    req.forEach(add)
    guard.closing ||= life.draining
    const x = new UwsExchange(res, req, guard, secure, context, sockets, life)
    options.handle(x)
  }

  const behavior = createSocketBehavior(maxMessageBytes)
  const setup: AppSetup = {
    filter: (app, count) => {
      // biome-ignore lint/suspicious/useIterableCallbackReturn: not the filter of an array.
      app.filter((res, change) => {
        if (!remembers) {
          remembers = true
          readOn(res)
        }
        connections += change
        if (change > 0) life.peers.opened(res.getRemoteAddress())
        else life.peers.closed()
        count(change)
        if (change > 0 && connections > maxConnections) res.close()
      })
    },
    route: (router, count) => {
      router.any('/*', (res, req) => serve(res, req, undefined))
      router.ws('/*', {
        ...behavior,
        upgrade: serve,
        close: (client, code, reason) => {
          // The filter is not told of connections that end as WebSockets.
          connections--
          life.peers.closed()
          count(-1)
          behavior.close(client, code, reason)
        },
      })
    },
  }
  const { app, close } =
    options.tls === undefined ? createPlainApp(uws, setup) : createTlsApp(uws, options.tls, setup)

  let socket: ListenSocket
  try {
    socket = await listen(app, options)
  } catch (error) {
    close()
    throw error
  }
  const port = uws.us_socket_local_port(socket)
  const drain = () => {
    if (life.draining) return
    life.draining = true
    sockets.drain()
    uws.us_listen_socket_close(socket)
  }
  const listener: Listener = {
    name: 'uws',
    port,
    get connections() {
      return connections
    },
    drain,
    closeTunnels: () => sockets.close(),
    close: async () => {
      drain()
      sockets.close()
      close()
    },
  }
  return listener
}

function createPlainApp(uws: Uws, setup: AppSetup): { app: App; close: () => void } {
  const app = uws.App()
  setup.filter(app, () => {})
  setup.route(app, () => {})
  return { app, close: () => app.close() }
}

/**
 * Opens the port. The library's own exclusive mode does without SO_REUSEADDR: it could not open
 * the port of a gateway that has just ended for a minute. So the port is claimed first, in a way
 * that fails as long as anyone listens on it, and then opened in shared mode.
 */
async function listen(app: App, options: ListenerOptions): Promise<ListenSocket> {
  const { host, shared = false } = options
  const port = shared ? options.port : await claimPort(host, options.port)
  return new Promise((resolve, reject) => {
    app.listen(host, port, LISTEN_SHARED, (socket) => {
      if (socket) resolve(socket)
      else reject(new Error(`cannot listen on ${host}:${port}: the port is in use or not allowed`))
    })
  })
}

/**
 * Reads on. The library remembers what sockets did (reading, writing) in two places, one for those with bytes that wait and
 * one for the others. Pausing a socket puts there what it did, if it was not paused; resuming one has it do what lies there,
 * whosever that was. So its own is put there first.
 */
function readOn(res: HttpResponse): void {
  res.pause()
  res.resume()
}

function switchBy({ pause, resume }: HttpResponse): NonNullable<SocketData['toSwitch']> {
  return (client) => ({
    pause: () => pause.call(client),
    // As `readOn`.
    resume: () => {
      pause.call(client)
      resume.call(client)
    },
  })
}

function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

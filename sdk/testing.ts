// One file, though long: an entry of the package, half of it documentation.
import { compileChain, type Plugin, runSteps } from '../core/chain.ts'
import { GatewayError } from '../core/errors.ts'
import { Exchange } from '../core/exchange.ts'
import { HeaderList } from '../core/http/headers.ts'
import { INTERNAL_ERROR } from '../core/listener/websocket/close-codes.ts'
import { chooseProtocol, upgradeRequired } from '../core/listener/websocket/handshake.ts'
import {
  type AcceptOptions,
  MESSAGE_MAX_BYTES,
  type SocketReceiver,
} from '../core/listener/websocket/session.ts'
import { createPlugin, type PluginDefinition, type PluginEnv } from '../core/plugin/define.ts'
import type { Route } from '../core/route.ts'
import { TestSocket } from './testing/test-socket.ts'

export type { TestSocket } from './testing/test-socket.ts'

/** Header fields by name; an array sends the field several times. */
export type TestHeaders = Readonly<Record<string, string | readonly string[]>>

/** What the client of a test sends. */
export interface TestRequest {
  /** @default GET */
  readonly method?: string
  /** Path, and query behind a `?`. @default / */
  readonly path?: string
  /** Query without the `?`, if `path` has none. */
  readonly query?: string
  /** @default localhost */
  readonly host?: string
  readonly headers?: TestHeaders
  readonly body?: string | Uint8Array
  /** Send the body without announcing its length. @default false */
  readonly chunked?: boolean
  /** Address of the other end of the connection. @default 127.0.0.1 */
  readonly remoteAddress?: string
  /** Whether the client came over TLS. @default false */
  readonly secure?: boolean
  /** Whether the client asks for a WebSocket. @default false */
  readonly upgrade?: boolean
}

/** What the backend of a test answers. */
export interface TestReply {
  /** @default 200 */
  readonly status?: number
  readonly headers?: TestHeaders
  readonly body?: string | Uint8Array
}

/** What the client of a test sees, and what the backend saw. */
export interface TestResult {
  /** 0 when the client got no reply. */
  readonly status: number
  readonly headers: HeaderList
  readonly body: string
  /** Whether the backend was reached. */
  readonly forwarded: boolean
  /** Whether the client's connection was cut before the reply was complete. */
  readonly aborted: boolean
  /** What the chain or a hook threw, a {@link GatewayError} or a fault that became a 500; undefined: nothing. */
  readonly thrown: unknown
  /** The exchange itself; `x.headers` is what the backend received. */
  readonly x: TestExchange
}

/** How {@link runPlugin} answers behind the plugin. */
export interface RunOptions {
  /** @default 200 with the body `ok` */
  readonly reply?: TestReply
  /** Set between `onRequest` and `onRoute`. @default service `test`, endpoint empty */
  readonly route?: Route
  /** In place of `reply`: the last step of the chain. */
  readonly handle?: (x: Exchange) => void | Promise<void>
}

/** An exchange whose client is a test: no sockets, everything sent is kept. */
export class TestExchange extends Exchange {
  /** Reply body so far. */
  readonly chunks: Uint8Array[] = []
  /** Length announced with a streamed reply; -1: unknown, undefined: not streamed. */
  announcedLength: number | undefined = undefined
  /** Whether reading of the request body is paused. */
  paused = false
  /** Whether the client's connection was cut. */
  wasCut = false
  /** What {@link write} returns: false plays a client that reads slowly. */
  writable = true
  /** The client's end of its WebSocket, once that was accepted. */
  socket: TestSocket | undefined = undefined
  /** Resolves once the exchange is over: replied or aborted, `onDone` hooks run. */
  readonly done: Promise<void>
  #resolveDone: () => void = () => {}
  readonly #address: string
  #addressKept = false

  constructor(request: TestRequest = {}) {
    const { method = 'GET', path = '/', body, chunked = false, host = 'localhost' } = request
    const cut = path.indexOf('?')
    const headers = toHeaderList(request.headers)
    const length = body === undefined ? 0 : chunked ? -1 : Buffer.byteLength(body)
    super(
      method,
      cut === -1 ? path : path.slice(0, cut),
      request.query ?? (cut === -1 ? '' : path.slice(cut + 1)),
      host,
      headers,
      request.secure ?? false,
      length,
      request.upgrade ?? false,
    )
    this.#address = request.remoteAddress ?? '127.0.0.1'
    this.done = new Promise((resolve) => {
      this.#resolveDone = resolve
    })
  }

  /** As on a real connection: not to be had any more when the exchange is over and nobody has asked before. */
  get remoteAddress(): string {
    if (!this.finished) this.#addressKept = true
    return this.#addressKept ? this.#address : ''
  }

  /** Reply body so far, as text. */
  get body(): string {
    return Buffer.concat(this.chunks).toString()
  }

  /** Plays the client: sends a piece of the request body. */
  sendBody(chunk: string | Uint8Array, last: boolean): void {
    this.receive(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, last)
  }

  /** Plays the client: leaves before the reply is complete. */
  leave(): void {
    this.abort()
  }

  /** Plays the client: reads on after {@link write} returned false. */
  drain(): void {
    this.writable = true
    this.drained()
  }

  override tunnel(): Promise<void> {
    return Promise.reject(new Error('a test exchange has no WebSocket to carry on'))
  }

  override accept(
    receiver: SocketReceiver,
    {
      protocol,
      headers = new HeaderList(),
      maxMessageBytes = MESSAGE_MAX_BYTES,
    }: AcceptOptions = {},
  ): TestSocket | undefined {
    if (this.answered) return undefined
    if (!this.upgrade) throw upgradeRequired()
    const chosen = chooseProtocol(this.headers, protocol)
    this.startWebSocket(headers)
    if (this.status !== 101) {
      this.end()
      return undefined
    }
    this.socket = new TestSocket(chosen, this, receiver, maxMessageBytes, (aborted) => {
      this.aborted = aborted
      this.finish()
    })
    return this.socket
  }

  protected override transmit(body: string | Uint8Array): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    this.bytesOut += bytes.length
    this.chunks.push(bytes)
    this.finish()
  }

  protected override transmitHead(length: number): void {
    this.announcedLength = length
  }

  protected override transmitChunk(chunk: Uint8Array): boolean {
    this.chunks.push(Uint8Array.prototype.slice.call(chunk))
    return this.writable
  }

  protected override transmitEnd(): void {
    this.finish()
  }

  protected override finish(): void {
    super.finish()
    this.#resolveDone()
  }

  protected override cut(code: number = INTERNAL_ERROR, reason = 'internal error'): void {
    if (this.socket !== undefined) return this.socket.close(code, reason)
    this.wasCut = true
    this.abort()
  }

  protected override pauseRead(): void {
    this.paused = true
  }

  protected override resumeRead(): void {
    this.paused = false
  }
}

/** An exchange without sockets, its request body not yet sent: see {@link TestExchange.sendBody}. */
export function createTestExchange(request: TestRequest = {}): TestExchange {
  return new TestExchange(request)
}

/** A plugin environment whose log is kept and whose clock is set by the test. */
export interface TestEnv extends PluginEnv {
  /** The clock; assign it to move the time. */
  now: number
  /** Every message logged so far: `warn: the message`. */
  readonly messages: string[]
}

/** An environment for `createPlugin`; the clock starts at 1 700 000 000 000 ms. */
export function createTestEnv(configDir: string = process.cwd()): TestEnv {
  const messages: string[] = []
  const note = (level: string) => (_details: object, message: string) =>
    void messages.push(`${level}: ${message}`)
  const env: TestEnv = {
    now: 1_700_000_000_000,
    nowMs: () => env.now,
    messages,
    configDir,
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
  }
  return env
}

/** Builds a declared plugin as the gateway would: defaults, checks, `create`. */
export function buildPlugin(
  definition: PluginDefinition,
  options: unknown = {},
  env: PluginEnv = createTestEnv(),
): Plugin {
  return createPlugin(definition, options, env)
}

/**
 * Sends one request through the hooks of a plugin, or of several in order, in front of
 * a backend that answers `reply`; resolves once the exchange is over.
 */
export async function runPlugin(
  plugin: Plugin | readonly Plugin[],
  request: TestRequest = {},
  options: RunOptions = {},
): Promise<TestResult> {
  const x = new TestExchange(request)
  let forwarded = false
  let thrown: unknown
  const handle = (exchange: Exchange) => {
    forwarded = true
    if (options.handle !== undefined) return options.handle(exchange)
    exchange.send(
      options.reply?.status ?? 200,
      toHeaderList(options.reply?.headers),
      options.reply?.body ?? 'ok',
    )
  }
  const plugins = Array.isArray(plugin) ? (plugin as readonly Plugin[]) : [plugin as Plugin]
  const chain = compileChain(
    plugins,
    (exchange) => {
      exchange.route = options.route ?? { service: 'test', endpoint: '' }
    },
    handle,
  )
  x.begin(
    chain,
    () => {},
    (error) => {
      thrown ??= error
    },
  )
  const { body } = request
  if (body !== undefined) {
    // As from a socket: after the first turn of the chain, never inside it.
    queueMicrotask(() => x.sendBody(body, true))
  }
  try {
    await runSteps(chain.steps, x)
  } catch (error) {
    thrown = error
    x.giveUp(GatewayError.from(error))
  }
  if (!x.answered && !forwarded) throw new Error('the chain ended without a reply')
  await x.done
  return {
    status: x.status,
    headers: x.replyHeaders,
    body: x.body,
    forwarded,
    aborted: x.aborted,
    thrown,
    x,
  }
}

function toHeaderList(headers: TestHeaders = {}): HeaderList {
  const list = new HeaderList()
  for (const [name, values] of Object.entries(headers)) {
    for (const value of typeof values === 'string' ? [values] : values) list.append(name, value)
  }
  return list
}

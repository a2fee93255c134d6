// A single long file, because it is an entry point of the package; half of it is documentation.
import { type Plugin, runSteps } from '../core/chain.ts'
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
import { compileChain } from '../core/plugin/compile-chain.ts'
import { createPlugin, type PluginDefinition, type PluginEnv } from '../core/plugin/define.ts'
import type { Route } from '../core/route.ts'
import { TestSocket } from './testing/test-socket.ts'

export type { TestSocket } from './testing/test-socket.ts'

/** Headers by name; an array repeats the header. */
export type TestHeaders = Readonly<Record<string, string | readonly string[]>>

/** Request of the test client. */
export interface TestRequest {
  /** @default GET */
  readonly method?: string
  /** Path, with an optional query. @default / */
  readonly path?: string
  /** Query without the `?`, used if `path` has none. */
  readonly query?: string
  /** @default localhost */
  readonly host?: string
  readonly headers?: TestHeaders
  readonly body?: string | Uint8Array
  /** Send the body without Content-Length. @default false */
  readonly chunked?: boolean
  /** Remote address of the connection. @default 127.0.0.1 */
  readonly remoteAddress?: string
  /** True if the client uses TLS. @default false */
  readonly secure?: boolean
  /** True if the client requests a WebSocket. @default false */
  readonly upgrade?: boolean
}

/** Response of the test backend. */
export interface TestReply {
  /** @default 200 */
  readonly status?: number
  readonly headers?: TestHeaders
  readonly body?: string | Uint8Array
}

/** Response as received by the client and request as received by the backend. */
export interface TestResult {
  /** Response status; 0 without a response. */
  readonly status: number
  readonly headers: HeaderList
  readonly body: string
  /** True if the request reached the backend. */
  readonly forwarded: boolean
  /** True if the connection was closed before the response was complete. */
  readonly aborted: boolean
  /**
   * Error thrown by the chain or a hook: a {@link GatewayError}, or another error that resulted in a 500; undefined if
   * none.
   */
  readonly thrown: unknown
  /** The exchange; `x.headers` are the headers that the backend received. */
  readonly x: TestExchange
}

/** Backend of {@link runPlugin}. */
export interface RunOptions {
  /** @default 200 with the body `ok` */
  readonly reply?: TestReply
  /** Route set between `onRequest` and `onRoute`. @default service `test` with an empty endpoint */
  readonly route?: Route
  /** Last step of the chain, used instead of `reply`. */
  readonly handle?: (x: Exchange) => void | Promise<void>
}

/** An exchange without sockets, which records everything sent to the client. */
export class TestExchange extends Exchange {
  /** Response body sent so far. */
  readonly chunks: Uint8Array[] = []
  /** Announced length of a streamed response; -1 if unknown, undefined if not streamed. */
  announcedLength: number | undefined = undefined
  /** True while reading of the request body is paused. */
  paused = false
  /** True if the client's connection was closed. */
  wasCut = false
  /** Result of {@link write}; false simulates a slow client. */
  writable = true
  /** The client's WebSocket once accepted. */
  socket: TestSocket | undefined = undefined
  /** Resolves at the end of the exchange, when the response is sent or aborted and the `onDone` hooks have run. */
  readonly done: Promise<void>
  #resolveDone: () => void = () => {}
  readonly #address: string
  #addressKept = false

  constructor(request: TestRequest = {}) {
    const { method = 'GET', path = '/', body, chunked = false, host = 'localhost' } = request
    const queryStart = path.indexOf('?')
    const headers = toHeaderList(request.headers)
    const length = body === undefined ? 0 : chunked ? -1 : Buffer.byteLength(body)
    super(
      method,
      queryStart === -1 ? path : path.slice(0, queryStart),
      request.query ?? (queryStart === -1 ? '' : path.slice(queryStart + 1)),
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

  /** As on a real connection, the address is unavailable after the exchange ends unless it was read before. */
  get remoteAddress(): string {
    if (!this.finished) this.#addressKept = true
    return this.#addressKept ? this.#address : ''
  }

  /** Response body sent so far, as text. */
  get body(): string {
    return Buffer.concat(this.chunks).toString()
  }

  /** Simulates the client: sends a chunk of the request body. */
  sendBody(chunk: string | Uint8Array, last: boolean): void {
    this.receive(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, last)
  }

  /** Simulates the client: disconnects before the response is complete. */
  disconnect(): void {
    this.abort()
  }

  /** Simulates the client: continues reading after {@link write} returned false. */
  drain(): void {
    this.writable = true
    this.drained()
  }

  override tunnel(): Promise<void> {
    return Promise.reject(new Error('a test exchange cannot forward a WebSocket'))
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
    const selectedProtocol = chooseProtocol(this.headers, protocol)
    this.startWebSocket(headers)
    if (this.status !== 101) {
      this.end()
      return undefined
    }
    this.socket = new TestSocket(selectedProtocol, this, receiver, maxMessageBytes, (aborted) => {
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

  protected override closeConnection(
    code: number = INTERNAL_ERROR,
    reason = 'internal error',
  ): void {
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

/** Creates an exchange without sockets. Send the request body with {@link TestExchange.sendBody}. */
export function createTestExchange(request: TestRequest = {}): TestExchange {
  return new TestExchange(request)
}

/** A plugin environment with recorded log messages and a manual clock. */
export interface TestEnv extends PluginEnv {
  /** Current time of the clock; assign it to advance the clock. */
  now: number
  /** All log messages, such as `warn: the message`. */
  readonly messages: string[]
}

/** Creates an environment for `createPlugin`. The clock starts at 1 700 000 000 000 ms. */
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

/** Creates a plugin as the gateway does: applies defaults, validates the options, and calls `create`. */
export function buildPlugin(
  definition: PluginDefinition,
  options: unknown = {},
  env: PluginEnv = createTestEnv(),
): Plugin {
  return createPlugin(definition, options, env)
}

/**
 * Runs one request through the hooks of one or more plugins, in front of a backend that responds with `reply`. Resolves
 * at the end of the exchange.
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
    // As from a socket, the body arrives asynchronously after the chain has started.
    queueMicrotask(() => x.sendBody(body, true))
  }
  try {
    await runSteps(chain.steps, x)
  } catch (error) {
    thrown = error
    x.abortWith(GatewayError.from(error))
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

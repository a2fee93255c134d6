import { createHash } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type * as Library from 'http-proxy-3'
import { GATEWAY_ID, GatewayError } from '../../errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { describeConnectFault, toConnectDetail } from '../../upstream/connect-error.ts'
import { timeHandshake } from '../../upstream/handshake-timer.ts'
import { readReply, relayReply } from '../../upstream/http1/relay.ts'
import { toTlsOptions } from '../../upstream/tls.ts'
import type { TunnelStream } from '../websocket/tunnel-stream.ts'
import type { TunnelTarget } from '../websocket/tunnel-target.ts'
import type { NodeExchange } from './exchange.ts'

const WRONG_RESPONSE = 'invalid WebSocket handshake response from the backend'
/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Headers of the client's handshake that are forwarded unchanged. */
const HANDSHAKE = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
] as const

type Fields = Record<string, string | string[]>
type Join = (reply: IncomingMessage, socket: Socket, head: Buffer) => void

/** The proxy request that carries the handshake of a stream to a backend. */
const requests = new WeakMap<object, ClientRequest>()

/** Only for upgrades: for plain requests, the library forwards a chunked DELETE as two requests. */
let proxy: Library.ProxyServer | undefined

/** Loads the library on the first tunnel. */
function createProxy(): Library.ProxyServer {
  const { ProxyServer } = createRequire(import.meta.url)('http-proxy-3') as typeof Library
  const proxy = new ProxyServer({ ws: true, toProxy: true, prependPath: false })
  proxy.on('proxyReqWs', (request, _req, socket) => requests.set(socket, request))
  // Each attempt handles its own failures; this handler receives them a second time.
  proxy.on('error', () => {})
  return proxy
}

/**
 * Proxies the client's WebSocket to `target`. A response other than 101 is forwarded to the client.
 *
 * Resolves with the backend response. {@link TunnelTarget.onClose} follows when the tunnel, or the forwarded response,
 * has ended.
 *
 * @throws {GatewayError} 502 or 504 if the backend sent no valid response; nothing was sent to the client then.
 */
export function openTunnel(
  x: NodeExchange,
  stream: TunnelStream,
  target: TunnelTarget,
): Promise<void> {
  const headers = toHandshake(x, target)
  const request = sendHandshake(headers, stream, target)
  // The library has attached listeners that join the two sides once the backend accepts, and that forward other
  // responses without hooks, limits and retries.
  const [join] = request.listeners('upgrade') as Join[]
  request.removeAllListeners('upgrade')
  request.removeAllListeners('response')

  return new Promise((resolve, reject) => {
    let settled = false
    const onClientClosed = () => request.destroy()
    const settle = (): boolean => {
      if (settled) return false
      settled = true
      stopTimer()
      stream.off('close', onClientClosed)
      return true
    }
    const failWith = (error: GatewayError): void => {
      if (!settle()) return
      request.destroy()
      reject(error)
    }
    const fail = (code: number, detail: string, cause?: unknown): void =>
      failWith(new GatewayError(GATEWAY_ID, code, detail, { cause }))
    const stopTimer = timeHandshake(request, target, failWith)

    stream.once('close', onClientClosed)
    request.on('error', (error) => {
      const detail = describeConnectFault(toConnectDetail(error), 'the backend')
      fail(502, detail, error)
    })
    request.on('response', (reply) => {
      const head = readReply(reply, false)
      if (head === undefined)
        return fail(502, WRONG_RESPONSE, new Error(`invalid response ${reply.statusCode}`))
      if (!settle()) return
      resolve()
      relayReply(x, reply, head, target)
    })
    request.on('upgrade', (reply: IncomingMessage, socket: Socket, head: Buffer) => {
      // Attached before the listeners of the library, which would end the client connection without a response.
      socket.on('error', () => stream.backendEnded())
      socket.on('end', () => stream.backendEnded())
      const replyHead = readReply(reply, true)
      if (replyHead === undefined || !isAccepted(reply, headers['sec-websocket-key'], target)) {
        socket.destroy()
        return fail(502, WRONG_RESPONSE)
      }
      if (!settle()) return socket.destroy()
      resolve()
      const fields = replyHead.headers
      if (!x.answered) target.onHandshakeResponse?.(101, fields)
      if (x.answered || !x.acceptTunnel(fields)) {
        socket.destroy()
        target.onClose()
        return
      }
      stream.once('close', () => {
        socket.destroySoon()
        target.onClose()
      })
      reply.headers = toResponseHeaders(x.replyHeaders, reply)
      stream.open(target.maxMessageBytes)
      join!(reply, socket, head)
    })
  })
}

/** Sends the handshake through the library. Its request is then available in {@link requests}. */
function sendHandshake(headers: Fields, stream: TunnelStream, target: TunnelTarget): ClientRequest {
  const { host, port, secure, lookup, tls } = target
  const protocol = secure ? 'https:' : 'http:'
  // The library only reads these properties of the request.
  const req = {
    method: 'GET',
    url: target.target,
    headers,
    httpVersion: '1.1',
    httpVersionMajor: 1,
  }
  const options = {
    target: { host, port, protocol },
    // Connection options of the library, with or without TLS.
    ssl: { servername: '', ...toTlsOptions(tls, host), lookup },
    // The only option by which the library verifies certificates.
    secure: tls?.isVerified ?? true,
  }
  proxy ??= createProxy()
  proxy.ws(req as unknown as IncomingMessage, stream, Buffer.alloc(0), options, () => {})
  const request = requests.get(stream)!
  // Forwarded as received: the library parses queries and formats some of them differently.
  request.path = target.target
  return request
}

function toHandshake(x: NodeExchange, target: TunnelTarget): Fields {
  const headers: Fields = Object.create(null)
  const { flat } = target.headers
  for (let i = 0; i < flat.length; i += 2) addField(headers, flat[i]!, flat[i + 1]!)
  for (const name of HANDSHAKE) {
    const value = x.headers.getAll(name).join(', ')
    if (value !== '') headers[name] = value
  }
  headers['connection'] = 'Upgrade'
  headers['upgrade'] = 'websocket'
  return headers
}

/** Whether the backend response matches the handshake (RFC 6455 §4.1). */
function isAccepted({ headers }: IncomingMessage, key: unknown, target: TunnelTarget): boolean {
  const offers = target.headers.getAll('sec-websocket-protocol').join(',').split(',')
  const expected = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
  const protocol = headers['sec-websocket-protocol']
  return (
    headers['sec-websocket-accept'] === expected &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    (protocol === undefined || offers.some((offer) => offer.trim() === protocol))
  )
}

/**
 * Builds the headers of the 101 response as the library writes it: headers after the `onReply` hooks, and handshake
 * headers.
 */
function toResponseHeaders(list: HeaderList, reply: IncomingMessage): IncomingMessage['headers'] {
  const headers: Fields = Object.create(null)
  const { flat } = list
  for (let i = 0; i < flat.length; i += 2) addField(headers, flat[i]!, flat[i + 1]!)
  headers['connection'] = 'Upgrade'
  headers['upgrade'] = 'websocket'
  for (const name of ['accept', 'protocol', 'extensions'] as const) {
    const value = reply.headers[`sec-websocket-${name}`]
    if (value !== undefined) headers[`sec-websocket-${name}`] = value
  }
  return headers
}

function addField(headers: Fields, name: string, value: string): void {
  const before = headers[name]
  headers[name] = before === undefined ? value : [...[before].flat(), value]
}

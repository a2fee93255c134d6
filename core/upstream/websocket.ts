import type { ClientRequest, IncomingMessage } from 'node:http'
import { isIPv6, type Socket } from 'node:net'
import type { ClientOptions } from 'ws'
import { WebSocket } from '../../lib/net/ws.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { HeaderList } from '../http/headers.ts'
import type { TunnelTarget } from '../listener/websocket/tunnel-target.ts'
import { describeConnectFault, toConnectDetail } from './connect-error.ts'
import { timeHandshake } from './handshake-timer.ts'
import { readReply } from './http1/relay.ts'
import type { ReplyHead } from './http1/reply-head.ts'
import { generateMask } from './masking.ts'
import { toTlsOptions } from './tls.ts'

/** Time for a backend to close the TCP connection after both close frames, in milliseconds. */
const CLOSE_TIMEOUT_MS = 10_000
/** TCP keep-alive delay in milliseconds. */
const KEEP_ALIVE_MS = 30_000

/** An accepted WebSocket. */
export interface OpenBackend {
  readonly socket: WebSocket
  /** The underlying socket, for batched writes. */
  readonly connection: Socket
  /** Selected subprotocol; empty if none. */
  readonly protocol: string
  /** End-to-end headers of the response. */
  readonly headers: HeaderList
}

/** Result of a handshake. Exactly one callback is called, once. */
export interface BackendEvents {
  /** Message listeners must be attached before it returns. */
  readonly onOpen: (backend: OpenBackend) => void
  /** Called if the backend sent a valid final response instead of 101. */
  readonly onReply: (reply: IncomingMessage, head: ReplyHead) => void
  /** Called without a valid response: 502, or 504 after a timeout. */
  readonly onFailure: (error: GatewayError) => void
}

/** Opens the gateway's WebSocket to a backend. Returns a function that cancels the handshake. */
export function openBackend(target: TunnelTarget, events: BackendEvents): () => void {
  const { host, port, secure, lookup, tls } = target
  const offered = target.headers.getAll('sec-websocket-protocol').join(',').split(',')
  const options: ClientOptions & { closeTimeout: number } = {
    // The gateway would have to decompress and recompress messages.
    perMessageDeflate: false,
    // The client responds to pings.
    autoPong: false,
    maxPayload: target.maxMessageBytes,
    closeTimeout: CLOSE_TIMEOUT_MS,
    generateMask,
    ...(lookup && { lookup }),
    ...(secure && toTlsOptions(tls, host)),
    finishRequest: (request) => {
      stopTimer = timeHandshake(request, target, failWith)
      sendHandshake(request, target)
    },
  }
  let stopTimer = (): void => {}
  let protocol = ''
  let response: IncomingMessage | undefined
  let head: ReplyHead | undefined
  let settled = false
  const settle = (): boolean => {
    if (settled) return false
    settled = true
    stopTimer()
    return true
  }
  const failWith = (error: GatewayError): void => {
    if (!settle()) return
    backend.terminate()
    events.onFailure(error)
  }
  const fail = (code: number, detail: string, cause?: unknown): void =>
    failWith(new GatewayError(GATEWAY_ID, code, detail, { cause }))
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  const backend = new WebSocket(`${secure ? 'wss' : 'ws'}://${authority}/`, options)

  backend.on('error', (error) => {
    const detail =
      response === undefined
        ? describeConnectFault(toConnectDetail(error), 'the backend')
        : INVALID_HANDSHAKE
    fail(502, detail, error)
  })
  backend.on('upgrade', (reply) => {
    response = reply
    protocol = reply.headers['sec-websocket-protocol'] ?? ''
    if (protocol !== '' && !offered.some((offer) => offer.trim() === protocol)) {
      return fail(502, INVALID_HANDSHAKE, new Error('the subprotocol was not offered'))
    }
    head = readReply(reply, true)
    if (head === undefined) return fail(502, INVALID_HANDSHAKE)
    // The library did not see the offer and would reject the subprotocol.
    delete reply.headers['sec-websocket-protocol']
    reply.socket.setKeepAlive(true, KEEP_ALIVE_MS)
  })
  backend.on('open', () => {
    if (!settle()) return
    const { socket: connection } = response!
    events.onOpen({ socket: backend, connection, protocol, headers: head!.headers })
  })
  backend.on('unexpected-response', (_request, reply) => {
    const final = readReply(reply, false)
    // For example a 101 that does not complete the handshake: if relayed, a proxy in front would accept it (RFC 9110
    // §7.8).
    if (final === undefined)
      fail(502, INVALID_HANDSHAKE, new Error(`invalid response ${reply.statusCode}`))
    else if (settle()) events.onReply(reply, final)
  })
  return () => fail(502, 'the client disconnected during the WebSocket handshake')
}

const INVALID_HANDSHAKE = 'invalid WebSocket handshake response from the backend'

/** Sends the client's handshake headers, except headers set by `ws`. */
function sendHandshake(request: ClientRequest, target: TunnelTarget): void {
  // Set unmodified, because the library would normalize it.
  request.path = target.target
  const { flat } = target.headers
  if (target.headers.has('host')) request.removeHeader('host')
  for (let i = 0; i < flat.length; i += 2) request.appendHeader(flat[i]!, flat[i + 1]!)
  request.end()
}

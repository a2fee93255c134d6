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

/** How long a backend may take to close the connection after both close frames. */
const CLOSE_TIMEOUT_MS = 10_000
/** Silence after which the kernel asks a backend's host whether it is still there. */
const KEEP_ALIVE_MS = 30_000

/** A backend that has accepted. */
export interface OpenBackend {
  readonly socket: WebSocket
  /** The connection below, for those who write many frames at a time. */
  readonly connection: Socket
  /** The subprotocol it chose; empty: none. */
  readonly protocol: string
  /** End-to-end fields of its answer. */
  readonly headers: HeaderList
}

/** What becomes of a handshake with a backend. One of the three is called, once. */
export interface BackendEvents {
  /** Listeners for its messages must be attached before the call returns. */
  readonly onOpen: (backend: OpenBackend) => void
  /** The backend sent a valid final response in place of 101. */
  readonly onReply: (reply: IncomingMessage, head: ReplyHead) => void
  /** No valid answer came: 502, or 504 when there was none in time. */
  readonly onFailure: (error: GatewayError) => void
}

/** Opens the gateway's WebSocket to a backend. Returns the function that gives the handshake up. */
export function openBackend(target: TunnelTarget, events: BackendEvents): () => void {
  const { host, port, secure, lookup } = target
  const offered = target.headers.getAll('sec-websocket-protocol').join(',').split(',')
  const options: ClientOptions & { closeTimeout: number } = {
    // Compressed by neither side: the gateway would have to undo and redo it.
    perMessageDeflate: false,
    // Pings are the client's to answer.
    autoPong: false,
    maxPayload: target.maxMessageBytes,
    closeTimeout: CLOSE_TIMEOUT_MS,
    generateMask,
    ...(lookup && { lookup }),
    finishRequest: (request) => {
      stopTimer = timeHandshake(request, target, failWith)
      sendHandshake(request, target)
    },
  }
  let stopTimer = (): void => {}
  let protocol = ''
  let answer: IncomingMessage | undefined
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
      answer === undefined
        ? describeConnectFault(toConnectDetail(error), 'the backend')
        : WRONG_ANSWER
    fail(502, detail, error)
  })
  backend.on('upgrade', (reply) => {
    answer = reply
    protocol = reply.headers['sec-websocket-protocol'] ?? ''
    if (protocol !== '' && !offered.some((offer) => offer.trim() === protocol)) {
      return fail(502, WRONG_ANSWER, new Error('a subprotocol that was not offered'))
    }
    head = readReply(reply, true)
    if (head === undefined) return fail(502, WRONG_ANSWER)
    // The library judges the choice by offers it knows nothing of: it would take any for wrong.
    delete reply.headers['sec-websocket-protocol']
    reply.socket.setKeepAlive(true, KEEP_ALIVE_MS)
  })
  backend.on('open', () => {
    if (!settle()) return
    const { socket: connection } = answer!
    events.onOpen({ socket: backend, connection, protocol, headers: head!.headers })
  })
  backend.on('unexpected-response', (_request, reply) => {
    const final = readReply(reply, false)
    // Such as a 101 that does not complete the handshake: relayed, a proxy in front would take it for one that does (RFC 9110 §7.8).
    if (final === undefined)
      fail(502, WRONG_ANSWER, new Error(`invalid response ${reply.statusCode}`))
    else if (settle()) events.onReply(reply, final)
  })
  return () => fail(502, 'the client left during the WebSocket handshake')
}

const WRONG_ANSWER = 'the backend gave a wrong answer to the WebSocket handshake'

/** The handshake as the client sent it, but for the fields that `ws` has set. */
function sendHandshake(request: ClientRequest, target: TunnelTarget): void {
  // As received: the library would normalize it.
  request.path = target.target
  const { flat } = target.headers
  if (target.headers.has('host')) request.removeHeader('host')
  for (let i = 0; i < flat.length; i += 2) request.appendHeader(flat[i]!, flat[i + 1]!)
  request.end()
}

import type { Handler } from '../core/chain.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import type { Exchange } from '../core/exchange.ts'
import { HeaderList } from '../core/http/headers.ts'
import { RPC_PATH } from '../core/rpc/ws/frames.ts'
import {
  type Attempts,
  beginAttempt,
  endAttempt,
  mayRetry,
  pickNode,
  recordFailure,
  recordStatus,
  toRouteName,
} from '../core/upstream/attempts.ts'
import { noNodeError } from '../core/upstream/balance/no-node.ts'
import { toConnectDetail } from '../core/upstream/connect-error.ts'
import { forward } from '../core/upstream/forward.ts'
import { CONNECT_TIMEOUT } from '../core/upstream/handshake-timer.ts'
import { setsHost } from '../core/upstream/node/node-host.ts'

export interface WebOptions {
  /**
   * Maximum size of a WebSocket message in either direction, in bytes; larger messages close the WebSocket with 1009.
   * @default 16777216
   */
  readonly maxMessageBytes?: number
}

/** Headers of the client's handshake that the gateway replaces. */
const OWN_HANDSHAKE = new Set([
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-version',
])

/**
 * HTTP reverse proxy with WebSocket support (specification: `web` handler).
 *
 * A WebSocket is retried on the next node if a node is unreachable or its handshake response is invalid. A valid
 * response is forwarded to the client.
 */
export default function web(options: WebOptions = {}): Handler {
  const { maxMessageBytes = 16 * 1024 * 1024 } = options
  return {
    name: 'web',
    handle: (x) => {
      if (!x.upgrade) return forward(x)
      // WebSocket transport of the call protocol: services trust the caller identity in its metadata.
      if (x.path === RPC_PATH)
        throw new GatewayError(
          x.route?.service ?? GATEWAY_ID,
          404,
          `no WebSocket available at ${RPC_PATH}`,
        )
      return openTunnel(x, maxMessageBytes)
    },
  }
}

async function openTunnel(x: Exchange, maxMessageBytes: number): Promise<void> {
  const service = x.route?.service ?? GATEWAY_ID
  x.beforeProxy?.(x)
  const headers = toHandshake(x)
  const hasNodeHost = setsHost(x)
  const request: Attempts = {
    ...{ upstream: x.upstream, node: undefined, attempts: 0, tried: undefined, inFlight: false },
    ...{ attemptStartMs: 0, isAwaited: false, isRetrying: false, retry: x.route?.rule?.retry },
    routeName: toRouteName(x),
  }
  x.upstreamStartMs = performance.now()
  for (;;) {
    const node = pickNode(request, x)
    if (node === undefined) {
      x.failureKind = 'no-node'
      throw noNodeError(service, request.upstream)
    }
    const { host, port, secure, lookup, tls, pool } = node
    beginAttempt(request, node)
    x.node = node.id
    x.attempts = request.attempts
    if (hasNodeHost) headers.set('host', node.hostHeader!)
    x.trace?.sendFields(x, node, headers)
    try {
      return await x.tunnel({
        maxMessageBytes,
        connectTimeoutMs: pool.connectTimeoutMs,
        replyTimeoutMs: x.route?.rule?.timeouts?.replyMs ?? pool.replyTimeoutMs,
        host,
        port,
        secure,
        lookup,
        tls,
        target: x.target,
        headers,
        onHandshakeResponse: (status, fields) => receive(x, request, status, fields),
        onClose: () => endAttempt(request),
      })
    } catch (error) {
      // A disconnected client is not a failure of the node.
      if (x.finished) return endAttempt(request)
      const failure = GatewayError.from(error, service)
      const { code } = failure
      x.failure = toCause(failure)
      const isConnectTimeout = failure.cause === CONNECT_TIMEOUT
      x.failureKind = isConnectTimeout ? CONNECT_TIMEOUT : code === 504 ? 'timeout' : 'connect'
      x.trace?.failed(x.failureKind, x.failure)
      const kind = x.failureKind === 'timeout' ? 'gateway' : 'connect'
      const isFailure = code === 502 || code === 504
      if (isFailure) recordFailure(request, kind)
      endAttempt(request)
      if (!isFailure) throw error
      if (!mayRetry(request, kind, false)) throw toServiceError(service, failure)
    }
  }
}

/** Returns the error message with the cause of the connection failure, if known. */
function toCause({ message, cause }: GatewayError): string {
  return cause instanceof Error ? `${message}: ${toConnectDetail(cause)}` : message
}

function toServiceError(service: string, cause: GatewayError): GatewayError {
  return new GatewayError(service, cause.code, cause.message, { cause })
}

/** Called for the backend response, 101 or an HTTP response. */
function receive(x: Exchange, request: Attempts, status: number, headers: HeaderList): void {
  x.upstreamReplyMs = performance.now()
  x.trace?.answered(status)
  recordStatus(request, status)
  const cookie = request.upstream!.replyCookie?.(x, request.node!)
  if (cookie !== undefined) headers.append('set-cookie', cookie)
}

/** Builds the handshake headers for the backend. */
function toHandshake(x: Exchange): HeaderList {
  // A `host` header was set by a plugin, since listeners store the client's separately. Two would be malformed.
  const headers = new HeaderList(['host', x.headers.get('host') ?? x.host])
  const { flat } = x.headers
  for (let i = 0; i < flat.length; i += 2) {
    if (flat[i] !== 'host' && !OWN_HANDSHAKE.has(flat[i]!)) headers.append(flat[i]!, flat[i + 1]!)
  }
  return headers
}

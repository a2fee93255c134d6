import { createHash } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import proxyModule from 'http-proxy-3'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { TunnelTarget } from '../exchange.ts'
import type { HeaderList } from '../headers.ts'
import { relayReply, toEndToEnd } from '../upstream/relay.ts'
import type { NodeExchange } from './node-exchange.ts'
import type { TunnelStream } from './tunnel-stream.ts'

/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The client's part of the handshake that the backend must see as it was sent. */
const HANDSHAKE = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
] as const

type Attempt = (request: ClientRequest) => void

/** Told of the request that carries the handshake to a backend, by the stream it is for. */
const attempts = new WeakMap<TunnelStream, Attempt>()

// For upgrades only: its way with plain requests lets a chunked DELETE through as two requests.
const proxy = new proxyModule.ProxyServer({
  ws: true,
  toProxy: true,
  prependPath: false,
})
proxy.on('proxyReqWs', (request, _req, socket) =>
  attempts.get(socket as unknown as TunnelStream)?.(request),
)
// Failures reach the attempt they belong to; this one hears of them a second time.
proxy.on('error', () => {})

/**
 * Carries the client's WebSocket to `target`. An answer other than 101 is relayed as the reply.
 *
 * Resolves when the backend has answered, with {@link TunnelTarget.onClose} to follow once the
 * tunnel, or that reply, has ended.
 *
 * @throws {GatewayError} 502 or 504 when the backend gave no valid answer; nothing was sent to the client then.
 */
export function openTunnel(
  x: NodeExchange,
  stream: TunnelStream,
  target: TunnelTarget,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let settled = false
    const headers = toHandshake(x, target)
    const offers = target.headers
      .getAll('sec-websocket-protocol')
      .join(',')
      .split(/\s*,\s*/)
    const req = {
      method: 'GET',
      url: target.target,
      headers,
      httpVersion: '1.1',
      httpVersionMajor: 1,
    }

    attempts.set(stream, (request) => {
      const left = () => request.destroy()
      const fail = (error: GatewayError) => {
        clearTimeout(timer)
        stream.off('close', left)
        request.destroy()
        if (settled) return
        settled = true
        reject(error)
      }
      const settle = () => {
        settled = true
        clearTimeout(timer)
        stream.off('close', left)
        resolve()
      }
      const timer = setTimeout(() => {
        fail(
          new GatewayError(
            GATEWAY_ID,
            504,
            'the backend did not answer the WebSocket handshake in time',
          ),
        )
      }, target.connectTimeoutMs)
      stream.once('close', left)
      // What the library set out of a query with a second `?`, or with nothing behind it, is not what the client sent.
      request.path = target.target

      const [carry] = request.listeners('upgrade') as ((
        reply: IncomingMessage,
        socket: Socket,
        head: Buffer,
      ) => void)[]
      request.removeAllListeners('upgrade')
      request.removeAllListeners('response')
      request.on('error', (error) => {
        fail(
          new GatewayError(GATEWAY_ID, 502, 'the backend cannot be reached', {
            cause: error,
          }),
        )
      })
      request.on('response', (reply) => {
        settle()
        relayReply(x, reply, target)
      })
      request.on('upgrade', (reply: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.on('error', () => {})
        if (!isAccepted(reply, headers['sec-websocket-key'], offers)) {
          socket.destroy()
          return fail(
            new GatewayError(
              GATEWAY_ID,
              502,
              'the backend gave a wrong answer to the WebSocket handshake',
            ),
          )
        }
        settle()
        const answer = toEndToEnd(reply)
        if (!x.answered) target.onAnswer?.(101, answer)
        if (x.answered || !x.acceptTunnel(answer)) {
          socket.destroy()
          target.onClose()
          return
        }
        stream.once('close', () => {
          socket.destroySoon()
          x.tunnelEnded(stream.bytesIn, stream.bytesOut)
          target.onClose()
        })
        reply.headers = toAnswer(x.replyHeaders, reply)
        stream.open(target.maxMessageBytes)
        carry!(reply, socket, head)
      })
    })

    const protocol = target.secure ? 'https:' : 'http:'
    const { host, port } = target
    const ssl = { servername: isIP(host) > 0 ? '' : host }
    // The library reads method, target and fields of the request, and no more.
    proxy.ws(
      req as unknown as IncomingMessage,
      stream,
      Buffer.alloc(0),
      { target: { host, port, protocol }, ssl },
      () => {},
    )
  })
}

function toHandshake(x: NodeExchange, target: TunnelTarget): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = Object.create(null)
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

/** Whether the backend's answer belongs to the handshake (RFC 6455 §4.1). */
function isAccepted(
  { headers }: IncomingMessage,
  key: unknown,
  offers: readonly string[],
): boolean {
  const expected = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
  const protocol = headers['sec-websocket-protocol']
  return (
    headers['sec-websocket-accept'] === expected &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    (protocol === undefined || offers.includes(protocol))
  )
}

/** The answer to the handshake as the library writes it: what reply hooks left, and the fields that make it a 101. */
function toAnswer(list: HeaderList, reply: IncomingMessage): IncomingMessage['headers'] {
  const headers: Record<string, string | string[]> = Object.create(null)
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

function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name]
  headers[name] = before === undefined ? value : [...[before].flat(), value]
}

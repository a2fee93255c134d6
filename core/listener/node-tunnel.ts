import { createHash } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import proxyModule from 'http-proxy-3'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { TunnelTarget } from '../exchange.ts'
import { HeaderList } from '../headers.ts'
import type { NodeExchange } from './node-exchange.ts'
import type { TunnelStream } from './tunnel-stream.ts'

/** RFC 6455 §1.3. */
const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** Fields of a backend's answer that belong to its own connection (RFC 9110 §7.6.1), and `Date`, which the listener writes. */
const NOT_RELAYED = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The client's part of the handshake that the backend must see as it was sent. */
const HANDSHAKE = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
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
        relayReply(x, reply, target.onClose)
      })
      request.on('upgrade', (reply: IncomingMessage, socket: Socket, head: Buffer) => {
        socket.on('error', () => {})
        if (!isAccepted(reply, headers['sec-websocket-key'])) {
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
        if (x.answered || !x.acceptTunnel(toRelayed(reply))) {
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
    // biome-ignore lint/suspicious/noExplicitAny: the library reads method, url and headers of the request and no more
    proxy.ws(
      req as any,
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

function isAccepted(reply: IncomingMessage, key: unknown): boolean {
  const expected = createHash('sha1').update(`${key}${ACCEPT_SUFFIX}`).digest('base64')
  return (
    reply.headers['sec-websocket-accept'] === expected &&
    reply.headers.upgrade?.toLowerCase() === 'websocket'
  )
}

/** The end-to-end fields of a backend's answer. */
function toRelayed(reply: IncomingMessage): HeaderList {
  const list = new HeaderList()
  const named = (reply.headers.connection ?? '').toLowerCase().split(',')
  const { rawHeaders } = reply
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!NOT_RELAYED.has(name)) list.append(name, rawHeaders[i + 1]!)
  }
  for (const name of named) list.delete(name.trim())
  return list
}

/** The answer to the handshake as the library writes it: what reply hooks left, and the fields that make it a 101. */
function toAnswer(list: HeaderList, reply: IncomingMessage): IncomingMessage['headers'] {
  const headers: Record<string, string | string[]> = Object.create(null)
  const { flat } = list
  for (let i = 0; i < flat.length; i += 2) addField(headers, flat[i]!, flat[i + 1]!)
  headers['connection'] = 'Upgrade'
  headers['upgrade'] = 'websocket'
  headers['sec-websocket-accept'] = reply.headers['sec-websocket-accept']!
  return headers
}

function addField(headers: Record<string, string | string[]>, name: string, value: string): void {
  const before = headers[name]
  headers[name] = before === undefined ? value : [...[before].flat(), value]
}

/** The backend would rather not: its answer is the reply. */
function relayReply(x: NodeExchange, reply: IncomingMessage, onClose: () => void): void {
  const length = reply.headers['content-length']
  reply.once('close', onClose)
  if (x.answered) {
    reply.destroy()
    return
  }
  x.attach({
    onRequestBody: () => {},
    onDrain: () => reply.resume(),
    onAbort: () => reply.destroy(),
  })
  x.start(reply.statusCode ?? 502, toRelayed(reply), length === undefined ? -1 : Number(length))
  reply.on('data', (chunk: Buffer) => {
    if (!x.write(chunk)) reply.pause()
  })
  reply.on('end', () => x.end())
  reply.on('error', () =>
    x.giveUp(new GatewayError(GATEWAY_ID, 502, 'the reply of the backend broke off')),
  )
}

import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../errors.ts'
import type { Exchange, TunnelTarget } from '../exchange.ts'
import { HeaderList } from '../headers.ts'
import { NOT_OF_SERVICES } from '../not-of-services.ts'

/** How long a backend may keep silent in the middle of a reply. */
const SILENCE_MAX_MS = 60_000

/** Fields that end at the gateway (RFC 9110 §7.6.1), those of the WebSocket handshake, and `Date`, which listeners write. */
const ENDS_HERE = new Set([
  ...NOT_OF_SERVICES,
  'sec-websocket-accept',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
])

/** The end-to-end fields of a message that node:http has parsed. */
export function toEndToEnd(message: IncomingMessage): HeaderList {
  const headers = new HeaderList()
  const { rawHeaders } = message
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase()
    if (!ENDS_HERE.has(name)) headers.append(name, rawHeaders[i + 1]!)
  }
  for (const name of (message.headers.connection ?? '').toLowerCase().split(',')) {
    headers.delete(name.trim())
  }
  return headers
}

/**
 * Relays a reply that node:http has parsed, in pieces and with back-pressure. The exchange gets
 * it as its peer. A reply that breaks off cuts the client's connection.
 */
export function relayReply(x: Exchange, reply: IncomingMessage, target: TunnelTarget): void {
  reply.once('close', target.onClose)
  const service = x.route?.service ?? ''
  reply.once('error', () => {
    x.giveUp(new GatewayError(service, 502, 'the reply of the backend broke off'))
  })
  if (x.answered) {
    reply.destroy()
    return
  }
  reply.setTimeout(SILENCE_MAX_MS, () => reply.destroy(new Error('silence')))
  x.attach({
    onRequestBody: () => {},
    onDrain: () => reply.resume(),
    onAbort: () => reply.destroy(),
  })
  const status = reply.statusCode!
  const headers = toEndToEnd(reply)
  const length = reply.headers['content-length']
  target.onAnswer?.(status, headers)
  x.start(status, headers, length === undefined ? -1 : Number(length))
  reply.on('data', (chunk: Buffer) => {
    if (!x.write(chunk)) reply.pause()
  })
  reply.on('end', () => x.end())
}

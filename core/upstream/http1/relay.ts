import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../errors.ts'
import type { Exchange } from '../../exchange.ts'
import { isFinalStatus } from '../../http/final-status.ts'
import type { TunnelTarget } from '../../listener/websocket/tunnel-target.ts'
import {
  createReplyHead,
  type LineMemory,
  parseReplyHead,
  type ReplyHead,
  UNTIL_CLOSE,
} from './reply-head.ts'

/** Maximum silence of a backend within a response, in milliseconds. */
const SILENCE_MAX_MS = 60_000

const HANDSHAKE = ['sec-websocket-accept', 'sec-websocket-extensions', 'sec-websocket-protocol']

/**
 * Lines of the last response. Separate from the per-node caches, since lines such as Sec-WebSocket-Accept differ each
 * time.
 */
const LAST: LineMemory = []

/**
 * Validates the response to a WebSocket handshake parsed by node:http, using {@link parseReplyHead} as for all other
 * responses. Keeps only the end-to-end headers.
 *
 * @param isSwitch whether the response should complete the handshake: 101 without a body. Otherwise it must be final.
 * @returns undefined for an invalid response (502).
 */
export function readReply(message: IncomingMessage, isSwitch: boolean): ReplyHead | undefined {
  const { httpVersion, statusCode, rawHeaders } = message
  const lines = [`HTTP/${httpVersion} ${statusCode}`]
  for (let i = 0; i < rawHeaders.length; i += 2)
    lines.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`)
  const head = createReplyHead()
  if (typeof parseReplyHead(`${lines.join('\r\n')}\r\n\r\n`, head, LAST) === 'string')
    return undefined
  const { status, headers, length } = head
  for (const name of HANDSHAKE) headers.delete(name)
  const isValid = isSwitch ? status === 101 && length === UNTIL_CLOSE : isFinalStatus(status)
  return isValid ? head : undefined
}

/**
 * Relays a response parsed by node:http as a stream with back-pressure, as the peer of the exchange. An incomplete
 * response closes the client's connection.
 *
 * @param head result of {@link readReply}.
 */
export function relayReply(
  x: Exchange,
  reply: IncomingMessage,
  { status, headers, length }: ReplyHead,
  target: TunnelTarget,
): void {
  reply.once('close', target.onClose)
  const service = x.route?.service ?? ''
  reply.once('error', () => {
    x.abortWith(new GatewayError(service, 502, 'the backend response is incomplete'))
  })
  if (x.answered) {
    reply.destroy()
    return
  }
  reply.setTimeout(SILENCE_MAX_MS, () => reply.destroy(new Error('silence')))
  x.pipeTo({
    onRequestBody: () => {},
    onDrain: () => reply.resume(),
    onAbort: () => reply.destroy(),
  })
  target.onHandshakeResponse?.(status, headers)
  x.start(status, headers, Math.max(length, -1))
  reply.on('data', (chunk: Buffer) => {
    if (!x.write(chunk)) reply.pause()
  })
  reply.on('end', () => x.end())
}

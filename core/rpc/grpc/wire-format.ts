import type { Exchange } from '../../exchange.ts'
import type { HeaderList } from '../../http/headers.ts'
import { frameMessage } from './message-reader.ts'
import { decodeMessage, toConnectCode } from './status-codes.ts'

/**
 * Framing of messages, and how the end of a call is sent.
 * - `grpc`: trailers; HTTP/2 only.
 * - `grpc-web`: a last frame in the body, for browsers and HTTP/1.1; `grpc-web-text`: the same in base64.
 * - `connect`: a last JSON frame (the Connect protocol, streaming calls).
 */
export type WireProtocol = 'grpc' | 'grpc-web' | 'grpc-web-text' | 'connect'

/** Protocol of a call, determined by the content type of its request. */
export interface Wire {
  readonly protocol: WireProtocol
  /** Message encoding: `proto`, `json`, or another encoding supported by the backend. */
  readonly codec: string
  /** Content type of the response. */
  readonly contentType: string
}

const FORM =
  /^application\/(grpc-web-text|grpc-web|grpc|connect)(?:\+([a-z0-9.-]{1,32}))?[ \t]*(?:;|$)/i
/** Flags of the frames that end a response. */
const WEB_TRAILERS = 0x80
const CONNECT_END = 2
const STATUS = 'grpc-status'
const MESSAGE = 'grpc-message'

/**
 * Returns the protocol of a content type, or undefined if none.
 *
 * @param takesTrailers whether the client uses HTTP/2. Over HTTP/1.1, `application/grpc` is a message without frames
 * (reference: content types), not this protocol.
 */
export function findWire(
  contentType: string | undefined,
  takesTrailers: boolean,
): Wire | undefined {
  // Fast path for nearly all requests: this letter occurs in `application/grpc` and `application/connect`, and in few
  // other types.
  if (contentType === undefined || contentType.length < 16) return undefined
  const letter = contentType.charCodeAt(12) | 0x20
  if (letter !== 0x67 && letter !== 0x63) return undefined
  const match = FORM.exec(contentType)
  if (match === null) return undefined
  const protocol = match[1]!.toLowerCase() as WireProtocol
  const codec = match[2]?.toLowerCase()
  if (protocol === 'grpc' && !takesTrailers) return undefined
  if (protocol === 'connect' && codec === undefined) return undefined
  const suffix = codec === undefined ? '' : `+${codec}`
  return { protocol, codec: codec ?? 'proto', contentType: `application/${protocol}${suffix}` }
}

/** True if the end of a call is sent as trailers instead of in the body. */
export function isTrailing({ protocol }: Wire): boolean {
  return protocol === 'grpc'
}

/** Encodes body bytes: base64 for `grpc-web-text`, otherwise unchanged. */
export function toWireBytes({ protocol }: Wire, bytes: Uint8Array): Uint8Array {
  if (protocol !== 'grpc-web-text') return bytes
  const { buffer, byteOffset, length } = bytes
  return Buffer.from(Buffer.from(buffer, byteOffset, length).toString('base64'), 'latin1')
}

/** Formats the last frame of a response, for protocols that send the end in the body. */
export function formatEnd(wire: Wire, trailers: HeaderList): Uint8Array {
  return wire.protocol === 'connect'
    ? frameMessage(Buffer.from(formatConnectEnd(trailers)), CONNECT_END)
    : toWireBytes(wire, frameMessage(Buffer.from(trailers.format(), 'latin1'), WEB_TRAILERS))
}

/** Ends a response that has started. */
export function endReply(x: Exchange, wire: Wire, trailers: HeaderList): void {
  x.rpcStatus = Number(trailers.get(STATUS))
  if (isTrailing(wire)) return x.end(trailers)
  x.write(formatEnd(wire, trailers))
  x.end()
}

/** Builds an error of the Connect protocol: `{"code", "message"}`. */
export function toConnectError(trailers: HeaderList): { code: string; message?: string } {
  const message = trailers.get(MESSAGE)
  const code = toConnectCode(Number(trailers.get(STATUS)))
  return { code, ...(message !== undefined && { message: decodeMessage(message) }) }
}

function formatConnectEnd(trailers: HeaderList): string {
  const metadata: Record<string, string[]> = Object.create(null)
  const { flat } = trailers
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!
    if (name === STATUS || name === MESSAGE) continue
    metadata[name] ??= []
    metadata[name].push(flat[i + 1]!)
  }
  const isError = trailers.get(STATUS) !== '0'
  return JSON.stringify({
    ...(isError && { error: toConnectError(trailers) }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  })
}

import type { Transform } from 'node:stream'
import * as zlib from 'node:zlib'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import { rejectBody } from '../limits/memory-budget.ts'
import { countBuffered } from '../limits/request-buffers.ts'
import { badRequest, quote } from './bad-request.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Maximum size of a decoded body in relation to the encoded one, beyond {@link UNCHECKED_BYTES}. */
const MAX_RATIO = 200
/** 1 MiB: smaller bodies may have any ratio. */
const UNCHECKED_BYTES = 1024 * 1024

/** In Node.js from version 22.15; the types of version 20 lack it. */
const { createZstdDecompress } = zlib as { readonly createZstdDecompress?: () => Transform }

const DECODERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', zlib.createGunzip],
  ['x-gzip', zlib.createGunzip],
  ['deflate', zlib.createInflate],
  ['br', zlib.createBrotliDecompress],
  ...(createZstdDecompress === undefined ? [] : [['zstd', createZstdDecompress] as const]),
])
const SUPPORTED = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ')

/** Whether a request has a body with a content coding such as gzip (RFC 9110 §8.4). */
export function hasEncodedBody({ bodyLength, headers }: IncomingRequest): boolean {
  if (bodyLength === 0) return false
  const coding = headers.get('content-encoding')
  return coding !== undefined && coding !== '' && coding.toLowerCase() !== 'identity'
}

/**
 * Replaces an encoded request body with the decoded one, and removes `Content-Encoding`. Codings: gzip, deflate, br,
 * and zstd from Node.js 22.15. Resolves without a change if the exchange ends before.
 *
 * @param maxBytes maximum size, both encoded and decoded. `bodyLimit` also applies.
 * @throws {GatewayError} 415, with `Accept-Encoding` (RFC 9110 §12.5.3), if the coding is unsupported; 400 if the body
 *   is malformed; 413 if it is too long or expands more than 200 times; 503 if the process buffers too many bytes.
 */
export async function decodeBody(
  x: IncomingRequest,
  maxBytes: number,
  id: string = GATEWAY_ID,
): Promise<void> {
  const coding = x.headers.getAll('content-encoding').join(', ')
  const create = DECODERS.get(coding.toLowerCase())
  if (create === undefined) {
    const detail = `content coding must be one of ${SUPPORTED}, got ${quote(coding)}`
    throw new GatewayError(id, 415, detail, { headers: ['accept-encoding', SUPPORTED] })
  }
  const encoded = await x.readBody(maxBytes)
  const limit = Math.min(maxBytes, x.bodyLimit)
  const decoder = create()
  const chunks: Buffer[] = []
  let length = 0
  try {
    decoder.end(encoded)
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      if (x.finished) return
      length += chunk.length
      if (length > limit)
        throw new GatewayError(id, 413, `decoded request body must be at most ${limit} bytes`)
      if (length > UNCHECKED_BYTES && length > encoded.length * MAX_RATIO)
        throw new GatewayError(id, 413, `request body must not expand more than ${MAX_RATIO} times`)
      if (!x.reserveMemory(chunk.length)) throw rejectBody(id)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error
    const detail = `request body must be valid ${coding}: ${(error as Error).message}`
    throw badRequest(id, detail, error)
  } finally {
    decoder.destroy()
  }
  countBuffered(x, Math.max(0, x.bufferedBytes - length))
  x.replaceBody(Buffer.concat(chunks))
  x.headers.delete('content-encoding')
}

import type { Duplex } from 'node:stream'
import { ByteBuffer } from '../../lib/io/byte-buffer.ts'
import type { BufferedBodyChange, ReportFault, StreamedBodyChange } from '../chain.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { removeDigests } from '../http/content-digests.ts'
import { rejectResponse, replyMemory } from '../limits/memory-budget.ts'
import { toHookFailure } from './hook-failure.ts'

interface Change<T> {
  readonly item: T
  /** Index of the hook. */
  readonly index: number
}

/** Changes of a response body, in plugin order; buffered changes come first. */
export interface ReplyChanges {
  /** Undefined if the body needs no buffer. */
  readonly buffered: BufferedReplyChange | undefined
  readonly streamed: readonly Change<StreamedBodyChange>[]
}

/** Changes of a buffered body, in plugin order. */
export class BufferedReplyChange {
  /** Lowest limit of all changes, in bytes. */
  readonly maxBytes: number
  readonly #changes: readonly Change<BufferedBodyChange>[]
  readonly #received = new ByteBuffer()

  constructor(changes: readonly Change<BufferedBodyChange>[]) {
    this.#changes = changes
    this.maxBytes = Math.min(...changes.map(({ item }) => item.maxBytes))
  }

  /** Buffers a chunk of the body. Returns the error that replaces the response, or undefined. */
  add(chunk: Uint8Array, service: string | undefined): GatewayError | undefined {
    if (this.#received.length + chunk.length > this.maxBytes) return this.tooLong(service)
    if (replyMemory.usedBytes + chunk.length > replyMemory.maxBytes)
      return rejectResponse(service ?? GATEWAY_ID)
    this.#received.append(chunk)
    return undefined
  }

  /** Buffered bytes, valid until the next change. */
  get received(): Uint8Array {
    return this.#received.bytes
  }

  tooLong(service: string | undefined): GatewayError {
    const detail = `response body exceeds the limit of ${this.maxBytes} bytes for changes`
    return new GatewayError(service ?? GATEWAY_ID, 502, detail)
  }

  /** Returns the changed body. @throws {GatewayError} that replaces the response. */
  apply(
    x: Exchange,
    body: string | Uint8Array,
    onFault: ReportFault | undefined,
  ): string | Uint8Array {
    let changed = body
    for (const { item, index } of this.#changes) {
      const bytes = toBuffer(changed)
      if (bytes.length === 0) return changed
      if (bytes.length > this.maxBytes && changed === body) throw this.tooLong(x.route?.service)
      try {
        changed = item.change(bytes, x) ?? changed
      } catch (error) {
        throw toHookFailure(x, x.chain.stages.onReplyBody[index], error, onFault)
      }
    }
    return changed
  }
}

/**
 * Runs the `onReplyBody` hooks for a response with `x.status` and `x.replyHeaders`. If a hook changes the body, the
 * entity tag becomes weak, and digests and `Accept-Ranges` are removed.
 *
 * @param length bytes of the body; -1 if unknown.
 * @returns undefined if the body does not change.
 * @throws {GatewayError} that replaces the response, after reporting an unexpected error.
 */
export function findReplyChanges(
  x: Exchange,
  length: number,
  onFault: ReportFault | undefined,
): ReplyChanges | undefined {
  const { status, replyHeaders: headers } = x
  if (status === 206 || headers.get('content-type')?.startsWith('application/grpc'))
    return undefined
  const buffered: Change<BufferedBodyChange>[] = []
  const streamed: Change<StreamedBodyChange>[] = []
  for (const [index, hook] of x.chain.onReplyBody.entries()) {
    try {
      const change = hook(x, length)
      if (change === undefined) continue
      if ('change' in change) buffered.push({ item: change, index })
      else streamed.push({ item: change, index })
    } catch (error) {
      throw toHookFailure(x, x.chain.stages.onReplyBody[index], error, onFault)
    }
  }
  if (buffered.length + streamed.length === 0) return undefined
  const tag = headers.get('etag')
  // A strong tag would imply equal bytes (RFC 9110 §8.8.1).
  if (tag !== undefined && !tag.startsWith('W/')) headers.set('etag', `W/${tag}`)
  removeDigests(headers)
  headers.delete('accept-ranges')
  // After the hooks: they would take the body for encoded.
  for (const { item } of [...buffered, ...streamed])
    if (item.coding !== undefined && status !== 304) headers.append('content-encoding', item.coding)
  if (buffered.length > 1) buffered.sort((a, b) => hasCoding(a) - hasCoding(b))
  return {
    buffered: buffered.length > 0 ? new BufferedReplyChange(buffered) : undefined,
    streamed,
  }
}

/** Creates the streams of a response. @throws {GatewayError} after reporting an unexpected error. */
export function createBodyStreams(
  x: Exchange,
  changes: ReplyChanges['streamed'],
  onFault: ReportFault | undefined,
): Duplex[] {
  const streams: Duplex[] = []
  for (const { item, index } of changes) {
    try {
      streams.push(item.createStream(x))
    } catch (error) {
      for (const stream of streams) stream.destroy()
      throw toHookFailure(x, x.chain.stages.onReplyBody[index], error, onFault)
    }
  }
  return streams
}

function hasCoding({ item }: Change<BufferedBodyChange>): number {
  return Number(item.coding !== undefined)
}

/** Converts without copying bytes. */
function toBuffer(body: string | Uint8Array): Buffer {
  return typeof body === 'string'
    ? Buffer.from(body)
    : Buffer.from(body.buffer, body.byteOffset, body.length)
}

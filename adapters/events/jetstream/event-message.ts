import type { Msg, MsgHdrs, MsgImpl } from '@nats-io/transport-node'
import type { NewEvent, StoredEvent } from '../../../core/contracts/events.ts'
import { toDigestId } from '../../../domain/events/digest-id.ts'
import { createNullProto } from '../../../lib/object/null-proto.ts'
import type { Delivered } from './consumers/ack-subject.ts'

/** Encoded headers as the library expects them, with their length in bytes. */
export interface EncodedHeaders {
  readonly headers: MsgHdrs
  readonly bytes: number
}

/** Maximum length of the headers without id and metadata. */
export const MAX_HEAD_BYTES = 128
const NO_METADATA = {}
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** Encodes everything except the payload. The server deduplicates events by id. */
export function encodeHeaders({ id, timestampMs, metadata }: NewEvent): EncodedHeaders {
  let text = `NATS/1.0\r\nNats-Msg-Id: ${id}\r\nMx-Timestamp: ${timestampMs}\r\n`
  for (const _ in metadata) {
    text += `Mx-Metadata: ${JSON.stringify(metadata)}\r\n`
    break
  }
  const block = Buffer.from(`${text}\r\n`)
  // The library calls only this method; its own encoder would validate each header.
  return { headers: { encode: () => block } as unknown as MsgHdrs, bytes: block.length }
}

/**
 * Decodes a message into an event with a copy of the payload. For messages from other publishers,
 * the timestamp is the storage time, the metadata contains the headers, and the id is derived from
 * the position.
 */
export function decodeEvent(message: Msg, { sequence, storedMs }: Delivered): StoredEvent {
  const head = readHead(message)
  const payload = new Uint8Array(message.data)
  const timestampMs = Number(findHeader(head, 'Mx-Timestamp') ?? Number.NaN)
  const id = findHeader(head, 'Nats-Msg-Id') ?? ''
  if (Number.isSafeInteger(timestampMs) && UUID.test(id)) {
    const json = findHeader(head, 'Mx-Metadata')
    return { sequence, id, timestampMs, metadata: parseMetadata(json), payload }
  }
  const metadata: Record<string, string> = createNullProto()
  for (const [name, values] of message.headers ?? []) metadata[name] = values.join(', ')
  const made = toDigestId(`${message.subject}\0${sequence}`)
  return { sequence, id: made, timestampMs: storedMs, metadata, payload }
}

/** Returns the header block as text; the library's own parser would split all headers. */
function readHead(message: Msg): string {
  const { _rdata: bytes, _msg } = message as MsgImpl
  return _msg.hdr > 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, _msg.hdr).toString() : ''
}

function findHeader(head: string, name: string): string | undefined {
  const start = head.indexOf(`\r\n${name}: `)
  if (start < 0) return undefined
  return head.slice(start + name.length + 4, head.indexOf('\r\n', start + 2))
}

function parseMetadata(json: string | undefined): StoredEvent['metadata'] {
  if (json === undefined) return NO_METADATA
  try {
    const metadata: unknown = JSON.parse(json)
    const isMetadata =
      typeof metadata === 'object' &&
      metadata !== null &&
      Object.values(metadata).every((value) => typeof value === 'string')
    return isMetadata ? (metadata as StoredEvent['metadata']) : NO_METADATA
  } catch {
    return NO_METADATA
  }
}

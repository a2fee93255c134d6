import type { Msg, MsgHdrs, MsgImpl } from '@nats-io/transport-node'
import type { NewEvent, StoredEvent } from '../../../core/contracts/events.ts'
import { toDigestId } from '../../../domain/events/digest-id.ts'
import { createNullProto } from '../../../lib/object/null-proto.ts'
import type { Delivered } from './consumers/ack-subject.ts'

/** Headers as the library takes them, and their length. */
export interface EncodedHeaders {
  readonly headers: MsgHdrs
  readonly bytes: number
}

/** Length of the headers besides the id and the metadata: not more. */
export const MAX_HEAD_BYTES = 128
const NO_METADATA = {}
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** What an event has besides its payload, which is the message: the server knows by the id what it has already. */
export function encodeHeaders({ id, timestampMs, metadata }: NewEvent): EncodedHeaders {
  let text = `NATS/1.0\r\nNats-Msg-Id: ${id}\r\nMx-Timestamp: ${timestampMs}\r\n`
  for (const _ in metadata) {
    text += `Mx-Metadata: ${JSON.stringify(metadata)}\r\n`
    break
  }
  const block = Buffer.from(`${text}\r\n`)
  // All the library does with headers it publishes; its own would be checked field by field.
  return { headers: { encode: () => block } as unknown as MsgHdrs, bytes: block.length }
}

/**
 * The event of a message, copied out of what else has come with it. Anybody may publish on a server: a message that is none of ours
 * happened when it was stored, has its headers as metadata, and an id of its place.
 */
export function decodeEvent(message: Msg, { sequence, storedMs }: Delivered): StoredEvent {
  const head = readHead(message)
  const payload = new Uint8Array(message.data)
  const timestampMs = Number(findField(head, 'Mx-Timestamp') ?? Number.NaN)
  const id = findField(head, 'Nats-Msg-Id') ?? ''
  if (Number.isSafeInteger(timestampMs) && UUID.test(id)) {
    const json = findField(head, 'Mx-Metadata')
    return { sequence, id, timestampMs, metadata: parseMetadata(json), payload }
  }
  const metadata: Record<string, string> = createNullProto()
  for (const [name, values] of message.headers ?? []) metadata[name] = values.join(', ')
  const made = toDigestId(`${message.subject}\0${sequence}`)
  return { sequence, id: made, timestampMs: storedMs, metadata, payload }
}

/** The block of headers, read from its bytes: the library's own would split what is not needed. */
function readHead(message: Msg): string {
  const { _rdata: bytes, _msg } = message as MsgImpl
  return _msg.hdr > 0 ? Buffer.from(bytes.buffer, bytes.byteOffset, _msg.hdr).toString() : ''
}

function findField(head: string, name: string): string | undefined {
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

/** Service of the RPC scenarios, in the default namespace. */
export const SERVICE = 'helloworld'

export interface Small {
  readonly message: string
  readonly id: number
  readonly tags: string[]
  readonly ok: boolean
}

/** Response of most scenarios: 62 bytes of JSON. */
export const SMALL: Small = { message: 'Hello John', id: 12345, tags: ['a', 'b'], ok: true }
export const SMALL_JSON: string = JSON.stringify(SMALL)

/** {@link SMALL} as the message `bench.Response` of helloworld.proto. */
export const SMALL_PROTOBUF: Buffer = Buffer.from(
  '0a0a48656c6c6f204a6f686e10b9601a01611a01622001',
  'hex',
)
/** `{"name":"John"}` as the message `bench.Request`. */
export const NAME_PROTOBUF: Buffer = Buffer.from('0a044a6f686e', 'hex')

/** Frames a gRPC message with a length prefix and no compression. */
export function toGrpcMessage(body: Uint8Array): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

/** A list of items with padding. */
export interface Large {
  readonly items: { id: number; name: string; price: number; tags: string[] }[]
  readonly note: string
}

/** Exactly 10 KiB of JSON. */
export const LARGE: Large = createLarge(10 * 1024)
export const LARGE_JSON: string = JSON.stringify(LARGE)

/** Message of a stream. */
export interface Tick {
  readonly sequence: number
  readonly message: string
}

export function createTick(sequence: number): Tick {
  return { sequence, message: 'Hello John' }
}

/** Delay of a slow response. */
export const SLOW_MS = 2000
/** Interval between the messages of a slow stream. */
export const TICK_MS = 20

function createLarge(bytes: number): Large {
  const items = Array.from({ length: 150 }, (_, i) => ({
    ...{ id: 1000 + i, name: `item number ${100 + i}`, price: 0.25 * i },
    tags: ['a', 'b'],
  }))
  const remaining = bytes - JSON.stringify({ items, note: '' }).length
  return { items, note: 'x'.repeat(remaining) }
}

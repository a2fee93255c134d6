import type { FileHandle } from 'node:fs/promises'
import { acquireBuffer, releaseBuffer } from '../../lib/io/buffer-pool.ts'
import { GATEWAY_ID, GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { HeaderList } from '../http/headers.ts'
import { rejectResponse } from '../limits/memory-budget.ts'
import { beginWait, endWait, type WaitingReply } from '../limits/waiting-replies.ts'
import type { Peer } from '../request/incoming-request.ts'
import type { ByteRange } from './byte-range.ts'

const CHUNK_BYTES = 64 * 1024

/**
 * Sends a part of a file at the client's pace. If the file is truncated in the meantime, the connection is closed so
 * that the client detects it. Does not close the file.
 */
export async function sendFile(
  x: Exchange,
  handle: FileHandle,
  status: number,
  headers: HeaderList,
  { start, length }: ByteRange,
): Promise<void> {
  if (x.method === 'HEAD') {
    x.start(status, headers, length)
    return x.end()
  }
  const read = async (memory: Uint8Array, at: number, bytes: number): Promise<Uint8Array> => {
    const { bytesRead } = await handle.read(memory, 0, bytes, at)
    if (bytesRead > 0 || bytes === 0) return memory.subarray(0, bytesRead)
    throw new GatewayError(GATEWAY_ID, 500, 'file truncated while it was being sent')
  }
  if (length <= CHUNK_BYTES) {
    const body = await readFully(read, start, length)
    return x.send(status, headers, body)
  }
  const stream = new FileStream(x)
  x.setPeer(stream)
  x.start(status, headers, length)
  const end = start + length
  for (let at = start; at < end && !x.finished; ) {
    const memory = acquireBuffer(CHUNK_BYTES)
    try {
      const chunk = await read(memory, at, Math.min(CHUNK_BYTES, end - at))
      at += chunk.length
      stream.isReady = x.write(chunk)
    } finally {
      releaseBuffer(memory)
    }
    if (!stream.isReady) await stream.untilReady()
  }
  x.end()
}

async function readFully(
  read: (memory: Uint8Array, at: number, bytes: number) => Promise<Uint8Array>,
  start: number,
  length: number,
): Promise<Uint8Array> {
  const body = Buffer.allocUnsafe(length)
  for (let done = 0; done < length; )
    done += (await read(body.subarray(done), start + done, length - done)).length
  return body
}

/** A file response that waits for a slow client. */
class FileStream implements Peer, WaitingReply {
  isReady = true
  readonly #x: Exchange
  #resolve: () => void = () => {}

  constructor(x: Exchange) {
    this.#x = x
  }

  untilReady(): Promise<void> {
    if (this.isReady || this.#x.finished) return Promise.resolve()
    return new Promise((resolve) => {
      this.#resolve = resolve
      beginWait(this, CHUNK_BYTES)
    })
  }

  onRequestBody(): void {}

  onDrain(): void {
    endWait(this)
    this.isReady = true
    this.#resolve()
  }

  onAbort(): void {
    this.onDrain()
  }

  abortWaiting(): void {
    this.#x.abortWith(rejectResponse(GATEWAY_ID))
  }
}

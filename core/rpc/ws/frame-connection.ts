import { CallTable } from './call-table.ts'
import { type CallWindows, consumeBody, receiveCredit } from './flow-control.ts'
import type { FrameSocket } from './frame-socket.ts'
import type { FrameWriter } from './frame-writer.ts'
import { frameCost, PAYLOAD_MAX_BYTES, type ProtocolError } from './frames.ts'

/** A call as seen by its connection, at either end. */
export interface ConnectionCall extends CallWindows {
  readonly id: number
  /** Whether {@link FrameConnection.sendData} rejected a body and the call waits for credit. */
  isBlocked: boolean
}

/**
 * One end of a connection (docs/protocol.md §2): its calls, their windows, and the calls blocked by a slow socket.
 *
 * Uses no `#` fields because it is extended (docs/decisions/2026-11-22-fields-are-assigned.md).
 */
export abstract class FrameConnection<C extends ConnectionCall> {
  closed = false
  protected readonly calls: CallTable<C> = new CallTable()
  protected readonly payloadMaxBytes: number
  protected socket!: FrameSocket
  protected writer!: FrameWriter
  /** Calls blocked by a slow socket. */
  private blockedCalls: Set<C> = new Set()

  constructor(payloadMaxBytes: number = PAYLOAD_MAX_BYTES) {
    this.payloadMaxBytes = payloadMaxBytes
  }

  /** Number of calls in flight. */
  get pending(): number {
    return this.calls.size
  }

  /** Called when the call may send bodies again. */
  protected abstract onCredit(call: C): void

  /**
   * Sends a body of a call.
   *
   * @returns false if it cannot be sent now; `onCredit` follows.
   * @throws {RangeError} if the body is too long.
   */
  sendData(call: C, body: string | Uint8Array): boolean {
    if (call.sendWindow <= 0 || this.writer.blocked) {
      call.isBlocked = true
      if (call.sendWindow > 0) this.blockedCalls.add(call)
      return false
    }
    const bytes = this.writer.data(call.id, body)
    if (bytes < 0) throw new RangeError(`body must be at most ${this.payloadMaxBytes} bytes`)
    call.sendWindow -= frameCost(bytes)
    return true
  }

  /** Returns flow-control credit for a body of this size. */
  consumed(call: C, bytes: number): void {
    const credit = consumeBody(call, bytes)
    if (credit > 0) this.writer.credit(call.id, credit)
  }

  /** Removes a call from the table. @returns false if the table does not contain it. */
  protected remove(call: C): boolean {
    if (call.isBlocked) this.blockedCalls.delete(call)
    return this.calls.delete(call.id)
  }

  /** Applies a CREDIT. */
  protected credit(call: C, bytes: number): ProtocolError | undefined {
    const breach = receiveCredit(call, bytes)
    if (breach === undefined) this.unblock(call)
    return breach
  }

  /** Resumes blocked calls when the socket has drained. */
  protected resumeCalls(): void {
    const { blockedCalls } = this
    if (blockedCalls.size === 0 || this.writer.blocked) return
    this.blockedCalls = new Set()
    for (const call of blockedCalls) this.unblock(call)
  }

  private unblock(call: C): void {
    if (!call.isBlocked || call.sendWindow <= 0) return
    if (this.writer.blocked) {
      this.blockedCalls.add(call)
      return
    }
    call.isBlocked = false
    this.onCredit(call)
  }
}

/** Returns the bytes of a message as a `Buffer` without copying. */
export function toBuffer(data: Uint8Array): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
}

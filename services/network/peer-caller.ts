import type { GatewayError } from '../../core/errors.ts'
import { type Carrier, OutgoingCall, type TransportFailure } from '../../core/rpc/call.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import { deadlines } from '../../core/rpc/deadlines.ts'

/** Traffic to a peer since counting started. */
export interface Traffic {
  calls: number
  /** Calls without a result or with a status of 500 or above. */
  failures: number
  /** Number of request bytes. */
  sentBytes: number
  /** Number of response bytes. */
  receivedBytes: number
}

export function createTraffic(): Traffic {
  return { calls: 0, failures: 0, sentBytes: 0, receivedBytes: 0 }
}

export interface PeerCallerOptions {
  readonly caller: Caller
  readonly traffic: Traffic
  /** Called before the caller if the peer does not accept the connection. */
  readonly onDenied: (detail: string) => void
}

/** Forwards calls to `caller` and counts their traffic. */
export function createPeerCaller(options: PeerCallerOptions): Caller {
  const { caller, traffic } = options
  return {
    get pending() {
      return caller.pending
    },
    call(call) {
      traffic.calls++
      caller.call(new CountedCall(call, options))
    },
    drain: () => caller.drain(),
    close: () => caller.close(),
  }
}

/** A call in flight to a peer that replaces the original call. */
class CountedCall extends OutgoingCall {
  readonly #call: OutgoingCall
  readonly #traffic: Traffic
  readonly onDenied: PeerCallerOptions['onDenied']

  constructor(call: OutgoingCall, { traffic, onDenied: onRefused }: PeerCallerOptions) {
    super()
    this.#call = call
    this.#traffic = traffic
    this.onDenied = onRefused
    this.service = call.service
    this.endpoint = call.endpoint
    this.metadata = call.metadata
    // Only the remaining time counts, because the original call may have been sent earlier.
    const isTimed = call.timeoutMs > 0 && call.timedNext !== undefined
    this.timeoutMs = isTimed ? Math.ceil(deadlines.left(call)) : call.timeoutMs
    this.body = call.body
    this.ascii = call.ascii
    this.sentMs = call.sentMs
    this.stream = call.stream
    this.more = call.more
    traffic.sentBytes += toBytes(call.body)
    call.carrier = new CallerEnd(this)
    call.isBlocked = false
    call.started = false
    call.halfClosed = false
    call.answering = false
  }

  /** Returns false if blocked. The caller is notified when it may continue. */
  send(call: OutgoingCall, body: string | Uint8Array): boolean {
    if (!this.sendData(body)) {
      call.isBlocked = true
      return false
    }
    call.started = true
    this.#traffic.sentBytes += toBytes(body)
    return true
  }

  override onReply(metadata: string, body: Uint8Array): void {
    this.#traffic.receivedBytes += body.length
    this.#call.release()
    this.#call.onReply(metadata, body)
  }

  override onStart(metadata: string): void {
    this.#call.answering = true
    this.#call.onStart(metadata)
  }

  override onData(body: Uint8Array): void {
    this.#traffic.receivedBytes += body.length
    this.#call.answering = true
    this.#call.onData(body)
  }

  override onEnd(): void {
    this.#call.release()
    this.#call.onEnd()
  }

  override onCredit(): void {
    this.#call.isBlocked = false
    this.#call.onCredit()
  }

  override onFail(error: GatewayError, isUntyped?: boolean): void {
    if (error.code >= 500) this.#traffic.failures++
    this.#call.release()
    this.#call.onFail(error, isUntyped)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    this.#traffic.failures++
    this.#call.release()
    if (kind === 'connect' || kind === 'foreign') this.onDenied(detail)
    this.#call.onLost(kind, detail)
  }
}

/** Ends the original call. */
class CallerEnd implements Carrier {
  readonly #counted: CountedCall

  constructor(counted: CountedCall) {
    this.#counted = counted
  }

  sendData(call: OutgoingCall, body: string | Uint8Array): boolean {
    return this.#counted.send(call, body)
  }

  endData(call: OutgoingCall): void {
    if (!call.more || call.halfClosed) return
    call.halfClosed = true
    this.#counted.endData()
  }

  consumed(_call: OutgoingCall, bytes: number): void {
    this.#counted.consumed(bytes)
  }

  cancel(call: OutgoingCall): void {
    this.#counted.cancel()
    call.release()
  }

  expire(call: OutgoingCall): void {
    this.#counted.cancel()
    call.release()
    call.onLost('timeout', `no response within ${call.timeoutMs} ms`)
  }
}

function toBytes(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

import { GatewayError } from '../../core/errors.ts'
import { RawJson } from '../../core/request/json/written-json.ts'
import {
  type CallReceiver,
  type CancelReason,
  type Carrier,
  type IncomingCall,
  NOOP_RECEIVER,
  type OutgoingCall,
} from '../../core/rpc/call.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import { deadlines } from '../../core/rpc/deadlines.ts'
import { toFailFields } from '../../core/rpc/error-codec.ts'
import { frameCost } from '../../core/rpc/ws/frames.ts'
import { json } from '../codec/codec.ts'
import { cloneJson, NOT_CLONEABLE } from '../schema/clone-json.ts'
import type { Dispatcher } from '../service/dispatch.ts'
import type { ServableCall } from '../service/served-call.ts'
import { Credit, VALUE_COST } from './streams/credit.ts'

/** A call that may stay within the process: `RoutedCall`. */
interface LocalCalling {
  readonly isLocal: boolean
  /** The request; owned by the service from then on. */
  takeValue(): unknown
}

/**
 * Calls a service in this process, without sockets.
 *
 * The semantics are the same as over a connection: the handler runs after `call` has returned, no objects are shared,
 * streams have flow control, and deadlines and cancellation reach the handler. Calls of this SDK carry values; other
 * calls, such as from a gateway, carry bytes or text.
 */
export class InProcessCaller implements Caller {
  readonly #dispatcher: Dispatcher
  readonly #calls = new Set<LocalCall>()
  /** Reason for rejecting calls; undefined while they are accepted. */
  #denied: 'unsent' | 'connect' | undefined = undefined

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher
  }

  get pending(): number {
    return this.#calls.size
  }

  readonly call = (call: OutgoingCall): void => {
    if (this.#denied !== undefined) {
      call.release()
      call.onLost(this.#denied, `${this.#dispatcher.service} has stopped`)
      return
    }
    new LocalCall(call, this.#dispatcher, this.#calls).begin()
  }

  /** Rejects new calls; calls in flight continue. */
  readonly drain = (): void => {
    this.#denied ??= 'unsent'
  }

  /** Rejects new calls and fails the calls in flight. */
  readonly close = (): void => {
    this.#denied = 'connect'
    for (const call of [...this.#calls]) call.disconnect('the service has stopped')
  }
}

/**
 * Prepares a value for a service in this process: a copy, or JSON text.
 *
 * @throws {TypeError} if JSON cannot represent it.
 */
export function toLocalValue(value: unknown): unknown {
  if (value instanceof RawJson) return value
  const copied = cloneJson(value)
  return copied === NOT_CLONEABLE ? new RawJson(json.encode(value) as string) : copied
}

/** Schedules a microtask at half the cost of `queueMicrotask`. */
const NOW = Promise.resolve()

/** Calls dispatched after the current function returns, in one microtask. */
let dispatchedCalls: LocalCall[] = []

function serveDispatched(): void {
  const calls = dispatchedCalls
  dispatchedCalls = []
  let next = 0
  try {
    while (next < calls.length) calls[next++]!.serve()
  } finally {
    // An exception in a listener must not affect the other calls.
    if (next < calls.length) {
      dispatchedCalls = [...calls.slice(next), ...dispatchedCalls]
      void NOW.then(serveDispatched)
    }
  }
}

/** The service side of a call within the process. */
class LocalCall implements ServableCall {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  readonly timeoutMs: number
  readonly body: unknown
  readonly stream: boolean
  readonly more: boolean
  receiver: CallReceiver = NOOP_RECEIVER
  isSettled = false
  readonly #call: OutgoingCall
  readonly #dispatcher: Dispatcher
  readonly #calls: Set<LocalCall>
  readonly #isLocal: boolean
  /** True once the service has received the call. */
  #dispatched = false
  /** True once the caller has sent its last body. */
  #isEnded = false
  /** Flow control of both directions, created on demand. */
  #up: Credit | undefined = undefined
  #down: Credit | undefined = undefined

  constructor(call: OutgoingCall, dispatcher: Dispatcher, calls: Set<LocalCall>) {
    const isLocal = (call as Partial<LocalCalling>).isLocal === true
    this.service = call.service
    this.endpoint = call.endpoint
    this.metadata = call.metadata
    this.timeoutMs = call.timeoutMs
    this.body = isLocal ? (call as OutgoingCall & LocalCalling).takeValue() : call.body
    this.stream = call.stream
    this.more = call.more
    this.#call = call
    this.#dispatcher = dispatcher
    this.#calls = calls
    this.#isLocal = isLocal
  }

  begin(): void {
    const call = this.#call
    call.carrier = new LocalCarrier(this)
    call.isBlocked = false
    call.started = false
    call.answering = false
    // As over a socket, the service runs after the caller's function has returned.
    if (dispatchedCalls.push(this) === 1) void NOW.then(serveDispatched)
  }

  serve(): void {
    if (this.isSettled) return
    const call = this.#call
    this.#dispatched = true
    if (this.#isLocal) this.#dispatcher.dispatchLocal(this)
    else this.#dispatcher.dispatchTrusted(this as ServableCall as IncomingCall)
    // Calls that respond synchronously never enter the set and the timing wheel.
    if (this.isSettled) return
    this.#calls.add(this)
    if (this.timeoutMs > 0 && call.timedNext === undefined) deadlines.add(call, this.timeoutMs)
    if (this.#isEnded) this.receiver.onEnd()
    else if (call.isBlocked) this.#resume()
  }

  // From the service

  reply(metadata: string, body: unknown): void {
    if (this.#finish()) this.#call.onReply(metadata, this.#toReceived(body))
  }

  fail(error: GatewayError): void {
    if (!this.#finish()) return
    const { id, code, message, headers } = error
    const repeatable = error.repeatable && this.receiver.repeatable !== false
    const fields = headers === undefined ? [] : toFailFields(headers)
    // As over a socket, the cause of an error stays within the service.
    const options = { repeatable, ...(fields.length > 0 && { headers: fields }) }
    this.#call.onFail(new GatewayError(id, code, message, options))
  }

  start(metadata: string): void {
    this.#call.answering = true
    this.#call.onStart(metadata)
  }

  sendData(body: unknown): boolean {
    if (this.isSettled) return true
    this.#down ??= new Credit(() => {
      if (!this.isSettled) this.receiver.onCredit()
    })
    const received = this.#toReceived(body)
    if (!this.#down.take(this.#frameCost(received))) return false
    this.#call.answering = true
    this.#call.onData(received)
    return true
  }

  endData(): void {
    if (this.#finish()) this.#call.onEnd()
  }

  consumed(bytes: number): void {
    this.#up?.consumed(this.#isLocal ? VALUE_COST : frameCost(bytes))
  }

  // From the caller

  /** @returns false when the window is exhausted. */
  takeData(body: unknown): boolean {
    if (this.#isEnded || !this.more) throw new Error('endData was already called')
    this.#up ??= new Credit(() => this.#resume())
    const received = this.#toReceived(body)
    if (!this.#dispatched || !this.#up.take(this.#frameCost(received))) {
      this.#call.isBlocked = true
      return false
    }
    this.#call.started = true
    this.receiver.onData(received)
    return true
  }

  takeEnd(): void {
    if (this.#isEnded || !this.more) return
    this.#isEnded = true
    if (this.#dispatched) this.receiver.onEnd()
  }

  takeConsumed(bytes: number): void {
    this.#down?.consumed(this.#isLocal ? VALUE_COST : frameCost(bytes))
  }

  /** Cancels the call. Returns false if it had already ended. */
  cancel(reason: CancelReason): boolean {
    if (!this.#finish()) return false
    this.receiver.onCancel(reason)
    return true
  }

  expire(): void {
    if (this.cancel('timeout'))
      this.#call.onLost('timeout', `no response within ${this.timeoutMs} ms`)
  }

  /** Fails the call because the service was closed. */
  disconnect(detail: string): void {
    if (this.cancel('closed')) this.#call.onLost('closed', detail)
  }

  #resume(): void {
    if (this.isSettled) return
    this.#call.isBlocked = false
    this.#call.onCredit()
  }

  #finish(): boolean {
    if (this.isSettled) return false
    this.isSettled = true
    this.#calls.delete(this)
    this.#call.release()
    return true
  }

  /** Flow-control cost of a body. */
  #frameCost(body: Uint8Array): number {
    return this.#isLocal ? VALUE_COST : frameCost(body.length)
  }

  /** Converts text to bytes, as a connection would; other values are unchanged. */
  #toReceived(body: unknown): Uint8Array {
    return typeof body === 'string' && !this.#isLocal ? Buffer.from(body) : (body as Uint8Array)
  }
}

/** The caller side of a call within the process. */
class LocalCarrier implements Carrier {
  readonly #call: LocalCall

  constructor(call: LocalCall) {
    this.#call = call
  }

  sendData(_call: OutgoingCall, body: string | Uint8Array): boolean {
    return this.#call.takeData(body)
  }

  endData(): void {
    this.#call.takeEnd()
  }

  consumed(_call: OutgoingCall, bytes: number): void {
    this.#call.takeConsumed(bytes)
  }

  cancel(): void {
    this.#call.cancel('cancel')
  }

  expire(): void {
    this.#call.expire()
  }
}

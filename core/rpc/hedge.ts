import { tickNow } from '../../lib/time/tick-clock.ts'
import type { GatewayError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import {
  type Attempts,
  beginAttempt,
  endAttempt,
  mayRace,
  pickNode,
  recordFailure,
  recordSuccess,
} from '../upstream/attempts.ts'
import { isGatewayError } from '../upstream/health/outlier-detection.ts'
import type { UpstreamNode } from '../upstream/node/upstream-node.ts'
import type { HedgeOptions } from '../upstream/retry/hedge-options.ts'
import { Race, type Racer } from '../upstream/retry/race.ts'
import { type Carrier, OutgoingCall, type TransportFailure } from './call.ts'
import { deadlines } from './deadlines.ts'
import { toAttemptFailure } from './transport-error.ts'

/** A call whose service may be sent the same request twice. */
export interface HedgeableCall extends OutgoingCall, Attempts, Pick<Racer, 'cancelAttempt'> {
  /** Undefined if the call is not hedged, or has a response. */
  race: CallRace | undefined
}

/**
 * The attempts of a hedged call, of which the first response wins. An error is the result only if no other attempt is
 * in flight.
 */
export class CallRace extends Race<Attempts & Racer> {
  readonly #call: HedgeableCall
  readonly #options: HedgeOptions
  readonly #x: Exchange | undefined

  /** @param x undefined for a call that is not an HTTP request. */
  constructor(call: HedgeableCall, options: HedgeOptions, x: Exchange | undefined) {
    super(call)
    this.#call = call
    this.#options = options
    this.#x = x
  }

  /** Hedges the call if the attempt that starts has no response in time. */
  start(): void {
    const { after, max } = this.#options
    if (this.added >= max) return
    const afterMs = after === 'p95' ? this.#call.upstream!.p95Ms : after
    if (afterMs !== undefined) this.wait(afterMs, () => this.#hedge())
  }

  /** Cancels the other attempts, because this attempt has received a response. */
  win(winner: Attempts & Racer): void {
    const call = this.#call
    const nowMs = tickNow()
    // Without the canceled attempts, each hedge would lower the percentile.
    for (const { inFlight, attemptStartMs } of this.racers)
      if (inFlight) call.upstream!.observe(nowMs - attemptStartMs)
    this.end(winner)
    call.race = undefined
  }

  /** Makes the last attempt in flight the attempt of the call. */
  adopt(hedge: Attempts): void {
    const call = this.#call
    this.racers = [call]
    call.node = hedge.node
    call.inFlight = hedge.inFlight
    call.isAwaited = hedge.isAwaited
    call.isRetrying = hedge.isRetrying
    call.attemptStartMs = hedge.attemptStartMs
    hedge.inFlight = false
    hedge.isRetrying = false
    if (this.#x !== undefined) this.#x.node = hedge.node!.id
  }

  #hedge(): void {
    const hedge = new Hedge(this.#call, this)
    hedge.tried = this.racers.flatMap(({ node }) => node ?? [])
    if (!mayRace(hedge)) return
    const node = pickNode(hedge, this.#x)
    if (node === undefined) return endAttempt(hedge)
    this.add(hedge)
    this.start()
    if (this.#x !== undefined) this.#x.attempts++
    hedge.send(node)
  }
}

/** An additional attempt of a call. The call adopts the attempt that wins, and receives its events. */
class Hedge extends OutgoingCall implements Attempts, Racer {
  readonly upstream: Attempts['upstream']
  node: UpstreamNode | undefined = undefined
  attempts = 0
  tried: UpstreamNode[] | undefined = undefined
  inFlight = false
  isAwaited = false
  isRetrying = false
  attemptStartMs = 0
  readonly #call: HedgeableCall
  readonly #race: CallRace
  #isAdopted = false

  constructor(call: HedgeableCall, race: CallRace) {
    super()
    this.#call = call
    this.#race = race
    this.upstream = call.upstream
    this.service = call.service
    this.endpoint = call.endpoint
    this.metadata = call.metadata
    this.body = call.body
    this.ascii = call.ascii
    this.stream = call.stream
  }

  get routeName(): string {
    return this.#call.routeName
  }

  get retry(): Attempts['retry'] {
    return this.#call.retry
  }

  send(node: UpstreamNode): void {
    beginAttempt(this, node)
    const call = this.#call
    if (call.deadlineMs > 0) {
      const leftMs = deadlines.left(call)
      if (call.timeoutMs > 0) this.timeoutMs = Math.ceil(leftMs)
      else deadlines.add(this, leftMs)
    }
    node.caller.call(this)
  }

  cancelAttempt(): void {
    endAttempt(this)
    this.cancel()
  }

  // Events from the service

  override onReply(metadata: string, body: Uint8Array): void {
    this.#win()
    this.#call.onReply(metadata, body)
  }

  override onStart(metadata: string): void {
    this.#begin()
    this.#call.onStart(metadata)
  }

  override onData(body: Uint8Array): void {
    this.#begin()
    this.#call.onData(body)
  }

  override onEnd(): void {
    this.#win()
    this.#call.release()
    this.#call.onEnd()
  }

  override onFail(error: GatewayError, isUntyped = false): void {
    if (this.#adoptLast()) return this.#call.onFail(error, isUntyped)
    if (isUntyped && isGatewayError(error.code)) recordFailure(this, 'gateway')
    else recordSuccess(this)
    endAttempt(this)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    if (this.#adoptLast()) return this.#call.onLost(kind, detail)
    recordFailure(this, toAttemptFailure(kind))
    endAttempt(this)
  }

  #win(): void {
    if (this.#isAdopted) return
    this.#isAdopted = true
    this.#race.win(this)
    this.#race.adopt(this)
  }

  /** Wins with the start of a stream, whose transport the call uses from then on. */
  #begin(): void {
    if (this.#isAdopted) return
    this.#win()
    // A deadline that was not sent to the service only limits the time to the start of a stream.
    if (this.timeoutMs === 0) deadlines.remove(this)
    this.#call.carrier = new HedgeCarrier(this)
  }

  /** Whether the call fails with this attempt. If other attempts are in flight, this one leaves the race. */
  #adoptLast(): boolean {
    if (!this.#isAdopted) {
      if (this.#race.remove(this)) return false
      this.#isAdopted = true
      this.#race.adopt(this)
    }
    this.#call.release()
    return true
  }
}

/** Transport of a call with a stream that its hedge receives. */
class HedgeCarrier implements Carrier {
  readonly #hedge: Hedge

  constructor(hedge: Hedge) {
    this.#hedge = hedge
  }

  sendData(): boolean {
    throw new Error('endData was already called')
  }

  endData(): void {}

  consumed(_call: OutgoingCall, bytes: number): void {
    this.#hedge.consumed(bytes)
  }

  cancel(call: OutgoingCall): void {
    call.release()
    this.#hedge.cancel()
  }

  expire(call: OutgoingCall): void {
    this.cancel(call)
    call.onLost('timeout', `no response within ${call.timeoutMs} ms`)
  }
}

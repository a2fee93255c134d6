import { OutgoingCall, type TransportFailure } from '../../core/rpc/call.ts'
import { Channel } from '../../core/rpc/ws/channel.ts'

/** Result of a load of calls. */
export interface CallLoad {
  readonly calls: number
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly errors: number
}

/** A caller in a closed loop. */
class Caller extends OutgoingCall {
  readonly times: number[] = []
  errors = 0
  readonly #channel: Channel
  readonly #endMs: number
  readonly #onEnd: () => void
  #startMs = 0

  constructor(channel: Channel, service: string, endMs: number, onEnd: () => void) {
    super()
    this.#channel = channel
    this.service = service
    this.endpoint = 'Helloworld.Call'
    this.body = '{"name":"John"}'
    this.#endMs = endMs
    this.#onEnd = onEnd
  }

  call(): void {
    this.#startMs = performance.now()
    if (this.#startMs >= this.#endMs) return this.#onEnd()
    this.timeoutMs = 10_000
    this.id = 0
    this.#channel.call(this)
  }

  override onReply(): void {
    this.times.push(performance.now() - this.#startMs)
    this.call()
  }

  override onFail(): void {
    this.errors++
    this.call()
  }

  override onLost(_kind: TransportFailure, detail: string): void {
    throw new Error(detail)
  }
}

/** Calls a service, or its proxy, on a local port in a closed loop. */
export async function loadCalls(
  port: number,
  service: string,
  callers: number,
  seconds: number,
): Promise<CallLoad> {
  const channel = new Channel({ host: '127.0.0.1', port })
  const startMs = performance.now()
  const all: Caller[] = []
  await Promise.all(
    Array.from(
      { length: callers },
      () =>
        new Promise<void>((resolve) => {
          const caller = new Caller(channel, service, startMs + seconds * 1000, resolve)
          all.push(caller)
          caller.call()
        }),
    ),
  )
  const elapsedMs = performance.now() - startMs
  channel.close()
  const times = all.flatMap((caller) => caller.times).sort((a, b) => a - b)
  const at = (part: number) => times[Math.floor(times.length * part)] ?? Number.NaN
  return {
    calls: times.length,
    callsPerSecond: (times.length / elapsedMs) * 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    errors: all.reduce((sum, { errors }) => sum + errors, 0),
  }
}

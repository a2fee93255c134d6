import { isInvalidToken } from '../../../core/auth/policy/decision.ts'
import type { TokenSource } from '../../../core/contracts/token-source.ts'
import { GatewayError } from '../../../core/errors.ts'
import { isRecord } from '../../../core/registry/decode-service.ts'
import { OutgoingCall, type TransportFailure } from '../../../core/rpc/call.ts'
import { toTransportError } from '../../../core/rpc/transport-error.ts'
import type { Channel } from '../../../core/rpc/ws/channel.ts'
import { StreamCall } from '../../../core/rpc/ws/stream-call.ts'

/** Full name of the registry service. */
const SERVICE = 'registry'

/** A unary call that returns a promise. */
class UnaryCall extends OutgoingCall {
  readonly #resolve: (reply: unknown) => void
  readonly #reject: (error: GatewayError) => void

  constructor(resolve: (reply: unknown) => void, reject: (error: GatewayError) => void) {
    super()
    this.#resolve = resolve
    this.#reject = reject
  }

  override onReply(_metadata: string, body: Uint8Array): void {
    const reply = parseBody(body)
    if (reply !== undefined) this.#resolve(reply)
    else this.#reject(new GatewayError(SERVICE, 502, 'the response is not a JSON object'))
  }

  override onFail(error: GatewayError): void {
    this.#reject(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    this.#reject(toTransportError(SERVICE, kind, detail))
  }
}

/**
 * Calls an endpoint of the `Registry` handler and returns the parsed response.
 *
 * @throws {GatewayError} the error returned by the service; 408 or 502 for transport failures.
 */
export function callRegistry(
  channel: Channel,
  method: string,
  request: object,
  timeoutMs: number,
  tokens?: TokenSource,
): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const call = new UnaryCall(resolve as (reply: unknown) => void, reject)
    call.service = SERVICE
    call.endpoint = `Registry.${method}`
    call.timeoutMs = timeoutMs
    call.metadata = formatToken(tokens)
    call.body = JSON.stringify(request)
    channel.call(call)
  })
}

/** Callbacks of a watch. `onSettled` is called last. */
export interface WatchReceiver {
  /** Called when the watch is open and reports all further changes. */
  readonly onOpen: () => void
  readonly onMessage: (message: Readonly<Record<string, unknown>>) => void
  readonly onSettled: (error: GatewayError) => void
}

/** The stream of `Registry.Watch`. */
export class WatchCall extends StreamCall {
  readonly #receiver: WatchReceiver
  #isOpen = false

  constructor(request: object, receiver: WatchReceiver) {
    super(SERVICE, 'Registry.Watch', request)
    this.#receiver = receiver
  }

  override onStart(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.#receiver.onOpen()
  }

  override onData(body: Uint8Array): void {
    this.onStart()
    const message = parseBody(body)
    this.consumed(body.length)
    if (message !== undefined) this.#receiver.onMessage(message)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    this.onSettled(toTransportError(SERVICE, kind, detail))
  }

  protected override onSettled(error: GatewayError): void {
    this.#receiver.onSettled(error)
  }
}

/** Returns the metadata with the current token; empty if there is no token. */
export function formatToken(tokens: TokenSource | undefined): string {
  const token = tokens?.current()
  return token === undefined ? '' : `authorization: Bearer ${token}\r\n`
}

/**
 * Waits for a different token if a failed call may succeed with it.
 *
 * @param sent the token used by the failed call.
 */
export function canRetryWithToken(
  tokens: TokenSource | undefined,
  sent: string | undefined,
  error: unknown,
): tokens is TokenSource {
  if (tokens === undefined || !(error instanceof GatewayError) || error.code !== 401) return false
  if (sent === undefined) return tokens.remainingMs() !== Number.POSITIVE_INFINITY
  return isInvalidToken(error) && tokens.isRejected(sent)
}

/** Parses a JSON object. Returns undefined for any other text. */
function parseBody(body: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(
      Buffer.from(body.buffer, body.byteOffset, body.length).toString(),
    )
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

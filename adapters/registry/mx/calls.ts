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

/** A call with one request and one reply, behind a promise. */
class Question extends OutgoingCall {
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
    else this.#reject(new GatewayError(SERVICE, 502, 'the answer is no JSON object'))
  }

  override onFail(error: GatewayError): void {
    this.#reject(error)
  }

  override onLost(kind: TransportFailure, detail: string): void {
    this.#reject(toTransportError(SERVICE, kind, detail))
  }
}

/**
 * Calls an endpoint of the handler `Registry`.
 *
 * @returns what the JSON of the reply says.
 * @throws {GatewayError} the service's own; 408 and 502 where there is no answer.
 */
export function callRegistry(
  channel: Channel,
  method: string,
  request: object,
  timeoutMs: number,
  tokens?: TokenSource,
): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const call = new Question(resolve as (reply: unknown) => void, reject)
    call.service = SERVICE
    call.endpoint = `Registry.${method}`
    call.timeoutMs = timeoutMs
    call.metadata = formatToken(tokens)
    call.body = JSON.stringify(request)
    channel.call(call)
  })
}

/** What is told of a watch. After `onSettled` nothing more. */
export interface WatchReceiver {
  /** Whatever changes from now on is told. */
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

/** Metadata that show the token there is. */
export function formatToken(tokens: TokenSource | undefined): string {
  const token = tokens?.current()
  return token === undefined ? '' : `authorization: Bearer ${token}\r\n`
}

/**
 * Whether what was refused may be granted with another token, which is to be waited for first.
 *
 * @param shown the token it was sent with.
 */
export function maySignAnew(
  tokens: TokenSource | undefined,
  shown: string | undefined,
  error: unknown,
): tokens is TokenSource {
  if (tokens === undefined || !(error instanceof GatewayError) || error.code !== 401) return false
  if (shown === undefined) return tokens.leftMs() !== Number.POSITIVE_INFINITY
  return isInvalidToken(error) && tokens.refused(shown)
}

/** The object a body holds; undefined when it holds none. */
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

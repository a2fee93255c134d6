import { GatewayError } from '../../core/errors.ts'
import { type CallReceiver, type IncomingCall, NOOP_RECEIVER } from '../../core/rpc/call.ts'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { ID } from './id.ts'

/**
 * Serves a call as that of whoever its metadata prove: the RPC proxy of this process, or one far away.
 *
 * @param address IP address it comes from.
 * @throws {GatewayError} what the call is answered with.
 */
export type CallBridge = (call: IncomingCall, address: string) => void

/** A call of the dashboard itself. */
export interface UnaryCall {
  readonly service: string
  readonly endpoint: string
  readonly request: object
  /** Access token of whoever asks; undefined: nobody that is known. */
  readonly token?: string | undefined
  /** IP address of whoever asks. */
  readonly address: string
}

const TIMEOUT_MS = 10_000

/** Calls a unary endpoint. @throws {GatewayError} as the service has it. */
export function callUnary<T>(carry: CallBridge, question: UnaryCall): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = new AskedCall(question, resolve as (answer: unknown) => void, reject)
    try {
      carry(call, question.address)
    } catch (error) {
      reject(GatewayError.from(error, ID))
    }
  })
}

class AskedCall implements IncomingCall {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  readonly body: Uint8Array
  readonly timeoutMs = TIMEOUT_MS
  readonly stream = false
  readonly more = false
  over = false
  receiver: CallReceiver = NOOP_RECEIVER
  readonly #resolve: (answer: unknown) => void
  readonly #reject: (error: GatewayError) => void

  constructor(
    { service, endpoint, request, token }: UnaryCall,
    resolve: (answer: unknown) => void,
    reject: (error: GatewayError) => void,
  ) {
    this.service = service
    this.endpoint = endpoint
    this.metadata = formatMetadata([
      ...['content-type', 'application/json'],
      ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
    ])
    this.body = Buffer.from(JSON.stringify(request))
    this.#resolve = resolve
    this.#reject = reject
  }

  reply(_metadata: string, body: string | Uint8Array): void {
    this.over = true
    const text = String(typeof body === 'string' ? body : Buffer.from(body))
    try {
      this.#resolve(JSON.parse(text || '{}'))
    } catch (cause) {
      const detail = `${this.service} answered with no JSON`
      this.#reject(new GatewayError(ID, 502, detail, { cause }))
    }
  }

  fail(error: GatewayError): void {
    this.over = true
    this.#reject(error)
  }

  // Of streams, which it is none of.
  start(): void {}
  sendData(): boolean {
    return true
  }
  endData(): void {}
  consumed(): void {}
}

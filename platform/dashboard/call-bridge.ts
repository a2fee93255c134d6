import { GatewayError } from '../../core/errors.ts'
import { type CallReceiver, type IncomingCall, NOOP_RECEIVER } from '../../core/rpc/call.ts'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { ID } from './id.ts'

/**
 * Forwards a call, authenticated by its metadata, to the RPC proxy of this process or a remote one.
 *
 * @param address IP address of the client.
 * @throws {GatewayError} error result of the call.
 */
export type CallBridge = (call: IncomingCall, address: string) => void

/** A call made by the dashboard itself. */
export interface DashboardCall {
  readonly service: string
  readonly endpoint: string
  readonly request: object
  /** Access token; undefined for an anonymous call. */
  readonly token?: string | undefined
  /** IP address of the client. */
  readonly address: string
}

const TIMEOUT_MS = 10_000

/** Calls a unary endpoint. @throws {GatewayError} error returned by the service. */
export function callUnary<T>(callBridge: CallBridge, unary: DashboardCall): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = new OutgoingCall(unary, resolve as (result: unknown) => void, reject)
    try {
      callBridge(call, unary.address)
    } catch (error) {
      reject(GatewayError.from(error, ID))
    }
  })
}

class OutgoingCall implements IncomingCall {
  readonly service: string
  readonly endpoint: string
  readonly metadata: string
  readonly body: Uint8Array
  readonly timeoutMs = TIMEOUT_MS
  readonly stream = false
  readonly more = false
  isSettled = false
  receiver: CallReceiver = NOOP_RECEIVER
  readonly #resolve: (result: unknown) => void
  readonly #reject: (error: GatewayError) => void

  constructor(
    { service, endpoint, request, token }: DashboardCall,
    resolve: (result: unknown) => void,
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
    this.isSettled = true
    const text = String(typeof body === 'string' ? body : Buffer.from(body))
    try {
      this.#resolve(JSON.parse(text || '{}'))
    } catch (cause) {
      const detail = `${this.service} returned invalid JSON`
      this.#reject(new GatewayError(ID, 502, detail, { cause }))
    }
  }

  fail(error: GatewayError): void {
    this.isSettled = true
    this.#reject(error)
  }

  // Streaming methods, which unary calls do not use.
  start(): void {}
  sendData(): boolean {
    return true
  }
  endData(): void {}
  consumed(): void {}
}

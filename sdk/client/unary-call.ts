import { GatewayError } from '../../core/errors.ts'
import { json } from '../codec/codec.ts'
import { parseReply } from '../codec/reply-body.ts'
import { rejectTyped } from '../errors.ts'
import { RoutedCall } from './balanced-call.ts'
import type { CallPlan, CallRouter } from './call-options.ts'
import { toLocalValue } from './in-process.ts'

/** A call with one request and one response, as a promise. */
export class UnaryCall extends RoutedCall {
  readonly #request: unknown
  readonly #resolve: (reply: unknown) => void
  readonly #reject: (error: unknown) => void
  readonly #asText: boolean

  constructor(
    owner: CallRouter,
    plan: CallPlan,
    request: unknown,
    resolve: (reply: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    super(owner, plan)
    this.#request = request
    this.#resolve = resolve
    this.#reject = reject
    this.#asText = plan.asText
  }

  protected prepare(): void {
    if (this.isLocal) this.value = toLocalValue(this.#request)
    else this.body = json.encode(this.#request)
  }

  protected failed(error: unknown): void {
    if (error instanceof GatewayError) this.#resolve(rejectTyped(error))
    else this.#reject(error)
  }

  override onReply(_metadata: string, body: Uint8Array): void {
    if (!this.answered()) return
    if (this.isLocal) return this.#resolve(this.#asText ? json.encode(body) : body)
    let reply: unknown
    try {
      reply = parseReply(this.service, body, this.#asText)
    } catch (error) {
      return this.failed(error)
    }
    this.#resolve(reply)
  }
}

import type { Authorizer, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import { admitCall, type CallInput } from './authorize-call.ts'

interface OpenCall {
  readonly input: CallInput
  readonly end: (reason: GatewayError) => void
  timer: NodeJS.Timeout | undefined
}

/** Open streams. Each is authorized again after changes and when its token expires, and ends if access is denied. */
export class OpenCalls {
  readonly #authorizer: Authorizer
  readonly #open = new Set<OpenCall>()
  readonly #stop: () => void

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
    this.#stop = authorizer.onChange(() => {
      for (const call of [...this.#open]) this.#reauthorize(call)
    })
  }

  /**
   * @param end ends the call with an error.
   * @returns function to call when the call has ended.
   */
  add(
    input: CallInput,
    session: Session | undefined,
    end: (reason: GatewayError) => void,
  ): () => void {
    const call: OpenCall = { input, end, timer: undefined }
    this.#open.add(call)
    if (session !== undefined) this.#awaitEnd(call, session.endsMs)
    return () => this.#remove(call)
  }

  /** Stops monitoring. */
  close(): void {
    this.#stop()
    for (const call of [...this.#open]) this.#remove(call)
  }

  /** Checks the time again after the timer: it may fire early, and the clock may be set back. */
  #awaitEnd(call: OpenCall, endsMs: number): void {
    const check = (): void => {
      if (Date.now() < endsMs) this.#awaitEnd(call, endsMs)
      else this.#reauthorize(call)
    }
    call.timer = setTimeout(check, endsMs - Date.now()).unref()
  }

  #reauthorize(call: OpenCall): void {
    try {
      const authorized = admitCall(this.#authorizer, call.input)
      if (authorized instanceof Promise) authorized.catch((error) => this.#end(call, error))
    } catch (error) {
      this.#end(call, error)
    }
  }

  #end(call: OpenCall, error: unknown): void {
    // Temporary errors do not revoke granted access.
    if (!(error instanceof GatewayError) || error.code !== 401 || !this.#remove(call)) return
    call.end(error)
  }

  #remove(call: OpenCall): boolean {
    clearTimeout(call.timer)
    return this.#open.delete(call)
  }
}

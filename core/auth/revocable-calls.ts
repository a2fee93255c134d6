import type { Authorizer, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import { admitCall, type CallInput } from './authorize-call.ts'

interface OpenCall {
  readonly given: CallInput
  readonly end: (reason: GatewayError) => void
  timer: NodeJS.Timeout | undefined
}

/** Calls that last: each is judged again when something changes and when its token ends, and ended when it would not be let in any more. */
export class OpenCalls {
  readonly #gate: Authorizer
  readonly #open = new Set<OpenCall>()
  readonly #stop: () => void

  constructor(gate: Authorizer) {
    this.#gate = gate
    this.#stop = gate.onChange(() => {
      for (const call of [...this.#open]) this.#judge(call)
    })
  }

  /**
   * @param end ends the call with an error.
   * @returns what is to be called when it is over.
   */
  add(
    given: CallInput,
    session: Session | undefined,
    end: (reason: GatewayError) => void,
  ): () => void {
    const call: OpenCall = { given, end, timer: undefined }
    this.#open.add(call)
    if (session !== undefined) this.#awaitEnd(call, session.endsMs)
    return () => this.#remove(call)
  }

  /** Judges none of them any more. */
  close(): void {
    this.#stop()
    for (const call of [...this.#open]) this.#remove(call)
  }

  /** Timers may be early, and clocks may be set back: before its end the token would be found good. */
  #awaitEnd(call: OpenCall, endsMs: number): void {
    const look = (): void => {
      if (Date.now() < endsMs) this.#awaitEnd(call, endsMs)
      else this.#judge(call)
    }
    call.timer = setTimeout(look, endsMs - Date.now()).unref()
  }

  #judge(call: OpenCall): void {
    try {
      const admitted = admitCall(this.#gate, call.given)
      if (admitted instanceof Promise) admitted.catch((error) => this.#end(call, error))
    } catch (error) {
      this.#end(call, error)
    }
  }

  #end(call: OpenCall, error: unknown): void {
    // What is not known at the moment was granted when it was.
    if (!(error instanceof GatewayError) || error.code !== 401 || !this.#remove(call)) return
    call.end(error)
  }

  #remove(call: OpenCall): boolean {
    clearTimeout(call.timer)
    return this.#open.delete(call)
  }
}

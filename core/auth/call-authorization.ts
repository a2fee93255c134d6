import type { Account, Authorizer, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import type { IncomingCall } from '../rpc/call.ts'
import { GuardedCall } from '../rpc/guarded-call.ts'
import { findMetadata } from '../rpc/metadata.ts'
import { admitCall, type CallInput } from './authorize-call.ts'
import { withCaller } from './identity-headers.ts'
import { isCrossNamespace } from './policy/cross-namespace.ts'
import { OpenCalls } from './revocable-calls.ts'

/** What a call is for, besides what it says itself. */
export interface GuardedTarget {
  /** Of the service, as rules have it. */
  readonly name: string
  /** That the service is in. */
  readonly domain: string
  /** Whether the call may last: it is ended when it is granted no longer. */
  readonly lasts: boolean
  /** IP address to tell the service that the call comes from; empty: none. */
  readonly address: string
}

/** What becomes of a call. */
export interface GuardedEnds {
  /** Serves it, with what was found out of its caller in its metadata: nothing of an account that is foreign there. */
  readonly serve: (call: IncomingCall, metadata: string, account: Account | undefined) => void
  /** Answers a call that is not let in. */
  readonly refuse: (call: IncomingCall, error: GatewayError) => void
}

/** Stands before whoever serves calls that come from outside: lets in what the rules grant, and ends what lasts once they do not. */
export class CallGuard {
  readonly #gate: Authorizer
  readonly #open: OpenCalls

  constructor(gate: Authorizer) {
    this.#gate = gate
    this.#open = new OpenCalls(gate)
  }

  /** Has a call served: at once where its caller and the rules are known, else later. Throws what `serve` does. */
  pass(call: IncomingCall, target: GuardedTarget, ends: GuardedEnds): void {
    const { name, domain } = target
    const resource = { type: 'service', name, endpoint: call.endpoint }
    const given: CallInput = { metadata: call.metadata, resource, domain }
    let admitted: ReturnType<typeof admitCall>
    try {
      admitted = admitCall(this.#gate, given)
    } catch (error) {
      return ends.refuse(call, GatewayError.from(error, name))
    }
    if (!(admitted instanceof Promise) && !target.lasts) {
      return ends.serve(call, tell(given, admitted, target.address), admitted?.account)
    }
    const guarded = new GuardedCall(call)
    if (!(admitted instanceof Promise))
      return this.#release(guarded, { given, target, session: admitted }, ends)
    admitted
      .then((session) => this.#release(guarded, { given, target, session }, ends))
      .catch((error) => ends.refuse(guarded, GatewayError.from(error, name)))
  }

  /** Ends no call any more. */
  close(): void {
    this.#open.close()
  }

  #release(
    guarded: GuardedCall,
    admitted: {
      readonly given: CallInput
      readonly target: GuardedTarget
      readonly session: Session | undefined
    },
    { serve }: GuardedEnds,
  ): void {
    const { given, target, session } = admitted
    if (target.lasts && !guarded.over)
      guarded.onSettled = this.#open.add(given, session, (reason) => guarded.end(reason))
    const metadata = tell(given, session, target.address)
    guarded.release((call) => serve(call, metadata, session?.account))
  }
}

/** The metadata of a call, with what its service is to know of who calls. */
function tell(
  { metadata, domain, resource }: CallInput,
  session: Session | undefined,
  address: string,
): string {
  if (session === undefined) return withCaller(metadata, undefined, address)
  const { account } = session
  const namespace = findMetadata(metadata, 'mx-namespace') ?? ''
  const isHidden = isCrossNamespace(account, { namespace, domain, resource })
  return withCaller(metadata, isHidden ? undefined : account, address)
}

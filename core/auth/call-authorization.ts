import type { Account, Authorizer, Session } from '../contracts/auth.ts'
import { GatewayError } from '../errors.ts'
import type { IncomingCall } from '../rpc/call.ts'
import { GuardedCall } from '../rpc/guarded-call.ts'
import { findMetadata } from '../rpc/metadata.ts'
import { admitCall, type CallInput } from './authorize-call.ts'
import { withCaller } from './identity-headers.ts'
import { isCrossNamespace } from './policy/cross-namespace.ts'
import { OpenCalls } from './revocable-calls.ts'

/** Target of a call. */
export interface GuardedTarget {
  /** Name of the service, as used in rules. */
  readonly name: string
  /** Domain of the service. */
  readonly domain: string
  /** Whether the call may be a stream, which ends when access is revoked. */
  readonly isStream: boolean
  /** IP address of the caller, as forwarded to the service; empty if it is not forwarded. */
  readonly address: string
}

/** Outcome of the authorization. */
export interface GuardedEnds {
  /** Serves an authorized call. Its metadata identifies the caller unless the account is cross-namespace. */
  readonly serve: (call: IncomingCall, metadata: string, account: Account | undefined) => void
  /** Rejects a call. */
  readonly deny: (call: IncomingCall, error: GatewayError) => void
}

/** Authorizes external calls before they are served, and ends streams when access is revoked. */
export class CallGuard {
  readonly #authorizer: Authorizer
  readonly #open: OpenCalls

  constructor(authorizer: Authorizer) {
    this.#authorizer = authorizer
    this.#open = new OpenCalls(authorizer)
  }

  /** Authorizes and serves a call, synchronously if caller and rules are cached. Rethrows errors of `serve`. */
  pass(call: IncomingCall, target: GuardedTarget, ends: GuardedEnds): void {
    const { name, domain } = target
    const resource = { type: 'service', name, endpoint: call.endpoint }
    const input: CallInput = { metadata: call.metadata, resource, domain }
    let authorized: ReturnType<typeof admitCall>
    try {
      authorized = admitCall(this.#authorizer, input)
    } catch (error) {
      return ends.deny(call, GatewayError.from(error, name))
    }
    if (!(authorized instanceof Promise) && !target.isStream) {
      return ends.serve(
        call,
        identifyCaller(input, authorized, target.address),
        authorized?.account,
      )
    }
    const guarded = new GuardedCall(call)
    if (!(authorized instanceof Promise))
      return this.#release(guarded, { input, target, session: authorized }, ends)
    authorized
      .then((session) => this.#release(guarded, { input, target, session }, ends))
      .catch((error) => ends.deny(guarded, GatewayError.from(error, name)))
  }

  /** Stops monitoring open calls. */
  close(): void {
    this.#open.close()
  }

  #release(
    guarded: GuardedCall,
    authorized: {
      readonly input: CallInput
      readonly target: GuardedTarget
      readonly session: Session | undefined
    },
    { serve }: GuardedEnds,
  ): void {
    const { input, target, session } = authorized
    if (target.isStream && !guarded.isSettled)
      guarded.onSettled = this.#open.add(input, session, (reason) => guarded.end(reason))
    const metadata = identifyCaller(input, session, target.address)
    guarded.release((call) => serve(call, metadata, session?.account))
  }
}

/** Returns the call metadata with the identity of its caller. */
function identifyCaller(
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

import { isIP } from 'node:net'
import { CallGuard } from '../../core/auth/call-authorization.ts'
import { CALLER_ADDRESS, usesCallerAddress } from '../../core/auth/identity-headers.ts'
import type { Account, Authorizer } from '../../core/contracts/auth.ts'
import { GatewayError } from '../../core/errors.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import type { IncomingCall } from '../../core/rpc/call.ts'
import { isDebugEndpoint } from '../../core/rpc/debug-endpoints.ts'
import { GuardedCall } from '../../core/rpc/guarded-call.ts'
import { PROXY_ID } from '../../core/rpc/hops.ts'
import {
  findMetadata,
  isMetadata,
  isRepeated,
  MALFORMED_METADATA,
} from '../../core/rpc/metadata.ts'
import {
  checkCalledName,
  type FindUpstream,
  forwardCall,
  toServiceNotFound,
} from '../../core/rpc/proxy-call.ts'
import type { Upstream } from '../../core/upstream/upstream.ts'
import { mustBeAdmin } from '../../sdk/auth/account-checks.ts'
import type { Dispatcher } from '../../sdk/service/dispatch.ts'
import type { ListenAddress } from '../../sdk/service/listen-address.ts'
import {
  openServicePort,
  type ServiceLimits,
  type ServicePort,
  type ServicePortOptions,
} from '../../sdk/service/port.ts'
import type { ServiceHost } from '../../sdk/service/shared-port.ts'

export interface RpcProxyOptions {
  readonly address: ListenAddress
  /** Finds the nodes of services that the proxy does not host. */
  readonly find: FindUpstream
  readonly log: PluginLog
  /**
   * Authorizes forwarded calls. Hosted services authorize their own calls.
   *
   * @default all calls are allowed
   */
  readonly authorizer?: Authorizer
  /**
   * Returns whether a peer is a trusted gateway. The client addresses that it sends are used by `auth` to count failed
   * logins and by `registry` to check nodes.
   *
   * @default none
   */
  readonly isTrusted?: (address: string) => boolean
  readonly limits?: ServiceLimits
  /** @default uws if available */
  readonly listener?: ServicePort['server']
  /** Web origins whose pages may make calls. @default none */
  readonly origins?: readonly string[]
}

/** A port for calls to all services by name. It hosts the services of this process. */
export interface RpcProxy extends ServicePort, ServiceHost {
  /** Serves a call from another source. @throws {GatewayError} error result of the call */
  readonly dispatch: ServicePortOptions['dispatch']
}

/**
 * Opens the RPC proxy (docs/protocol.md §4), which serves hosted services and forwards other calls
 * to a node of their service.
 *
 * @throws {Error} with a one-line message if the port is in use or not permitted.
 * @throws {TypeError} for an invalid origin.
 */
export async function openRpcProxy(options: RpcProxyOptions): Promise<RpcProxy> {
  const { address, find, log, limits = {}, listener, authorizer, origins = [] } = options
  const { isTrusted = () => false } = options
  const forward =
    authorizer === undefined ? undefined : createGuardedForward(new CallGuard(authorizer), find)
  const hosted = new Map<string, Dispatcher>()
  const dispatch = (call: IncomingCall, address: string): void => {
    const dispatcher = hosted.get(call.service)
    if (dispatcher !== undefined) dispatcher.dispatch(call, address)
    else if (forward !== undefined) forward(call)
    else forwardCall(call, find)
  }
  const port = await openServicePort({
    address,
    id: PROXY_ID,
    dispatch: (call, peer) => dispatch(call, toClient(call, peer, isTrusted)),
    log,
    limits,
    listener,
    origins,
  })
  return {
    ...port,
    dispatch,
    add(dispatcher) {
      const { service } = dispatcher
      if (hosted.has(service))
        throw new Error(`${port.address} already serves a service ${service}`)
      hosted.set(service, dispatcher)
      return () => {
        if (hosted.get(service) === dispatcher) hosted.delete(service)
      }
    },
  }
}

/** Returns the client IP address of a call, which trusted peers provide as metadata. */
function toClient(
  { service, metadata }: IncomingCall,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  if (!usesCallerAddress(service) || !isTrusted(peer)) return peer
  const client = findMetadata(metadata, CALLER_ADDRESS)
  return client !== undefined && isIP(client) !== 0 && !isRepeated(metadata, CALLER_ADDRESS)
    ? client
    : peer
}

/**
 * Forwards authorized calls. The service is looked up first, because its domain determines the
 * rules.
 */
function createGuardedForward(guard: CallGuard, find: FindUpstream): (call: IncomingCall) => void {
  const pass = (call: IncomingCall, upstream: Upstream | undefined): void => {
    const { service } = call
    if (upstream === undefined) throw toServiceNotFound(service)
    const { domain } = upstream
    const target = { name: service, domain, isStream: call.stream || call.more, address: '' }
    const deny = (denied: IncomingCall, error: GatewayError): void => denied.fail(error)
    guard.pass(call, target, {
      serve(authorized, metadata, account) {
        // A service without an account cannot authenticate its callers.
        if (isDebugEndpoint(call.endpoint)) {
          const error = checkAdmin(account, domain, `${service}.${call.endpoint}`)
          if (error !== undefined) return deny(authorized, error)
        }
        forwardCall(authorized, () => upstream, metadata)
      },
      deny: deny,
    })
  }
  return (call) => {
    checkCalledName(call)
    // A service could parse malformed metadata differently.
    if (call.metadata !== '' && !isMetadata(call.metadata))
      throw new GatewayError(call.service, 400, MALFORMED_METADATA)
    const resolved = find(call.service, call.metadata)
    if (!(resolved instanceof Promise)) return pass(call, resolved)
    const pending = new GuardedCall(call)
    resolved
      .then((upstream) => pending.release((released) => pass(released, upstream)))
      .catch((error) => pending.fail(GatewayError.from(error, call.service)))
  }
}

/** Returns an error if the account does not administer the domain. */
function checkAdmin(
  account: Account | undefined,
  domain: string,
  id: string,
): GatewayError | undefined {
  try {
    mustBeAdmin({ account }, domain, id)
    return undefined
  } catch (error) {
    return GatewayError.from(error, id)
  }
}

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
  /** The nodes of services it does not host. */
  readonly find: FindUpstream
  readonly log: PluginLog
  /** Decides who may call what is forwarded; services it hosts have their own. @default everybody may */
  readonly gate?: Authorizer
  /** Whether a peer is a gateway that is believed whom it calls for: its clients' addresses, by which `auth` counts failed logins and `registry` checks nodes. @default nobody is */
  readonly isTrusted?: (address: string) => boolean
  readonly limits?: ServiceLimits
  /** @default uws where it loads */
  readonly listener?: ServicePort['server']
  /** Web origins whose pages may call. @default none */
  readonly origins?: readonly string[]
}

/** A port where every service can be called by its name, and the host of those of this process. */
export interface RpcProxy extends ServicePort, ServiceHost {
  /** Serves a call that came another way as its own. Throws what the call is to be answered with. */
  readonly dispatch: ServicePortOptions['dispatch']
}

/**
 * Opens the RPC proxy (docs/protocol.md §4): it serves the services it hosts, and forwards all other calls to a node of their service.
 *
 * @throws {Error} with one clear line when the port is in use or may not be opened.
 * @throws {TypeError} when an origin is none.
 */
export async function openRpcProxy(options: RpcProxyOptions): Promise<RpcProxy> {
  const { address, find, log, limits = {}, listener, gate, origins = [] } = options
  const { isTrusted = () => false } = options
  const forward = gate === undefined ? undefined : createGuardedForward(new CallGuard(gate), find)
  const hosted = new Map<string, Dispatcher>()
  const dispatch = (call: IncomingCall, address: string): void => {
    const own = hosted.get(call.service)
    if (own !== undefined) own.dispatch(call, address)
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
        throw new Error(`${port.address} serves a service ${service} already`)
      hosted.set(service, dispatcher)
      return () => {
        if (hosted.get(service) === dispatcher) hosted.delete(service)
      }
    },
  }
}

/** IP address a call comes from, by what a trusted peer says of its client. */
function toClient(
  { service, metadata }: IncomingCall,
  peer: string,
  isTrusted: (address: string) => boolean,
): string {
  if (!usesCallerAddress(service) || !isTrusted(peer)) return peer
  const told = findMetadata(metadata, CALLER_ADDRESS)
  return told !== undefined && isIP(told) !== 0 && !isRepeated(metadata, CALLER_ADDRESS)
    ? told
    : peer
}

/** Forwards the calls that a guard lets pass: their services are found first, since whose rules decide depends on where they are. */
function createGuardedForward(guard: CallGuard, find: FindUpstream): (call: IncomingCall) => void {
  const pass = (call: IncomingCall, upstream: Upstream | undefined): void => {
    const { service } = call
    if (upstream === undefined) throw toServiceNotFound(service)
    const { domain } = upstream
    const target = { name: service, domain, lasts: call.stream || call.more, address: '' }
    const refuse = (refused: IncomingCall, error: GatewayError): void => refused.fail(error)
    guard.pass(call, target, {
      serve(admitted, metadata, account) {
        // A service without an account of its own asks nobody who calls.
        if (isDebugEndpoint(call.endpoint)) {
          const error = findObjection(account, domain, `${service}.${call.endpoint}`)
          if (error !== undefined) return refuse(admitted, error)
        }
        forwardCall(admitted, () => upstream, metadata)
      },
      refuse,
    })
  }
  return (call) => {
    checkCalledName(call)
    // Of what is malformed nobody could tell what the service takes it for.
    if (call.metadata !== '' && !isMetadata(call.metadata))
      throw new GatewayError(call.service, 400, MALFORMED_METADATA)
    const found = find(call.service, call.metadata)
    if (!(found instanceof Promise)) return pass(call, found)
    const held = new GuardedCall(call)
    found
      .then((upstream) => held.release((released) => pass(released, upstream)))
      .catch((error) => held.fail(GatewayError.from(error, call.service)))
  }
}

/** Why an account is none that administers a domain; undefined: it is one. */
function findObjection(
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

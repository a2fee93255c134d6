import { GatewayError } from '../errors.ts'
import type { AddressKind } from './address-kind.ts'
import {
  type AllowList,
  type ClassifiedAddress,
  classify,
  createAllowList,
  isNeverAllowed,
} from './allow-list.ts'
import { isListener } from './listeners.ts'
import { type ResolveHost, resolveAddresses, resolveBySystem } from './resolve.ts'
import type { EgressTarget } from './target.ts'

/** An address to which other processes will connect, and its source. */
export interface PeerTarget extends EgressTarget {
  /** Name for errors: `node address`, `server address`. */
  readonly label: string
  /** IP address of the request's sender; empty if unknown. */
  readonly from: string
  /** Whether programs on this machine may supply loopback and other addresses of this machine. */
  readonly mayBeLocal: boolean
  /**
   * Whether the peer may supply any public or private address, since it is a server that knows `network_token`.
   * @default false
   */
  readonly isTrusted?: boolean
}

/** Address of an issuer's keys, from its discovery document. */
export interface KeysTarget extends EgressTarget {
  /** Whether the issuer runs on this machine, so that its keys may have a loopback address. */
  readonly mayBeLoopback: boolean
}

/** Settings of the policy, as in `mx.yaml`. */
export interface EgressSettings {
  /** Addresses allowed for registered nodes, in addition to the source address of the registration. */
  readonly registerAllow: readonly string[]
  /** Addresses allowed for repositories. */
  readonly egressAllow: readonly string[]
  /** Unregistered addresses that `/rpc` may call. */
  readonly rpcAddressAllow: readonly string[]
}

export interface EgressPolicyOptions extends EgressSettings {
  /** Addresses on which this process listens. @default none */
  readonly listeners?: () => readonly EgressTarget[]
  /** Resolves a host name to at least one address. @default the system resolver */
  readonly resolve?: ResolveHost
}

/**
 * Outgoing address policy: decides whether this process may connect to an address that an operator did not supply
 * (docs/registry-service.md, "Outgoing addresses").
 *
 * It does not apply to addresses from operators, the configuration and external registries.
 */
export interface EgressPolicy {
  /**
   * Checks the address advertised by a service or server.
   *
   * @param id error id.
   * @returns the checked addresses of a host name, sorted, at most 8; empty for an IP address.
   * @throws {GatewayError} 403 for a denied address, 400 for a host name without addresses, 503 if it cannot be
   * resolved.
   */
  readonly resolvePeer: (target: PeerTarget, id: string) => Promise<readonly string[]>
  /**
   * Checks the address of a repository.
   *
   * @returns the addresses to fetch from.
   * @throws {GatewayError} see {@link resolvePeer}.
   */
  readonly resolveRepository: (target: EgressTarget, id: string) => Promise<readonly string[]>
  /**
   * Checks the address of an issuer's keys. Public and private addresses are allowed.
   *
   * @returns the addresses to fetch from.
   * @throws {GatewayError} see {@link resolvePeer}.
   */
  readonly resolveKeys: (target: KeysTarget, id: string) => Promise<readonly string[]>
  /** Whether `/rpc` may call an unregistered IP address. */
  readonly isCallAllowed: (address: string) => boolean
  /** Applies the changed settings. */
  readonly use: (settings: EgressSettings) => void
}

/** Limited because every list of nodes includes the addresses of host names. */
const PEER_ADDRESSES_MAX = 8

export function createEgressPolicy(options: EgressPolicyOptions): EgressPolicy {
  const { listeners = () => [], resolve = resolveBySystem } = options
  let lists = createLists(options)

  /** Returns why a peer must not use an address, or undefined if it is allowed. */
  function findPeerDenial(address: ClassifiedAddress, target: PeerTarget): Denial | undefined {
    const { kind, text } = address
    if (isListener(address, target.port, listeners())) return LISTENER
    if (lists.register.has(address)) return undefined
    const from = classify(target.from)
    const isLocal = kind === 'loopback' || kind === 'this server'
    if (isLocal && target.mayBeLocal && isOnThisMachine(from)) return undefined
    // Not for loopback: a shared loopback address does not prove that the peer listens there.
    const isPlain = kind === 'public' || kind === 'private' || kind === 'this server'
    if (isPlain && text === from?.text) return undefined
    if (kind !== 'public' && kind !== 'private') return toDenial(kind, 'register_allow')
    if (target.isTrusted === true) return undefined
    const source = from?.text ?? 'an unknown address'
    return { reason: `the request comes from ${source}`, remedy: toRemedy('register_allow') }
  }

  function findRepositoryDenial(address: ClassifiedAddress, port: number): Denial | undefined {
    if (isListener(address, port, listeners())) return LISTENER
    return lists.egress.has(address) ? undefined : toDenial(address.kind, 'egress_allow')
  }

  return {
    async resolvePeer(target, id) {
      const { label, host } = target
      const addresses = await resolveAddresses(host, resolve, id)
      for (const address of addresses) {
        const denial = findPeerDenial(address, target)
        if (denial !== undefined) throw toError(label, target, address, denial, id)
      }
      if (classify(host) !== undefined) return []
      const texts = addresses.map(({ text }) => text)
      return texts.sort().slice(0, PEER_ADDRESSES_MAX)
    },

    async resolveRepository(target, id) {
      const addresses = await resolveAddresses(target.host, resolve, id)
      for (const address of addresses) {
        const denial = findRepositoryDenial(address, target.port)
        if (denial !== undefined) throw toError('repository address', target, address, denial, id)
      }
      return addresses.map(({ text }) => text)
    },

    async resolveKeys(target, id) {
      const addresses = await resolveAddresses(target.host, resolve, id)
      for (const address of addresses) {
        const { kind } = address
        if (kind === 'public' || kind === 'private') continue
        if (kind === 'loopback' && target.mayBeLoopback) continue
        throw toError('jwks_uri', target, address, { reason: kind, remedy: SET_JWKS_URI }, id)
      }
      return addresses.map(({ text }) => text)
    },

    isCallAllowed(text) {
      const address = classify(text)
      return address !== undefined && lists.call.has(address)
    },

    use(settings) {
      lists = createLists(settings)
    },
  }
}

function isOnThisMachine(address: ClassifiedAddress | undefined): boolean {
  return address?.kind === 'loopback' || address?.kind === 'this server'
}

/** Reason and remedy for a denied address. */
interface Denial {
  readonly reason: string
  readonly remedy: string
}

const LISTENER: Denial = {
  reason: 'a listener of this server',
  remedy: 'Only an operator may name it.',
}

/** The policy does not apply to options set by operators. */
const SET_JWKS_URI = 'Set the option jwksUri of the plugin oidc to use this address.'

function toDenial(kind: AddressKind, setting: string): Denial {
  const remedy = isNeverAllowed(kind) ? 'No setting allows it.' : toRemedy(setting)
  return { reason: kind, remedy }
}

function toRemedy(setting: string): string {
  return `Ask an operator to add it to ${setting}.`
}

function toError(
  label: string,
  { host, port }: EgressTarget,
  { text }: ClassifiedAddress,
  { reason, remedy }: Denial,
  id: string,
): GatewayError {
  const authority = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
  const resolved = host === text ? '' : ` (${text})`
  const detail = `${label} ${authority}${resolved} is denied by the outgoing address policy (${reason}). ${remedy}`
  return new GatewayError(id, 403, detail)
}

interface Lists {
  readonly register: AllowList
  readonly egress: AllowList
  readonly call: AllowList
}

function createLists({ registerAllow, egressAllow, rpcAddressAllow }: EgressSettings): Lists {
  return {
    register: createAllowList(registerAllow, 'register_allow'),
    egress: createAllowList(egressAllow, 'egress_allow'),
    call: createAllowList(rpcAddressAllow, 'rpc_address_allow'),
  }
}

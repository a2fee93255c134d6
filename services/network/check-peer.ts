import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import { parseServerAddress } from '../../domain/mesh/address.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import { NETWORK } from './link-call.ts'

/**
 * Introduction of a linking server with the checked IP addresses of its host. They are undefined if
 * the host was not checked or is already an IP address.
 */
export interface CheckedPeer extends Introduction {
  readonly resolved?: readonly string[]
}

/**
 * Checks the address that a linking server advertises.
 *
 * @param from IP address that its link comes from.
 * @returns the introduction, without the address if it is denied: no link is then opened to it. A
 * host name may resolve differently by the time the link is opened, so the link is opened to the
 * checked addresses, with the certificate of the name.
 */
export type CheckPeer = (peer: Introduction, from: string) => Promise<CheckedPeer>

/**
 * @param isTrusted whether peers have `network_token`, in which case they may advertise any public
 * or private address.
 */
export function createPeerCheck(
  egress: Pick<EgressPolicy, 'resolvePeer'>,
  log: PluginLog,
  isTrusted: boolean,
): CheckPeer {
  return async (peer, from) => {
    const address = parseServerAddress(peer.address)
    if (address === undefined) return peer
    const { host, port } = address
    try {
      const target = { host, port, from, label: 'server address', mayBeLocal: true, isTrusted }
      const resolved = await egress.resolvePeer(target, NETWORK)
      return resolved.length === 0 ? peer : { ...peer, resolved }
    } catch (error) {
      const { message } = error as Error
      log.warn({ server: peer.id, reason: message }, 'server address denied; link not opened')
      return { ...peer, address: '' }
    }
  }
}

import type { PluginLog } from '../../core/define-plugin.ts'
import type { EgressPolicy } from '../../core/egress/egress-policy.ts'
import { parseServerAddress } from '../../core/network/address.ts'
import type { Introduction } from '../../core/network/handshake.ts'
import { NETWORK } from './link-call.ts'

/**
 * Checks where a server says that it is reached, which has not shown that it knows the network's token.
 *
 * @param from IP address that its link comes from.
 * @returns the introduction, without an address that is denied: no link is opened to that one.
 */
export type CheckPeer = (peer: Introduction, from: string) => Promise<Introduction>

export function createPeerCheck(
  egress: Pick<EgressPolicy, 'resolvePeer'>,
  log: PluginLog,
): CheckPeer {
  return async (peer, from) => {
    const address = parseServerAddress(peer.address)
    if (address === undefined) return peer
    const { host, port, text } = address
    try {
      const target = { host, port, from, what: 'server address', mayBeLocal: true }
      const [resolved = host] = await egress.resolvePeer(target, NETWORK)
      return { ...peer, address: toAddress(text, resolved, port) }
    } catch (error) {
      const { message } = error as Error
      log.warn({ server: peer.id, reason: message }, 'no link to the address of a server')
      return { ...peer, address: '' }
    }
  }
}

/** With the resolved address in place of the name: what the name stands for may change until the link is opened. */
function toAddress(text: string, host: string, port: number): string {
  const scheme = text.slice(0, text.indexOf('//') + 2)
  return `${scheme}${host.includes(':') ? `[${host}]` : host}:${port}`
}

import { randomUUID } from 'node:crypto'
import type { Node } from '../../core/contracts/registry.ts'
import type { PluginLog } from '../../core/plugin/define.ts'
import type { Caller } from '../../core/rpc/caller.ts'
import { Channel } from '../../core/rpc/ws/channel.ts'
import { RESOLVED } from '../../core/upstream/node/parse-node.ts'
import { parseServerAddress, type ServerAddress } from '../../domain/mesh/address.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import { MAX_PEERS } from '../../domain/mesh/limits.ts'
import type { RouteUpdate } from '../../domain/mesh/messages.ts'
import type { Network } from '../../domain/mesh/network.ts'
import { createRouteReceiver } from '../../domain/mesh/route-receiver.ts'
import { tooManyRequests } from '../../sdk/errors.ts'
import { addLocalNode } from '../../sdk/internal/local-services.ts'
import type { Admission } from './admission.ts'
import type { CheckedPeer } from './check-peer.ts'
import { createLink, type Link, type LinkOwner, SILENCE_MS, toChannelTarget } from './link.ts'
import { NETWORK } from './link-call.ts'
import { createPeerCaller, createTraffic, type Traffic } from './peer-caller.ts'

export interface LinksOptions {
  readonly admission: Admission
  readonly network: Pick<Network, 'table' | 'nodes'>
  readonly log: PluginLog
  /** Called when the set of linked servers changes. */
  readonly onChange: (peers: readonly string[]) => void
}

/** A link with its traffic. */
export interface LinkInfo {
  readonly link: Link
  /** The current or last peer; undefined if unknown. */
  readonly peer: Introduction | undefined
  readonly traffic: Readonly<Traffic>
}

/**
 * Links opened by this server, through which it discovers and calls the services of other servers.
 */
export interface Links {
  /**
   * Links permanently with the server at an address.
   *
   * @throws {GatewayError} 429 if there are too many links.
   */
  readonly connect: (address: ServerAddress) => Link
  /**
   * Links with a server that has a link to this one until {@link closeReverseLink} is called.
   *
   * @throws {GatewayError} 429
   */
  readonly openReverseLink: (peer: CheckedPeer) => void
  readonly closeReverseLink: (peer: string) => void
  readonly list: () => LinkInfo[]
  readonly close: () => void
}

interface Entry {
  readonly link: Link
  readonly traffic: Traffic
  /** Whether the link is configured on this server. */
  isConfigured: boolean
  /** Server for which the reverse link is opened; undefined for other links. */
  requestedBy: string | undefined
  peer: Introduction | undefined
  reverse: ReverseLink | undefined
}

/** Caller for a linked server. */
interface ReverseLink {
  readonly caller: Caller
  readonly receive: (updates: readonly RouteUpdate[]) => void
  readonly unlist: () => void
}

export function createLinks({ admission, network, log, onChange }: LinksOptions): Links {
  const { table, nodes } = network
  /** Entries by {@link toKey}. */
  const entries = new Map<string, Entry>()
  /** Links that are or will soon be established, by server id. */
  const linksByPeer = new Map<string, Link>()
  /** Servers that have a link to this one. */
  const callers = new Set<string>()

  const find = ({ address }: Link): Entry => entries.get(toKey(address))!
  const listLinked = (): Entry[] =>
    [...entries.values()].filter(({ reverse }) => reverse !== undefined)
  const notifyChange = (): void => onChange(listLinked().map(({ peer }) => peer!.id))

  const owner: LinkOwner = {
    reject(link, peer) {
      const entry = find(link)
      entry.peer = peer
      if (admission.isSelf(peer)) return 'the address belongs to this server'
      if (!entry.isConfigured && peer.id !== entry.requestedBy)
        return `the address belongs to server ${peer.id}, not to ${entry.requestedBy}, which advertised it`
      const other = linksByPeer.get(peer.id)
      if (other !== undefined) return `the server ${peer.id} is linked at ${other.address.text}`
      linksByPeer.set(peer.id, link)
      return undefined
    },

    onLinked(link, { id }) {
      const entry = find(link)
      const node = toNode(link.address, id)
      const caller = createPeerCaller({
        caller: openChannel(link.address),
        traffic: entry.traffic,
        // The link may stay open for a moment, but calls are rerouted immediately.
        onDenied(detail) {
          if (entry.reverse?.caller === caller) link.disconnect(detail)
        },
      })
      const unlist = addLocalNode(node.id, caller)
      entry.reverse = { caller, unlist, receive: createRouteReceiver(table, id) }
      nodes.set(id, node)
      table.setPeer(id, link.roundTrip.cost)
      notifyChange()
      log.info({ server: id, address: link.address.text }, 'linked')
    },

    onCost: (link, { id }) => table.setPeer(id, link.roundTrip.cost),
    onUpdate: (link, _peer, updates) => find(link).reverse!.receive(updates),

    onSettled(link, { reason, peer, wasLinked, hasFailedBefore: isRepeated }) {
      const entry = find(link)
      if (wasLinked) {
        closeReverse(entry, peer!.id)
        notifyChange()
      }
      if (peer !== undefined) release(peer.id)
      if (!isRepeated) {
        const details = { address: link.address.text, reason: reason.message, server: peer?.id }
        if (wasLinked) log.warn(details, 'link lost')
        else if (link.state === 'waiting' || !entry.isConfigured) log.warn(details, 'link failed')
        else log.info(details, 'link not needed')
      }
      if (!isNeeded(entry)) remove(entry)
    },
  }

  function isNeeded({ isConfigured, requestedBy }: Entry): boolean {
    return isConfigured || (requestedBy !== undefined && callers.has(requestedBy))
  }

  /** Wakes another link to the same server if there is one. */
  function release(id: string): void {
    linksByPeer.delete(id)
    for (const { link, peer } of entries.values())
      if (link.state === 'asleep' && peer?.id === id) link.activate()
  }

  function closeReverse(entry: Entry, id: string): void {
    const { reverse } = entry
    entry.reverse = undefined
    nodes.delete(id)
    table.removePeer(id)
    reverse?.unlist()
    reverse?.caller.drain()
  }

  function open(address: ServerAddress): Entry {
    if (entries.size >= MAX_PEERS)
      throw tooManyRequests(NETWORK, `limit of ${MAX_PEERS} links reached`)
    const link = createLink({ address, admission, owner })
    const entry: Entry = {
      link,
      traffic: createTraffic(),
      isConfigured: false,
      requestedBy: undefined,
      peer: undefined,
      reverse: undefined,
    }
    entries.set(toKey(address), entry)
    return entry
  }

  function remove({ link }: Entry): void {
    entries.delete(toKey(link.address))
    link.close()
  }

  return {
    connect(address) {
      const entry = entries.get(toKey(address)) ?? open(address)
      entry.isConfigured = true
      entry.link.activate()
      return entry.link
    },

    openReverseLink(peer) {
      if (admission.isSelf(peer)) return
      const address = parseServerAddress(peer.address)
      const isKnown = (entry: Entry): boolean =>
        entry.peer?.id === peer.id || entry.link.address.text === address?.text
      const knownPeers = [...entries.values()].filter(isKnown)
      if (knownPeers.length === 0 && address !== undefined) {
        const { resolved } = peer
        const entry = open(resolved === undefined ? address : { ...address, resolved })
        entry.requestedBy = peer.id
        knownPeers.push(entry)
      }
      callers.add(peer.id)
      // The server is reachable, so waiting is unnecessary.
      if (!linksByPeer.has(peer.id)) for (const { link } of knownPeers) link.activate()
    },

    closeReverseLink(id) {
      callers.delete(id)
      for (const entry of [...entries.values()])
        if (entry.reverse === undefined && !isNeeded(entry)) remove(entry)
    },

    list: () => [...entries.values()].map(({ link, peer, traffic }) => ({ link, peer, traffic })),

    close() {
      for (const entry of [...entries.values()]) {
        remove(entry)
        if (entry.reverse !== undefined) closeReverse(entry, entry.peer!.id)
      }
      linksByPeer.clear()
    },
  }
}

// A link to checked addresses differs from a configured link to the same host name.
function toKey({ text, resolved = [] }: ServerAddress): string {
  return [text, ...resolved].join(' ')
}

function openChannel(address: ServerAddress): Channel {
  return new Channel({
    ...toChannelTarget(address),
    background: true,
    pingAfterMs: SILENCE_MS,
  })
}

function toNode({ secure, text, resolved }: ServerAddress, peer: string): Node {
  const metadata = { protocol: secure ? 'mxs' : 'mx', server: peer }
  return {
    // The peer's id cannot be used, because another link to the same peer is a different node.
    id: `${peer}-${randomUUID()}`,
    address: text.slice(text.indexOf('//') + 2),
    metadata: resolved === undefined ? metadata : { ...metadata, [RESOLVED]: resolved.join(',') },
  }
}

import type { PluginLog } from '../../core/plugin/define.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import { MAX_PEERS } from '../../domain/mesh/limits.ts'
import { createRouteAdvertiser, type RouteAdvertiser } from '../../domain/mesh/route-advertiser.ts'
import type { RouteTable } from '../../domain/mesh/routing-table.ts'
import { conflict, tooManyRequests, unavailable } from '../../sdk/errors.ts'
import { type AcceptedLink, type AcceptOwner, acceptLink } from './accepted-link.ts'
import type { Admission } from './admission.ts'
import type { CheckedPeer, CheckPeer } from './check-peer.ts'
import { NETWORK } from './link-call.ts'
import type { Links } from './links.ts'

export interface AcceptedLinksOptions {
  readonly admission: Admission
  readonly table: RouteTable
  readonly links: Pick<Links, 'openReverseLink' | 'closeReverseLink'>
  readonly log: PluginLog
  /** Checks the addresses of linking servers. @default accepts any address */
  readonly checkPeer?: CheckPeer | undefined
}

/** Links opened by other servers, through which they discover the services of this one. */
export interface AcceptedLinks {
  /**
   * Serves `Network.Link`.
   *
   * @param messages messages from the caller.
   * @param from IP address of the caller.
   * @param id id used in errors.
   * @throws {GatewayError} 429 if there are too many links, 503 while links are not accepted.
   */
  readonly open: (
    messages: AsyncIterable<unknown>,
    from: string,
    id: string,
  ) => AsyncIterableIterator<object>
  /** Starts to accept links. */
  readonly begin: () => void
  /** Called when the routes to a destination have changed. */
  readonly changed: (key: string) => void
  /** Returns the ids of the servers with an accepted link. */
  readonly peers: () => ReadonlySet<string>
  /** Ends all links and rejects new ones. */
  readonly close: () => void
}

interface Entry {
  readonly link: AcceptedLink
  readonly advertiser: RouteAdvertiser
}

/** Maximum number of links that have not proved the token yet, in total and per IP address. */
const MAX_OPENING = 2 * MAX_PEERS
const MAX_OPENING_PER_ADDRESS = 16

export function createAcceptedLinks(options: AcceptedLinksOptions): AcceptedLinks {
  const { admission, table, links, log, checkPeer } = options
  const all = new Set<AcceptedLink>()
  const byPeer = new Map<string, Entry>()
  /** Links that have not proved the token yet, by IP address. */
  const opening = new Map<AcceptedLink, string>()
  let state: 'starting' | 'open' | 'stopping' = 'starting'

  function countOf(address: string): number {
    let count = 0
    for (const from of opening.values()) if (from === address) count++
    return count
  }

  function welcome(link: AcceptedLink, peer: CheckedPeer): RouteAdvertiser {
    const { id } = peer
    opening.delete(link)
    const old = byPeer.get(id)
    if (old === undefined && byPeer.size >= MAX_PEERS)
      throw tooManyRequests(NETWORK, `limit of ${MAX_PEERS} linked servers reached`)
    links.openReverseLink(peer)
    const onOverflow = (): void =>
      log.warn({ server: id }, 'too many services to advertise to a peer; some are omitted')
    const advertiser = createRouteAdvertiser({ table, peer: id, onTooMuch: onOverflow })
    byPeer.set(id, { link, advertiser: advertiser })
    // The previous link of a restarted server may not have ended yet.
    old?.link.end(conflict(NETWORK, `the server ${id} has opened another link`))
    return advertiser
  }

  const owner: AcceptOwner = {
    onOpen: welcome,
    onClose(link) {
      all.delete(link)
      opening.delete(link)
      for (const [id, entry] of byPeer) {
        if (entry.link !== link) continue
        byPeer.delete(id)
        links.closeReverseLink(id)
      }
    },
  }

  return {
    open(messages, from, id) {
      if (state !== 'open') throw unavailable(id, `the server is ${state}`)
      if (opening.size >= MAX_OPENING)
        throw tooManyRequests(id, `limit of ${MAX_OPENING} links being opened reached`)
      if (countOf(from) >= MAX_OPENING_PER_ADDRESS) {
        const detail = `limit of ${MAX_OPENING_PER_ADDRESS} links being opened from this address reached`
        throw tooManyRequests(id, detail)
      }
      const check = checkPeer && ((peer: Introduction) => checkPeer(peer, from))
      const link = acceptLink({ messages, admission, checkPeer: check, id, owner })
      all.add(link)
      opening.set(link, from)
      return link.stream
    },

    begin() {
      state = 'open'
    },

    changed(key) {
      for (const { link, advertiser: teller } of byPeer.values()) {
        teller.mark(key)
        link.wake()
      }
    },

    peers: () => new Set(byPeer.keys()),

    close() {
      state = 'stopping'
      for (const link of [...all]) link.end()
    },
  }
}

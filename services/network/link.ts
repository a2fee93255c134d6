import { createPinnedLookup } from '../../core/egress/pinned-lookup.ts'
import { GatewayError } from '../../core/errors.ts'
import { Channel, type ChannelOptions } from '../../core/rpc/ws/channel.ts'
import type { ServerAddress } from '../../domain/mesh/address.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import type { LinkMessage, RouteUpdate } from '../../domain/mesh/messages.ts'
import { createRoundTrip, type RoundTrip } from '../../domain/mesh/rtt.ts'
import { createBackOff } from '../../lib/async/backoff.ts'
import type { Admission } from './admission.ts'
import { LinkCall, NETWORK, ReadAllowance } from './link-call.ts'

/**
 * State of a link.
 * - `connecting`: being opened.
 * - `linked`: established.
 * - `waiting`: will be retried.
 * - `asleep`: not needed until it is woken.
 */
export type LinkState = 'connecting' | 'linked' | 'waiting' | 'asleep'

/** Callbacks of a link. */
export interface LinkOwner {
  /** Returns why a link with this server is not needed, or undefined if it is needed. */
  readonly reject: (link: Link, peer: Introduction) => string | undefined
  /** Called when the link is established and its metric is known. */
  readonly onLinked: (link: Link, peer: Introduction) => void
  readonly onCost: (link: Link, peer: Introduction) => void
  /** @throws {TypeError} for an invalid message. */
  readonly onUpdate: (link: Link, peer: Introduction, updates: readonly RouteUpdate[]) => void
  /** Called when the link has become `waiting` or `asleep`. */
  readonly onSettled: (link: Link, end: LinkEnd) => void
}

/** Result of an attempt. */
export interface LinkEnd {
  readonly reason: GatewayError
  /** The peer; undefined if unknown. */
  readonly peer: Introduction | undefined
  /** Whether the link was established. */
  readonly wasLinked: boolean
  /** Whether the previous attempt also failed. */
  readonly hasFailedBefore: boolean
}

export interface LinkOptions {
  readonly address: ServerAddress
  readonly admission: Admission
  readonly owner: LinkOwner
}

/**
 * Link to the server at an address, through which this server discovers and calls its services. It
 * is retried indefinitely.
 */
export interface Link {
  readonly address: ServerAddress
  readonly state: LinkState
  /** Last error. Undefined if the link is established or has not failed yet. */
  readonly reason: GatewayError | undefined
  readonly roundTrip: RoundTrip
  /** Resolves once no attempt is in flight. */
  readonly settled: () => Promise<void>
  /** Retries immediately if the link is waiting or asleep. */
  readonly activate: () => void
  /** Ends an established link with this reason, as if the link had failed. */
  readonly disconnect: (detail: string) => void
  /** Closes the link. No callbacks are called afterwards. */
  readonly close: () => void
}

/** Timeout from the first packet until the link is established. */
const OPEN_MS = 5000
const PING_MS = 1000
// Pings are sequential, because a single ping may coincide with a busy moment.
const FIRST_PINGS = 3
/**
 * Idle time after which the connection is tested. After the same time again, the connection and its
 * calls in flight are closed.
 */
export const SILENCE_MS = 1500
/** Uptime after which the back-off is reset. */
const STABLE_MS = 5000

/** State of an attempt. */
interface Attempt {
  readonly hello: Introduction
  readonly channel: Channel
  readonly call: LinkCall
  readonly roundTrip: RoundTrip
  /** Introduction of the reached server, which has not been authenticated. */
  callee: Introduction | undefined
  /** Introduction of the server, set once it has proved that it has the token. */
  peer: Introduction | undefined
  /** Number and time of the last ping. A time of 0 means that it has been answered. */
  pings: number
  pingMs: number
  /** Time when the link was established; 0 if it is not established yet. */
  linkedMs: number
}

export function createLink({ address, admission, owner }: LinkOptions): Link {
  const backOff = createBackOff()
  const allowance = new ReadAllowance()
  let state: LinkState = 'connecting'
  let reason: GatewayError | undefined
  let attempt: Attempt | undefined
  /** Timer for the attempt's timeout, the back-off, or the next ping. */
  let timer: NodeJS.Timeout | undefined
  let waiting: (() => void)[] = []
  let closed = false

  function begin(): void {
    clearTimeout(timer)
    state = 'connecting'
    const channel = new Channel({
      ...toChannelTarget(address),
      background: true,
      connectTimeoutMs: OPEN_MS,
      pingAfterMs: SILENCE_MS,
    })
    const hello = admission.createHello()
    const call = new LinkCall(
      { type: 'hello', ...hello },
      {
        onMessage: (message) => receive(current, message),
        onSettled: (error) => end(error, 'waiting'),
      },
      allowance,
    )
    const current: Attempt = {
      hello,
      channel,
      call,
      roundTrip: createRoundTrip(),
      callee: undefined,
      peer: undefined,
      pings: 0,
      pingMs: 0,
      linkedMs: 0,
    }
    attempt = current
    const late = new GatewayError(NETWORK, 408, `no link within ${OPEN_MS} ms`)
    timer = setTimeout(() => end(late, 'waiting'), OPEN_MS).unref()
    channel.call(call)
  }

  /** @throws {TypeError} for a message that is not allowed in this state. */
  function receive(current: Attempt, message: LinkMessage): void {
    const { callee, peer } = current
    if (message.type === 'welcome' && callee === undefined)
      return prove(current, message.introduction)
    if (message.type === 'proof' && callee !== undefined && peer === undefined)
      return greet(current, callee, message.proof)
    if (message.type === 'pong' && current.pingMs > 0 && message.n === current.pings)
      return measure(current)
    if (message.type === 'routes' && current.linkedMs > 0)
      return owner.onUpdate(link, peer!, message.routes)
    throw new TypeError(`unexpected message type ${message.type}`)
  }

  function prove(current: Attempt, callee: Introduction): void {
    current.callee = callee
    try {
      const proof = admission.prove('caller', { caller: current.hello, callee })
      current.call.send({ type: 'proof', proof })
    } catch (error) {
      end(GatewayError.from(error, NETWORK), 'waiting')
    }
  }

  function greet(current: Attempt, peer: Introduction, proof: string): void {
    const pair = { caller: current.hello, callee: peer }
    try {
      admission.authenticate('callee', proof, pair)
    } catch (error) {
      return end(GatewayError.from(error, NETWORK), 'waiting')
    }
    const refusal = owner.reject(link, peer)
    if (refusal !== undefined) return end(new GatewayError(NETWORK, 409, refusal), 'asleep')
    current.peer = peer
    ping(current)
  }

  function ping(current: Attempt): void {
    current.pings++
    const isSent = current.call.send({ type: 'ping', n: current.pings })
    // Skipped on a busy connection; the next ping follows.
    current.pingMs = isSent ? performance.now() : 0
  }

  function measure(current: Attempt): void {
    const isNew = current.roundTrip.add(performance.now() - current.pingMs)
    current.pingMs = 0
    if (current.pings < FIRST_PINGS) ping(current)
    if (current.linkedMs > 0) {
      if (isNew) owner.onCost(link, current.peer!)
      return
    }
    clearTimeout(timer)
    timer = setInterval(() => {
      if (current.pingMs === 0) ping(current)
    }, PING_MS).unref()
    current.linkedMs = performance.now()
    reason = undefined
    settle('linked')
    owner.onLinked(link, current.peer!)
  }

  function end(error: GatewayError, next: 'waiting' | 'asleep'): void {
    const current = attempt
    if (current === undefined) return
    const { peer, linkedMs } = current
    const isRepeated = reason !== undefined
    drop()
    if (linkedMs > 0 && performance.now() - linkedMs >= STABLE_MS) backOff.reset()
    if (next === 'waiting') timer = setTimeout(begin, backOff.next()).unref()
    reason = error
    settle(next)
    owner.onSettled(link, {
      reason: error,
      peer,
      wasLinked: linkedMs > 0,
      hasFailedBefore: isRepeated,
    })
  }

  function drop(): void {
    clearTimeout(timer)
    const current = attempt
    attempt = undefined
    current?.call.close()
    current?.channel.close()
  }

  function settle(next: LinkState): void {
    state = next
    const resolves = waiting
    waiting = []
    for (const resolve of resolves) resolve()
  }

  const NONE = createRoundTrip()
  const link: Link = {
    address,
    get state() {
      return state
    },
    get reason() {
      return reason
    },
    get roundTrip() {
      return attempt?.roundTrip ?? NONE
    },

    settled() {
      if (state !== 'connecting') return Promise.resolve()
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    },

    activate() {
      if (!closed && (state === 'waiting' || state === 'asleep')) begin()
    },

    disconnect(detail) {
      if (state === 'linked') end(new GatewayError(NETWORK, 502, detail), 'waiting')
    },

    close() {
      closed = true
      drop()
      settle('asleep')
    },
  }
  begin()
  return link
}

/** Returns the address that a channel to a server connects to. */
export function toChannelTarget({ host, port, secure, resolved }: ServerAddress): ChannelOptions {
  const target = { host, port, secure }
  return resolved === undefined ? target : { ...target, lookup: createPinnedLookup(resolved) }
}

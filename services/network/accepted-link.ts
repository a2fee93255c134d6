import { GatewayError } from '../../core/errors.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import { type LinkMessage, readMessage } from '../../domain/mesh/messages.ts'
import { badRequest, timeout } from '../../sdk/errors.ts'
import type { Admission } from './admission.ts'
import type { CheckedPeer } from './check-peer.ts'
import { MAX_REASON } from './link-call.ts'
import { createOutbox, type UpdateSource } from './update-queue.ts'

/** Callbacks of an accepted link. */
export interface AcceptOwner {
  /**
   * Called when the peer has proved that it has the token. It receives updates from now on.
   *
   * @throws {GatewayError} to reject the link.
   */
  readonly onOpen: (link: AcceptedLink, peer: CheckedPeer) => UpdateSource
  readonly onClose: (link: AcceptedLink) => void
}

export interface AcceptedLinkOptions {
  /** Messages from the peer. */
  readonly messages: AsyncIterable<unknown>
  readonly admission: Admission
  /** Checks the peer's address. @default accepts any address */
  readonly checkPeer?: ((peer: Introduction) => Promise<CheckedPeer>) | undefined
  /** Id used in errors. */
  readonly id: string
  readonly owner: AcceptOwner
}

/**
 * A link opened by another server, through which that server discovers the services of this one.
 */
export interface AcceptedLink {
  /** Messages to the peer. */
  readonly stream: AsyncIterableIterator<object>
  /** Called when updates may be available. */
  readonly wake: () => void
  /** Ends the stream, with an error if `reason` is set. */
  readonly end: (reason?: Error) => void
}

const OPEN_MS = 5000
/** Timeout for messages. A peer sends one every second, or later on a busy connection. */
const CHECK_MS = 5000
const MAX_SILENT_CHECKS = 3

/** Serves a call of `Network.Link`. */
export function acceptLink(options: AcceptedLinkOptions): AcceptedLink {
  const { messages, admission, checkPeer, id, owner } = options
  const incoming = messages[Symbol.asyncIterator]()
  let closed = false
  const outbox = createOutbox(() => {
    closed = true
    clearTimeout(timer)
    owner.onClose(link)
  })
  const link: AcceptedLink = { stream: outbox, wake: outbox.wake, end: outbox.end }
  let silentChecks = 0
  let timer = setTimeout(() => {
    outbox.end(timeout(id, `no link within ${OPEN_MS} ms`))
  }, OPEN_MS).unref()

  /** Receives the next message, which must be of this type. @throws {GatewayError} */
  async function receive<T extends LinkMessage['type']>(
    type: T,
  ): Promise<Extract<LinkMessage, { readonly type: T }>> {
    const { done, value } = await incoming.next()
    if (done || closed) throw new PeerClosed()
    let message: LinkMessage
    try {
      message = readMessage(value)
    } catch (error) {
      const reason = (error as Error).message.slice(0, MAX_REASON)
      throw badRequest(id, `request is malformed: ${reason}`)
    }
    if (message.type !== type)
      throw badRequest(id, `unexpected request.type ${message.type}, expected ${type}`)
    silentChecks = 0
    return message as Extract<LinkMessage, { readonly type: T }>
  }

  async function answerPing(): Promise<void> {
    const { n } = await receive('ping')
    outbox.send({ type: 'pong', n })
  }

  async function runHandshake(): Promise<void> {
    const { introduction: caller } = await receive('hello')
    const callee = admission.createHello()
    const pair = { caller, callee }
    outbox.send({ type: 'welcome', ...callee })
    const { proof } = await receive('proof')
    // The caller must prove first. Otherwise, an unknown caller would receive data against which it could verify
    // guesses of the token.
    admission.authenticate('caller', proof, pair)
    outbox.send({ type: 'proof', proof: admission.prove('callee', pair) })
    await answerPing()
    clearTimeout(timer)
    timer = setInterval(() => {
      if (++silentChecks > MAX_SILENT_CHECKS)
        outbox.end(timeout(id, `no message received from ${caller.id}`))
    }, CHECK_MS).unref()
    const peer: CheckedPeer = checkPeer === undefined ? caller : await checkPeer(caller)
    if (closed) throw new PeerClosed()
    outbox.begin(owner.onOpen(link, peer))
    for (;;) await answerPing()
  }

  runHandshake().catch((error: unknown) => {
    if (error instanceof PeerClosed) outbox.end()
    else outbox.end(error instanceof GatewayError ? error : badRequest(id, String(error)))
  })
  return link
}

/** The peer has ended its stream or disconnected. */
class PeerClosed extends Error {}

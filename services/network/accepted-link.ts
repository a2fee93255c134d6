import { GatewayError } from '../../core/errors.ts'
import type { Introduction } from '../../domain/mesh/handshake.ts'
import { type LinkMessage, readMessage } from '../../domain/mesh/messages.ts'
import { badRequest, timeout } from '../../sdk/errors.ts'
import type { Admission } from './admission.ts'
import type { CheckedPeer } from './check-peer.ts'
import { MAX_REASON } from './link-call.ts'
import { createOutbox, type UpdateSource } from './update-queue.ts'

/** Whom a link tells that another server opened. */
export interface AcceptOwner {
  /** The peer has shown that it may: from now on it is told these news. @throws {GatewayError} when there must be no link. */
  readonly onOpen: (link: AcceptedLink, peer: CheckedPeer) => UpdateSource
  readonly onClose: (link: AcceptedLink) => void
}

export interface AcceptOptions {
  /** What the peer says. */
  readonly messages: AsyncIterable<unknown>
  readonly admission: Admission
  /** Checks the peer's address. @default it is believed */
  readonly checkPeer?: ((peer: Introduction) => Promise<CheckedPeer>) | undefined
  /** Id of errors. */
  readonly id: string
  readonly owner: AcceptOwner
}

/** A link that another server opened: it learns by it what this one has. */
export interface AcceptedLink {
  /** What the peer is told. */
  readonly stream: AsyncIterableIterator<object>
  /** There may be news. */
  readonly wake: () => void
  /** Nothing more is told: the peer gets this error, or the end of the stream. */
  readonly end: (reason?: Error) => void
}

const OPEN_MS = 5000
/** A peer says something every second; on a line that is busy with calls it comes late. */
const LOOK_MS = 5000
const LOOKS = 3

/** Serves a call of `Network.Link`. */
export function acceptLink(options: AcceptOptions): AcceptedLink {
  const { messages, admission, checkPeer, id, owner } = options
  const incoming = messages[Symbol.asyncIterator]()
  let closed = false
  const outbox = createOutbox(() => {
    closed = true
    clearTimeout(timer)
    owner.onClose(link)
  })
  const link: AcceptedLink = { stream: outbox, wake: outbox.wake, end: outbox.end }
  let silentLooks = 0
  let timer = setTimeout(() => {
    outbox.end(timeout(id, `no link within ${OPEN_MS} ms`))
  }, OPEN_MS).unref()

  /** The next message, which has to be of this type. @throws {GatewayError} */
  async function hear<T extends LinkMessage['type']>(
    type: T,
  ): Promise<Extract<LinkMessage, { readonly type: T }>> {
    const { done, value } = await incoming.next()
    if (done || closed) throw new Left()
    let message: LinkMessage
    try {
      message = readMessage(value)
    } catch (error) {
      const reason = (error as Error).message.slice(0, MAX_REASON)
      throw badRequest(id, `request is malformed: ${reason}`)
    }
    if (message.type !== type)
      throw badRequest(id, `request.type must be ${type} now, got ${message.type}`)
    silentLooks = 0
    return message as Extract<LinkMessage, { readonly type: T }>
  }

  async function answerPing(): Promise<void> {
    const { n } = await hear('ping')
    outbox.say({ type: 'pong', n })
  }

  async function converse(): Promise<void> {
    const { introduction: caller } = await hear('hello')
    const callee = admission.introduce()
    const pair = { caller, callee }
    outbox.say({ type: 'welcome', ...callee })
    const { proof } = await hear('proof')
    // The caller proves first: a stranger receives nothing that its guesses of the token could be tested with.
    admission.judge('caller', proof, pair)
    outbox.say({ type: 'proof', proof: admission.prove('callee', pair) })
    await answerPing()
    clearTimeout(timer)
    timer = setInterval(() => {
      if (++silentLooks > LOOKS) outbox.end(timeout(id, `nothing was heard of ${caller.id}`))
    }, LOOK_MS).unref()
    const peer: CheckedPeer = checkPeer === undefined ? caller : await checkPeer(caller)
    if (closed) throw new Left()
    outbox.begin(owner.onOpen(link, peer))
    for (;;) await answerPing()
  }

  converse().catch((error: unknown) => {
    if (error instanceof Left) outbox.end()
    else outbox.end(error instanceof GatewayError ? error : badRequest(id, String(error)))
  })
  return link
}

/** The peer says nothing more, or nobody listens. */
class Left extends Error {}

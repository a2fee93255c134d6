import { setTimeout as delay } from 'node:timers/promises'
import { isServiceName } from '../../../core/registry/service-name.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { type Answer, type ConsulClient, joinChunks } from './http/client.ts'
import { isConsulError } from './http/errors.ts'
import { isRecord, readText } from './http/json.ts'
import { callRaw } from './http/raw-call.ts'

export interface AnnouncementsOptions {
  /** Told the name of each service of which somebody says that it changes; Consul itself may tell of that a little later. */
  readonly onMessage: (name: string) => void
  /** Told, once, when announcements are refused. */
  readonly warn: (reason: string) => void
}

/**
 * User events of Consul's gossip, with which those who register tell those who read: they arrive at once, however long Consul takes
 * to list its catalog. Who cannot send or hear them loses nothing but time.
 */
export interface Announcements {
  /** Settled once it was sent, together with others, or failed to be. Never fails. */
  readonly announce: (name: string) => Promise<void>
  /** Hears those of others from now on. */
  readonly listen: () => void
  readonly stop: () => void
}

/** Name of the events; names of services are their payload, separated by blanks. */
export const EVENT = 'mx'
/** Longest payload, bytes: Consul takes events of 512 in all. */
const MAX_PAYLOAD = 300
/** Shortest pause between two events sent, and between two answers heard; milliseconds. */
const GAP_MS = 200
/** Services that wait to be announced, at most: of the others the catalog tells. */
const MAX_QUEUED = 1000
/** Seconds a question may wait at Consul. */
const WAIT_SECONDS = 60
const LATE_MS = 6000
const RETRY = { minMs: 100, maxMs: 10_000 }
/** Pause after a refusal. */
const DENIED_MS = 60_000

export function createAnnouncements(
  client: ConsulClient,
  { onMessage, warn }: AnnouncementsOptions,
): Announcements {
  const stopper = new AbortController()
  const { signal } = stopper
  const queued = new Set<string>()
  let sending: Promise<void> | undefined
  /** When the next event may be sent. */
  let nextMs = 0
  let deniedMs = Number.NEGATIVE_INFINITY
  let isListening = false

  async function sendAll(): Promise<void> {
    for (;;) {
      // Only ahead of the next one: whoever deregisters waits for what is sent, not for the pause behind it.
      const pauseMs = nextMs - performance.now()
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => queued.clear())
      if (queued.size === 0) return
      nextMs = performance.now() + GAP_MS
      const names = takeNames(queued)
      try {
        await client.ask(
          (consul, call) =>
            callRaw(
              consul,
              'put',
              { path: `/event/fire/${EVENT}`, body: Buffer.from(names) },
              call,
            ),
          { needs: `event:write ${JSON.stringify(EVENT)}` },
        )
      } catch (error) {
        queued.clear()
        if (!isConsulError(error) || !error.denied) return
        deniedMs = performance.now()
        warn(`changes of services are not announced, and take longer to arrive: ${error.message}`)
        return
      }
      if (queued.size === 0) return
    }
  }

  async function send(): Promise<void> {
    try {
      await sendAll()
    } finally {
      // Not later: what is announced meanwhile would be sent by nobody.
      sending = undefined
    }
  }

  async function hear(): Promise<void> {
    let index: string | undefined
    let last = ''
    const backOff = createBackOff(RETRY)
    for (;;) {
      try {
        const answer = await ask(index)
        const events = readEvents(answer)
        answer.release()
        // Those from before are not news.
        if (index !== undefined)
          for (const { names } of events.slice(events.findIndex(({ id }) => id === last) + 1))
            for (const name of names) if (isServiceName(name)) onMessage(name)
        last = events.at(-1)?.id ?? ''
        index = answer.index
        backOff.reset()
        await delay(GAP_MS, undefined, { signal, ref: false })
      } catch (error) {
        if (signal.aborted) return
        const isDenied = isConsulError(error) && error.denied
        await delay(isDenied ? DENIED_MS : backOff.next(), undefined, { signal, ref: false })
      }
    }
  }

  function ask(index: string | undefined): Promise<Answer> {
    const waits = index !== undefined
    return client.ask(
      (consul, call) =>
        callRaw(
          consul,
          'get',
          {
            path: '/event/list',
            query: { name: EVENT, ...(waits && { index, wait: `${WAIT_SECONDS}s` }) },
          },
          call,
        ),
      {
        needs: `event:read ${JSON.stringify(EVENT)}`,
        signal,
        ...(waits && { waits, timeoutMs: WAIT_SECONDS * 1000 + LATE_MS }),
      },
    )
  }

  return {
    async announce(name) {
      if (signal.aborted || performance.now() - deniedMs < DENIED_MS) return
      if (queued.size >= MAX_QUEUED) return
      queued.add(name)
      sending ??= send()
      await sending
    },

    listen() {
      if (isListening || signal.aborted) return
      isListening = true
      hear().catch((error: unknown) => {
        if (!signal.aborted) process.emitWarning(error instanceof Error ? error : String(error))
      })
    },

    stop: () => stopper.abort(),
  }
}

/** As many as one event holds, at least one. */
function takeNames(queued: Set<string>): string {
  let text = ''
  for (const name of queued) {
    const longer = text === '' ? name : `${text} ${name}`
    if (text !== '' && longer.length > MAX_PAYLOAD) break
    text = longer
    queued.delete(name)
  }
  return text
}

function readEvents({
  chunks,
}: Answer): { readonly id: string; readonly names: readonly string[] }[] {
  const events: unknown = JSON.parse(joinChunks(chunks).toString())
  if (!Array.isArray(events)) throw new SyntaxError('it answers no list of events')
  return events.filter(isRecord).map((event) => ({
    id: readText(event, 'ID'),
    names: Buffer.from(readText(event, 'Payload'), 'base64').toString().split(' '),
  }))
}

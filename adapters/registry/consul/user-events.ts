import { setTimeout as delay } from 'node:timers/promises'
import { isServiceName } from '../../../core/registry/service-name.ts'
import { createBackOff } from '../../../lib/async/backoff.ts'
import { type ConsulClient, type ConsulResponse, joinChunks } from './http/client.ts'
import { isConsulError } from './http/errors.ts'
import { isRecord, readText } from './http/json.ts'
import { callRaw } from './http/raw-call.ts'

export interface AnnouncementsOptions {
  /** Called with each announced service. Consul itself may report the change a little later. */
  readonly onMessage: (name: string) => void
  /** Called once when announcements are denied. */
  readonly warn: (reason: string) => void
}

/**
 * Announces changes to services through user events of Consul's gossip, which arrive immediately
 * even if listing the catalog takes long. Without permission to send or receive events, changes
 * only arrive later.
 */
export interface Announcements {
  /**
   * Settles when the announcement has been sent, possibly with others, or has failed. Never
   * rejects.
   */
  readonly announce: (name: string) => Promise<void>
  /** Starts to receive announcements. */
  readonly listen: () => void
  readonly stop: () => void
}

/** Event name. The payload consists of service names separated by spaces. */
export const EVENT = 'mx'
/** Maximum payload in bytes. Consul limits events to 512 bytes in total. */
const MAX_PAYLOAD = 300
/** Minimum interval between events sent and between queries, in milliseconds. */
const GAP_MS = 200
/** Maximum number of queued announcements. The catalog reports further changes. */
const MAX_QUEUED = 1000
/** Maximum duration of a blocking query in seconds. */
const WAIT_SECONDS = 60
const GRACE_MS = 6000
const RETRY = { minMs: 100, maxMs: 10_000 }
/** Back-off after a denial. */
const DENIED_MS = 60_000

export function createAnnouncements(
  client: ConsulClient,
  { onMessage, warn }: AnnouncementsOptions,
): Announcements {
  const controller = new AbortController()
  const { signal } = controller
  const queued = new Set<string>()
  let sending: Promise<void> | undefined
  /** Earliest time of the next event. */
  let nextMs = 0
  let deniedMs = Number.NEGATIVE_INFINITY
  let isListening = false

  async function sendAll(): Promise<void> {
    for (;;) {
      // Pauses before the event rather than after it: deregistration waits for the send but not for
      // the pause.
      const pauseMs = nextMs - performance.now()
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => queued.clear())
      if (queued.size === 0) return
      nextMs = performance.now() + GAP_MS
      const names = takeNames(queued)
      try {
        await client.request(
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
        warn(`changes to services are not announced and arrive later: ${error.message}`)
        return
      }
      if (queued.size === 0) return
    }
  }

  async function send(): Promise<void> {
    try {
      await sendAll()
    } finally {
      // Reset immediately, because a later announcement must start another send.
      sending = undefined
    }
  }

  async function receive(): Promise<void> {
    let index: string | undefined
    let last = ''
    const backOff = createBackOff(RETRY)
    for (;;) {
      try {
        const response = await request(index)
        const events = readEvents(response)
        response.release()
        // Events sent before the first query are outdated.
        if (index !== undefined)
          for (const { names } of events.slice(events.findIndex(({ id }) => id === last) + 1))
            for (const name of names) if (isServiceName(name)) onMessage(name)
        last = events.at(-1)?.id ?? ''
        index = response.index
        backOff.reset()
        await delay(GAP_MS, undefined, { signal, ref: false })
      } catch (error) {
        if (signal.aborted) return
        const isDenied = isConsulError(error) && error.denied
        await delay(isDenied ? DENIED_MS : backOff.next(), undefined, { signal, ref: false })
      }
    }
  }

  function request(index: string | undefined): Promise<ConsulResponse> {
    const blocking = index !== undefined
    return client.request(
      (consul, call) =>
        callRaw(
          consul,
          'get',
          {
            path: '/event/list',
            query: { name: EVENT, ...(blocking && { index, wait: `${WAIT_SECONDS}s` }) },
          },
          call,
        ),
      {
        needs: `event:read ${JSON.stringify(EVENT)}`,
        signal,
        ...(blocking && { blocking, timeoutMs: WAIT_SECONDS * 1000 + GRACE_MS }),
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
      receive().catch((error: unknown) => {
        if (!signal.aborted) process.emitWarning(error instanceof Error ? error : String(error))
      })
    },

    stop: () => controller.abort(),
  }
}

/** Removes as many names as fit into one event, but at least one. */
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
}: ConsulResponse): { readonly id: string; readonly names: readonly string[] }[] {
  const events: unknown = JSON.parse(joinChunks(chunks).toString())
  if (!Array.isArray(events)) throw new SyntaxError('it did not return a list of events')
  return events.filter(isRecord).map((event) => ({
    id: readText(event, 'ID'),
    names: Buffer.from(readText(event, 'Payload'), 'base64').toString().split(' '),
  }))
}

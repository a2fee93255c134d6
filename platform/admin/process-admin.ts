import type { Maybe } from '../../lib/async/maybe.ts'
import type { Configuration } from '../config/types.ts'
import type { Log } from '../process/log.ts'
import type { AdminSource } from './admin.ts'
import { format } from './metrics/format.ts'
import { prefersOpenMetrics } from './metrics/negotiate.ts'
import { readProcess } from './metrics/read-process.ts'
import type { Metric } from './metrics/samples.ts'
import { type OpenAdmin, openAdmin } from './open-admin.ts'
import { createReadiness } from './readiness.ts'

/** What a process that serves is asked by its admin address. */
export interface AdminProcess {
  /** What it lacks to serve, a line each. */
  readonly problems: () => Maybe<readonly string[]>
  readonly metrics: () => Promise<readonly Metric[]>
  /** The setting that is in force. */
  readonly drainDelayMs: () => number
}

/**
 * The admin address of a process, from before it starts until it has drained.
 *
 * {@link start}, then {@link tell} once it serves, {@link leave} when it is asked to end, {@link close} when it has.
 */
export interface ProcessAdmin {
  /**
   * Opens the address, then starts the process; closes it where that fails.
   *
   * @throws {Error} with one line when the address cannot be opened, and what `open` throws.
   */
  readonly start: <T>(open: () => Promise<T>) => Promise<T>
  /** It serves. */
  readonly tell: (told: AdminProcess) => void
  /** Undefined: there is none. */
  readonly url: string | undefined
  /** Logs why there is none, where nobody asked for that. */
  readonly warn: () => void
  /** It is not ready any more. */
  readonly leave: () => void
  /** How long it takes requests all the same; 0 before it serves. */
  readonly delayMs: () => number
  readonly close: () => Promise<void>
}

export function createProcessAdmin(configuration: Configuration, log: Log): ProcessAdmin {
  const readiness = createReadiness()
  let opened: OpenAdmin | undefined
  let told: AdminProcess | undefined
  const scrapes = new Map<boolean, Promise<AdminSource>>()

  /** Those who ask at one time get one answer: however many there are, the process works for one. */
  function scrape(accept: string): Promise<AdminSource> {
    const isOpen = prefersOpenMetrics(accept)
    const running = scrapes.get(isOpen)
    if (running !== undefined) return running
    const told = read(isOpen).finally(() => scrapes.delete(isOpen))
    scrapes.set(isOpen, told)
    return told
  }

  async function read(isOpen: boolean): Promise<AdminSource> {
    const metrics = told === undefined ? await readProcess() : await told.metrics()
    return await format(metrics, isOpen)
  }

  const close = async (): Promise<void> => opened?.close()
  return {
    async start(open) {
      opened = await openAdmin(configuration, { readiness, scrape, log })
      try {
        return await open()
      } catch (error) {
        await close()
        throw error
      }
    },

    tell(given) {
      told = given
      readiness.serve(given.problems)
    },

    get url() {
      return opened?.url
    },

    warn() {
      if (opened?.warning !== undefined) log.warn(opened.warning)
    },

    leave: readiness.leave,
    delayMs: () => (readiness.isServing ? (told?.drainDelayMs() ?? 0) : 0),
    close,
  }
}

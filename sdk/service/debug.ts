import { readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { Type } from '../../core/schema.ts'
import type { Context } from '../context.ts'
import type { ServiceLog } from '../log/service-log.ts'
import { Int64 } from '../schema/schema-types.ts'
import type { Traces } from '../tracing/traces.ts'
import { type Endpoints, endpoint } from './endpoint.ts'

/** What a service has served since it started. */
export interface CallCounts {
  readonly requests: number
  readonly errors: number
}

/** What the endpoints of `Debug` look at. */
export interface DebugSources {
  readonly log: ServiceLog
  readonly traces: Traces
  readonly counts: () => CallCounts
  /** Throws for callers that may learn no more than whether the service answers. */
  readonly check: (ctx: Context) => void
}

const Texts = Type.Record(Type.String(), Type.String())
const NS_PER_MS = 1e6

/** Time this process spent collecting garbage since its first service was built, nanoseconds. */
let gcNs = 0
let observer: PerformanceObserver | undefined

/**
 * The endpoints every service has: `Debug.Health`, `Debug.Stats`, `Debug.Log`, `Debug.Trace` (reference 12).
 *
 * Not registered, and so in no list; the rules of access hold for all but the first, and a service
 * with a gate tells only administrators more than that.
 */
export function createDebugEndpoints({ log, traces, counts, check }: DebugSources): Endpoints {
  const startedMs = Date.now()
  observeGarbage()
  return {
    health: endpoint({
      description: 'Whether the service answers.',
      readOnly: true,
      response: Type.Object({ status: Type.String() }),
      handle: () => ({ status: 'ok' }),
    }),
    stats: endpoint({
      description: 'What the service has done, and what it takes.',
      readOnly: true,
      response: Type.Object({
        timestamp: Type.Integer({ description: 'Seconds since 1970.' }),
        started: Type.Integer({ description: 'Seconds since 1970.' }),
        uptime: Type.Integer({ description: 'Seconds.' }),
        memory: Type.Integer({ description: 'Resident bytes of the process.' }),
        threads: Type.Integer({ description: 'Of the process; 0 where that is not known.' }),
        gc: Type.Integer({ description: 'Nanoseconds spent collecting garbage.' }),
        requests: Type.Integer(),
        errors: Type.Integer(),
      }),
      handle(_, ctx) {
        check(ctx)
        const nowMs = Date.now()
        return {
          timestamp: toSeconds(nowMs),
          started: toSeconds(startedMs),
          uptime: toSeconds(nowMs - startedMs),
          memory: process.memoryUsage.rss(),
          threads: countThreads(),
          gc: Math.round(gcNs),
          ...counts(),
        }
      },
    }),
    log: endpoint({
      description: 'The last lines of the log, at most 256.',
      readOnly: true,
      request: Type.Object({
        count: Type.Integer({ minimum: 0, default: 0, description: 'Lines; 0: all.' }),
        since: Type.Integer({ minimum: 0, default: 0, description: 'Seconds ago; 0: ever.' }),
      }),
      response: Type.Object({
        records: Type.Array(
          Type.Object({ timestamp: Type.Integer(), metadata: Texts, message: Type.String() }),
        ),
      }),
      handle({ count, since }, ctx) {
        check(ctx)
        const from = since === 0 ? 0 : toSeconds(Date.now()) - since
        const records = log.records().filter(({ timestamp }) => timestamp >= from)
        return { records: count === 0 ? records : records.slice(-count) }
      },
    }),
    trace: endpoint({
      description: 'The last calls, at most 256.',
      readOnly: true,
      request: Type.Object({
        id: Type.String({ default: '', description: 'Of one trace; empty: all.' }),
      }),
      response: Type.Object({
        spans: Type.Array(
          Type.Object({
            trace: Type.String(),
            id: Type.String(),
            parent: Type.String(),
            name: Type.String(),
            started: Int64({ description: 'Nanoseconds since 1970.' }),
            duration: Int64({ description: 'Nanoseconds.' }),
            metadata: Texts,
            type: Type.Union([Type.Literal('INBOUND'), Type.Literal('OUTBOUND')]),
          }),
        ),
      }),
      handle({ id }, ctx) {
        check(ctx)
        return { spans: traces.list(id) }
      },
    }),
  }
}

function observeGarbage(): void {
  if (observer !== undefined) return
  observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) gcNs += duration * NS_PER_MS
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** As Linux counts them. */
function countThreads(): number {
  try {
    return Number(/^Threads:\s*(\d+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

function toSeconds(ms: number): number {
  return Math.floor(ms / 1000)
}

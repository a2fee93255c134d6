import { readFileSync } from 'node:fs'
import { PerformanceObserver } from 'node:perf_hooks'
import { Type } from '../../core/schema.ts'
import type { Context } from '../context.ts'
import type { ServiceLog } from '../log/service-log.ts'
import { Int64 } from '../schema/schema-types.ts'
import type { Traces } from '../tracing/traces.ts'
import { type Endpoints, endpoint } from './endpoint.ts'

/** Counters of a service since its start. */
export interface CallCounts {
  readonly requests: number
  readonly errors: number
}

/** Data of the `Debug` endpoints. */
export interface DebugSources {
  readonly log: ServiceLog
  readonly traces: Traces
  readonly counts: () => CallCounts
  /** Throws for callers that may only check the service's health. */
  readonly check: (ctx: Context) => void
}

const Texts = Type.Record(Type.String(), Type.String())
const NS_PER_MS = 1e6

/** Garbage collection time in nanoseconds since the first service of this process was created. */
let gcNs = 0
let observer: PerformanceObserver | undefined

/**
 * The endpoints of every service: `Debug.Health`, `Debug.Stats`, `Debug.Log`, `Debug.Trace` (reference 12).
 *
 * They are not registered and therefore not listed. Access rules apply to all except `Debug.Health`. With an
 * authorizer, only administrators may call these.
 */
export function createDebugEndpoints({ log, traces, counts, check }: DebugSources): Endpoints {
  const startedMs = Date.now()
  observeGarbage()
  return {
    health: endpoint({
      description: 'Check if the service responds.',
      readOnly: true,
      response: Type.Object({ status: Type.String() }),
      handle: () => ({ status: 'ok' }),
    }),
    stats: endpoint({
      description: 'Counters and resource usage.',
      readOnly: true,
      response: Type.Object({
        timestamp: Type.Integer({ description: 'Seconds since 1970.' }),
        started: Type.Integer({ description: 'Seconds since 1970.' }),
        uptime: Type.Integer({ description: 'Seconds.' }),
        memory: Type.Integer({ description: 'Resident bytes of the process.' }),
        threads: Type.Integer({ description: 'Threads of the process; 0: unknown.' }),
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
      description: 'Last log lines, at most 256.',
      readOnly: true,
      request: Type.Object({
        count: Type.Integer({ minimum: 0, default: 0, description: 'Number of lines; 0: all.' }),
        since: Type.Integer({
          minimum: 0,
          default: 0,
          description: 'Maximum age in seconds; 0: unlimited.',
        }),
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
      description: 'Last calls, at most 256.',
      readOnly: true,
      request: Type.Object({
        id: Type.String({ default: '', description: 'Trace id; empty: all.' }),
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

/** Number of threads, from /proc on Linux. */
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

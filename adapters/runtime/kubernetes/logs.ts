import type { LogLine, LogQuery } from '../../../core/contracts/runtime.ts'
import { settlesWithin } from '../../../lib/async/timeout.ts'
import type { Cluster } from '../../kubernetes/cluster.ts'
import { explain, toRetryMs } from '../../kubernetes/failures.ts'
import { ApiError, get } from '../../kubernetes/request.ts'
import { toPath } from '../../kubernetes/resource.ts'
import {
  advance,
  compareStamps,
  createFilter,
  type Position,
  readStampedLines,
  type StampedLine,
} from './log-lines.ts'
import { CONTAINER } from './manifests.ts'
import { type NamespaceState, PODS } from './namespace-state.ts'
import type { Pod } from './objects.ts'

export interface LogsOptions {
  readonly space: NamespaceState
  readonly findCluster: () => Promise<Cluster>
  /** Id of the workload. */
  readonly id: string
}

/** Parameters of a log request. */
interface Part {
  readonly pod: string
  /** Whether to read the log of the previous container. */
  readonly previous?: boolean
  readonly follow?: boolean
  readonly tailLines?: number
  readonly sinceMs?: number
}

interface PodLine extends StampedLine {
  readonly pod: string
}

/** Maximum number of buffered lines; reading pauses when it is reached. */
const MAX_BUFFERED = 1000
const FIRST_RETRY_MS = 250
/** Statuses for a log that does not exist yet or no longer exists. */
const NO_LOG: ReadonlySet<number> = new Set([400, 404])

/**
 * Reads the log lines of a workload's pods: existing lines sorted by time, then new lines as they
 * arrive.
 */
export async function* readLogs(
  options: LogsOptions,
  { lines, sinceMs, follow, signal }: LogQuery,
): AsyncGenerator<LogLine> {
  const { space, id } = options
  const pods = await space.query(() => space.listPods(id))
  const positions = new Map<string, Position>()
  // Reads at least one line, which determines the position in each log.
  const parts = pods.flatMap((pod) => toParts(pod, { ...limitTo(lines), ...since(sinceMs) }))
  const last: PodLine[] = []
  try {
    for await (const line of merge(parts.map((part) => readPart(options, part, signal)))) {
      positions.set(line.pod, advance(positions.get(line.pod), line))
      if (sinceMs !== undefined && line.timestampMs < sinceMs) continue
      if (lines === undefined) yield toLogLine(line)
      else if (last.push(line) > lines) last.shift()
    }
    yield* last.map(toLogLine)
    if (follow) yield* followAll(options, positions, signal)
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

async function* followAll(
  options: LogsOptions,
  positions: ReadonlyMap<string, Position>,
  signal: AbortSignal,
): AsyncGenerator<LogLine> {
  const { space, id } = options
  const followed = new Set<string>()
  const aborter = new AbortController()
  const followSignal = AbortSignal.any([signal, aborter.signal])
  let buffered: PodLine[] = []
  let notifyLines = (): void => {}
  let notifyRoom = (): void => {}
  let room = Promise.resolve()

  const pump = async (pod: string): Promise<void> => {
    for await (const line of followPod(options, pod, positions.get(pod), followSignal)) {
      if (buffered.push(line) === MAX_BUFFERED)
        room = new Promise((resolve) => {
          notifyRoom = resolve
        })
      notifyLines()
      await room
    }
  }
  const followNew = (): void => {
    for (const { name } of space.listPods(id)) {
      if (followed.has(name)) continue
      followed.add(name)
      void pump(name).catch(() => {})
    }
  }

  const unwatch = space.onChange(id, followNew)
  const stop = (): void => {
    notifyLines()
    notifyRoom()
  }
  signal.addEventListener('abort', stop)
  try {
    followNew()
    while (!signal.aborted) {
      if (buffered.length === 0)
        await new Promise<void>((resolve) => {
          notifyLines = resolve
        })
      const lines = buffered.sort(compareStamps)
      buffered = []
      notifyRoom()
      yield* lines.map(toLogLine)
    }
  } finally {
    unwatch()
    signal.removeEventListener('abort', stop)
    aborter.abort()
    notifyRoom()
  }
}

/** Follows the log of a pod from a position across container restarts until the pod is deleted. */
async function* followPod(
  options: LogsOptions,
  pod: string,
  from: Position | undefined,
  signal: AbortSignal,
): AsyncGenerator<PodLine> {
  const { space, id } = options
  let position = from
  let failures = 0
  for (;;) {
    const found = space.listPods(id).find(({ name }) => name === pod)
    if (found === undefined || signal.aborted) return
    const changed = nextChange(space, id, signal)
    try {
      for (const part of toParts(found, since(position?.timestampMs))) {
        const isNew = createFilter(position)
        for await (const line of readPart(options, { ...part, follow: !part.previous }, signal)) {
          if (!isNew(line)) continue
          position = advance(position, line)
          failures = 0
          yield line
        }
      }
    } catch {
      // Retried below, because the API server may be unavailable.
    }
    const pauseMs = toRetryMs(undefined, failures++, FIRST_RETRY_MS)
    await settlesWithin(changed, pauseMs)
  }
}

async function* readPart(
  { findCluster }: LogsOptions,
  { pod, previous, follow, tailLines, sinceMs }: Part,
  signal: AbortSignal,
): AsyncGenerator<PodLine> {
  const query = new URLSearchParams({ container: CONTAINER, timestamps: 'true' })
  if (previous) query.set('previous', 'true')
  if (follow) query.set('follow', 'true')
  if (tailLines !== undefined) query.set('tailLines', `${tailLines}`)
  if (sinceMs !== undefined)
    query.set('sinceTime', new Date(sinceMs).toISOString().replace(/\.\d+/, ''))
  try {
    const cluster = await findCluster()
    const path = `${toPath(PODS, cluster.namespace, pod)}/log?${query}`
    for await (const lines of readStampedLines(await get(cluster, path, signal)))
      for (const line of lines) yield { ...line, pod }
  } catch (error) {
    if (error instanceof ApiError && NO_LOG.has(error.status)) return
    throw explain(error, { name: 'pods/log', group: '' }, { verb: 'read', verbs: 'get' })
  }
}

/** Returns requests for the logs of a pod's previous and current container. */
function toParts({ name, restarts }: Pod, limits: Partial<Part>): Part[] {
  const current: Part = { pod: name, ...limits }
  return restarts > 0 ? [{ ...current, previous: true }, current] : [current]
}

function limitTo(lines: number | undefined): Partial<Part> {
  return lines === undefined ? {} : { tailLines: Math.max(1, lines) }
}

function since(sinceMs: number | undefined): Partial<Part> {
  return sinceMs === undefined ? {} : { sinceMs }
}

/** Merges logs, each of which is sorted by time. */
async function* merge(logs: readonly AsyncGenerator<PodLine>[]): AsyncGenerator<PodLine> {
  const heads: { line: PodLine; log: AsyncGenerator<PodLine> }[] = []
  const add = async (log: AsyncGenerator<PodLine>): Promise<void> => {
    const { value, done } = await log.next()
    if (!done) heads.push({ line: value, log })
  }
  try {
    await Promise.all(logs.map(add))
    while (heads.length > 0) {
      const first = heads.reduce((a, b) => (compareStamps(b.line, a.line) < 0 ? b : a))
      yield first.line
      heads.splice(heads.indexOf(first), 1)
      await add(first.log)
    }
  } finally {
    for (const log of logs) await log.return(undefined)
  }
}

/** Resolves on the next change to the workload or on abort. */
function nextChange(space: NamespaceState, id: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      unwatch()
      signal.removeEventListener('abort', settle)
      resolve()
    }
    const unwatch = space.onChange(id, settle)
    signal.addEventListener('abort', settle)
  })
}

/** Returns stdout for every line, because a kubelet does not distinguish stdout and stderr. */
function toLogLine({ timestampMs, pod, text }: PodLine): LogLine {
  return { timestampMs, instance: pod, stream: 'stdout', text }
}

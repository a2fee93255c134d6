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
import { PODS, type Space } from './namespace-state.ts'
import type { Pod } from './objects.ts'

export interface LogsOptions {
  readonly space: Space
  readonly findCluster: () => Promise<Cluster>
  /** Id of the workload. */
  readonly id: string
}

/** What is asked of the log of a pod. */
interface Part {
  readonly pod: string
  /** Of the container before the one that runs. */
  readonly previous?: boolean
  readonly follow?: boolean
  readonly tailLines?: number
  readonly sinceMs?: number
}

/** A line, and the pod it is of. */
interface PodLine extends StampedLine {
  readonly pod: string
}

/** Lines that wait to be read; the rest waits where it is. */
const MAX_WAITING = 1000
const FIRST_RETRY_MS = 250
/** Answers that say that there is no log yet, or any more. */
const NO_LOG: ReadonlySet<number> = new Set([400, 404])

/** The lines of the pods of a workload: those there are in order of time, then as they come. */
export async function* readLogs(
  options: LogsOptions,
  { lines, sinceMs, follow, signal }: LogQuery,
): AsyncGenerator<LogLine> {
  const { space, id } = options
  const pods = await space.answer(() => space.listPods(id))
  const positions = new Map<string, Position>()
  // At least one: it says how far each log is.
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
  const ends = new AbortController()
  const end = AbortSignal.any([signal, ends.signal])
  let waiting: PodLine[] = []
  let tellLines = (): void => {}
  let tellRoom = (): void => {}
  let room = Promise.resolve()

  const pump = async (pod: string): Promise<void> => {
    for await (const line of followPod(options, pod, positions.get(pod), end)) {
      if (waiting.push(line) === MAX_WAITING)
        room = new Promise((resolve) => {
          tellRoom = resolve
        })
      tellLines()
      await room
    }
  }
  const begin = (): void => {
    for (const { name } of space.listPods(id)) {
      if (followed.has(name)) continue
      followed.add(name)
      void pump(name).catch(() => {})
    }
  }

  const unwatch = space.onChange(id, begin)
  const stop = (): void => {
    tellLines()
    tellRoom()
  }
  signal.addEventListener('abort', stop)
  try {
    begin()
    while (!signal.aborted) {
      if (waiting.length === 0)
        await new Promise<void>((resolve) => {
          tellLines = resolve
        })
      const lines = waiting.sort(compareStamps)
      waiting = []
      tellRoom()
      yield* lines.map(toLogLine)
    }
  } finally {
    unwatch()
    signal.removeEventListener('abort', stop)
    ends.abort()
    tellRoom()
  }
}

/** The log of a pod from a position on, over restarts of its container, until the pod is gone. */
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
      // Tried again below: the API server may be away.
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

/** What there is of a pod: of the container that ended last, and of the one that runs. */
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

/** Logs, each in order of time, as one. */
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

/** Resolves with the next change of the workload, or the signal. */
function nextChange(space: Space, id: string, signal: AbortSignal): Promise<void> {
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

/** A kubelet tells the two streams of a container as one. */
function toLogLine({ timestampMs, pod, text }: PodLine): LogLine {
  return { timestampMs, instance: pod, stream: 'stdout', text }
}

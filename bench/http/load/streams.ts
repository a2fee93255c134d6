import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { mx } from '../../rivals/mx.ts'
import { createHeapProbe, type HeapSample } from '../heap.ts'
import { startRival } from '../measure.ts'
import type { BenchOptions } from '../options.ts'
import { readOrigin, writeResult } from '../results.ts'
import { findScenario } from '../scenarios.ts'
import type { Backend } from '../servers/backend.ts'
import { createTick, SERVICE, TICK_MS } from '../servers/documents.ts'
import { createFolder, readUsage } from '../servers/processes.ts'

/** Enough messages to compile hot code and fill caches. */
const WARM_UP_MESSAGES = 100_000
/** Growth that counts as noise, caused by engine caches and timers. */
const HEAP_SLACK_BYTES = 1024 ** 2
/** Amount of garbage that may accumulate between collections. */
const PEAK_SLACK_BYTES = 64 * 1024 ** 2
const CHECK_MS = 100
/** Number of messages of the concurrent slow stream. */
const TICKS = 500
const LINE_FEED = 0x0a
const STALLED = 'with a concurrent stalled reader'

interface Sample extends HeapSample {
  readonly title: string
  readonly messagesPerSecond: number
  /** Resident memory of the gateway before the first message, after half of the messages, and after the last one. */
  readonly residentBytes: readonly [number, number, number]
  /** Peak resident memory during the stream. */
  readonly peakBytes: number
  /** Peak resident memory of the service. */
  readonly servicePeakBytes: number
}

/** Intervals between messages of the slow stream, in milliseconds. */
interface Gaps {
  readonly title: string
  readonly median: number
  readonly p99: number
  readonly longest: number
}

/**
 * Reads one stream of many messages through the gateway, first alone, then concurrently with a client that requests the
 * same stream but does not read it. Measures the memory of gateway and service, and the intervals of a concurrent slow
 * stream.
 *
 * @returns true if every message arrived and memory usage did not grow.
 */
export async function measureStreams(options: BenchOptions, backend: Backend): Promise<boolean> {
  const scenario = findScenario('rpc-stream')
  const { requests: messages, onStep } = options
  const folder = createFolder()
  const probe = createHeapProbe(folder)
  const running = await startRival(mx, scenario, backend, { wrap: probe.wrap })
  const { program, site } = running
  const toUrl = (count: number) => `http://127.0.0.1:${site.port}/${SERVICE}/stream?count=${count}`
  const measure = async (title: string, count: number): Promise<Sample> => {
    onStep(`streams: ${count} messages, ${title}`)
    const peaks = watchPeaks(program.pid, backend.servicePid)
    const residentBytes: number[] = [readUsage(program.pid).rssBytes]
    const startMs = performance.now()
    await readStream(toUrl(count), count, () => residentBytes.push(readUsage(program.pid).rssBytes))
    residentBytes.push(readUsage(program.pid).rssBytes)
    const messagesPerSecond = (count / (performance.now() - startMs)) * 1000
    const [peakBytes, servicePeakBytes] = peaks.stop()
    const sample = await probe.sample(program)
    return {
      ...{ title, messagesPerSecond, peakBytes, servicePeakBytes, ...sample },
      residentBytes: residentBytes as [number, number, number],
    }
  }
  const measureGaps = async (title: string): Promise<Gaps> => {
    onStep(`streams: ${TICKS} ticks, ${title}`)
    const url = `http://127.0.0.1:${site.port}/${SERVICE}/ticks?count=${TICKS}`
    return { title, ...toPercentiles(await readGaps(url)) }
  }
  try {
    const samples = [
      await measure('to warm up', WARM_UP_MESSAGES),
      await measure('alone', messages),
    ]
    const gaps = [await measureGaps('alone')]
    const stalled = await openStream(toUrl(messages))
    gaps.push(await measureGaps(STALLED))
    samples.push(await measure(STALLED, messages))
    if (stalled.complete || stalled.destroyed) throw new Error('the stalled stream has ended')
    stalled.destroy()
    return report({ samples, gaps, messages }, backend.describe(scenario))
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Opens a stream and reads only its start. */
async function openStream(url: string): Promise<IncomingMessage> {
  const request = get(url, { agent: false })
  const [reply] = (await once(request, 'response')) as [IncomingMessage]
  if (reply.statusCode !== 200) throw new Error(`${url} responded with ${reply.statusCode}`)
  return reply.on('error', () => {})
}

/**
 * @param onHalf called once after half of the messages have arrived.
 * @throws {Error} for a different number of messages or a wrong last message.
 */
async function readStream(url: string, count: number, onHalf: () => void): Promise<void> {
  const reply = await openStream(url)
  const last = `${JSON.stringify(createTick(count - 1))}\n`
  let lines = 0
  let tail = ''
  reply.on('data', (chunk: Buffer) => {
    const before = lines
    lines += countLines(chunk)
    if (before < count / 2 && lines >= count / 2) onHalf()
    tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - last.length))).slice(
      -last.length,
    )
  })
  await once(reply, 'close')
  if (lines !== count || tail !== last)
    throw new Error(`received ${lines} of ${count} messages, the last one ${tail}`)
}

function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}

/** @throws {Error} if a message is missing. */
async function readGaps(url: string): Promise<number[]> {
  const reply = await openStream(url)
  const gaps: number[] = []
  let lines = 0
  let lastMs = 0
  reply.on('data', (chunk: Buffer) => {
    const nowMs = performance.now()
    lines += countLines(chunk)
    if (lastMs > 0) gaps.push(nowMs - lastMs)
    lastMs = nowMs
  })
  await once(reply, 'close')
  if (lines !== TICKS) throw new Error(`received ${lines} of ${TICKS} ticks`)
  return gaps
}

function toPercentiles(gaps: number[]): Omit<Gaps, 'title'> {
  gaps.sort((a, b) => a - b)
  const at = (share: number) => gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))]!
  return { median: at(0.5), p99: at(0.99), longest: at(1) }
}

/** Samples the peak memory of processes. */
function watchPeaks(...pids: readonly number[]) {
  const peaks = pids.map(() => 0)
  const takeSample = () => {
    for (const [i, pid] of pids.entries()) peaks[i] = Math.max(peaks[i]!, readUsage(pid).rssBytes)
  }
  takeSample()
  const timer = setInterval(takeSample, CHECK_MS)
  return {
    stop(): [number, number] {
      clearInterval(timer)
      takeSample()
      return [peaks[0]!, peaks[1]!]
    },
  }
}

interface Measured {
  readonly samples: readonly Sample[]
  readonly gaps: readonly Gaps[]
  readonly messages: number
}

function report({ samples, gaps, messages }: Measured, description: string): boolean {
  const [before, ...after] = samples as [Sample, ...Sample[]]
  const passed = after.every(
    ({ heapBytes, peakBytes, servicePeakBytes }) =>
      heapBytes <= before.heapBytes + HEAP_SLACK_BYTES &&
      peakBytes <= before.peakBytes + PEAK_SLACK_BYTES &&
      servicePeakBytes <= before.servicePeakBytes + PEAK_SLACK_BYTES,
  )
  const toMiB = (bytes: number) => (bytes / 1024 ** 2).toFixed(1)
  const table = `${[
    `| stream of ${messages} messages | messages/s | resident at start, half, end, MiB | peak, MiB | heap after collection, MiB | peak of the service, MiB |`,
    '|---|--:|--:|--:|--:|--:|',
    ...samples.map(
      (each) =>
        `| ${each.title} | ${each.messagesPerSecond.toFixed(0)} | ${each.residentBytes.map(toMiB).join(', ')} | ${toMiB(each.peakBytes)} | ${toMiB(each.heapBytes)} | ${toMiB(each.servicePeakBytes)} |`,
    ),
    '',
    `| ${TICKS} messages, one every ${TICK_MS} ms | median interval, ms | p99, ms | max, ms |`,
    '|---|--:|--:|--:|',
    ...gaps.map(
      ({ title, median, p99, longest }) =>
        `| ${title} | ${[median, p99, longest].map((ms) => ms.toFixed(1)).join(' | ')} |`,
    ),
    '',
    passed ? 'Memory usage did not grow.' : '**Memory usage grew.**',
  ].join('\n')}\n`
  const title = 'Memory usage of a long stream'
  const path = writeResult(
    'streams',
    title,
    readOrigin('npm run bench --', description),
    { messages, samples, gaps, passed },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  return passed
}

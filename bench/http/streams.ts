import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { mx } from '../rivals/mx.ts'
import type { Backend } from './backend.ts'
import { createTick, SERVICE } from './documents.ts'
import { createHeapProbe, type HeapSample } from './heap.ts'
import { startRival } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { createFolder, readUsage } from './processes.ts'
import { readOrigin, writeResult } from './results.ts'
import { findScenario } from './scenarios.ts'

/** Code and caches have settled after this many. */
const WARM_UP_MESSAGES = 100_000
/** Growth that is noise: caches of the engine, a timer more. */
const HEAP_SLACK_BYTES = 1024 ** 2
/** What collections that are still to come may leave standing in between. */
const PEAK_SLACK_BYTES = 64 * 1024 ** 2
const LOOK_MS = 100
const LINE_FEED = 0x0a

interface Sample extends HeapSample {
  readonly title: string
  readonly messagesPerSecond: number
  /** Resident memory of the gateway while the stream ran. */
  readonly peakBytes: number
  /** The same of the service. */
  readonly servicePeakBytes: number
}

/**
 * Reads one stream of many messages through the gateway, and again beside a client that asked for as many and reads none
 * of them; looks at the memory of gateway and service.
 *
 * @returns whether every message arrived and the memory stayed flat.
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
    const startMs = performance.now()
    await readStream(toUrl(count), count)
    const messagesPerSecond = (count / (performance.now() - startMs)) * 1000
    const [peakBytes, servicePeakBytes] = peaks.stop()
    const sample = await probe.sample(program)
    return { title, messagesPerSecond, peakBytes, servicePeakBytes, ...sample }
  }
  try {
    const samples = [
      await measure('to warm up', WARM_UP_MESSAGES),
      await measure('alone', messages),
    ]
    const stalled = await openStream(toUrl(messages))
    samples.push(await measure('beside a reader that stands still', messages))
    if (stalled.complete || stalled.destroyed) throw new Error('the other stream has ended')
    stalled.destroy()
    return report(samples, messages, backend.describe(scenario))
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Opens a stream and reads no more than the start of it. */
async function openStream(url: string): Promise<IncomingMessage> {
  const request = get(url, { agent: false })
  const [reply] = (await once(request, 'response')) as [IncomingMessage]
  if (reply.statusCode !== 200) throw new Error(`${url} answered ${reply.statusCode}`)
  return reply.on('error', () => {})
}

/** @throws {Error} when it is not `count` messages, the right one last. */
async function readStream(url: string, count: number): Promise<void> {
  const reply = await openStream(url)
  const last = `${JSON.stringify(createTick(count - 1))}\n`
  let lines = 0
  let tail = ''
  reply.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(LINE_FEED); at !== -1; at = chunk.indexOf(LINE_FEED, at + 1))
      lines++
    tail = (tail + chunk.toString('latin1', Math.max(0, chunk.length - last.length))).slice(
      -last.length,
    )
  })
  await once(reply, 'close')
  if (lines !== count || tail !== last)
    throw new Error(`${lines} messages of ${count} arrived, the last one ${tail}`)
}

/** The most memory that processes are seen to have. */
function watchPeaks(...pids: readonly number[]) {
  const peaks = pids.map(() => 0)
  const look = () => {
    for (const [i, pid] of pids.entries()) peaks[i] = Math.max(peaks[i]!, readUsage(pid).rssBytes)
  }
  look()
  const timer = setInterval(look, LOOK_MS)
  return {
    stop(): [number, number] {
      clearInterval(timer)
      look()
      return [peaks[0]!, peaks[1]!]
    },
  }
}

function report(samples: readonly Sample[], messages: number, description: string): boolean {
  const [before, ...after] = samples as [Sample, ...Sample[]]
  const passed = after.every(
    ({ heapBytes, peakBytes, servicePeakBytes }) =>
      heapBytes <= before.heapBytes + HEAP_SLACK_BYTES &&
      peakBytes <= before.peakBytes + PEAK_SLACK_BYTES &&
      servicePeakBytes <= before.servicePeakBytes + PEAK_SLACK_BYTES,
  )
  const toMiB = (bytes: number) => (bytes / 1024 ** 2).toFixed(1)
  const table = `${[
    `| a stream of ${messages} messages | messages/s | heap after collection, MiB | peak resident, MiB | of the service, MiB |`,
    '|---|--:|--:|--:|--:|',
    ...samples.map(
      (each) =>
        `| ${each.title} | ${each.messagesPerSecond.toFixed(0)} | ${toMiB(each.heapBytes)} | ${toMiB(each.peakBytes)} | ${toMiB(each.servicePeakBytes)} |`,
    ),
    '',
    passed ? 'Memory stayed flat.' : '**Memory grew.**',
  ].join('\n')}\n`
  const title = 'Memory over a long stream'
  const path = writeResult(
    'streams',
    title,
    readOrigin('npm run bench --', description),
    { messages, samples, passed },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  return passed
}

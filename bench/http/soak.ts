import { rmSync } from 'node:fs'
import { mx } from '../rivals/mx.ts'
import { createHeapProbe, type HeapSample } from './heap.ts'
import { runWrk } from './load/wrk.ts'
import { startRival } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { readOrigin, writeResult } from './results.ts'
import { SCENARIOS } from './scenarios.ts'
import type { Backend } from './servers/backend.ts'
import { createFolder } from './servers/processes.ts'

/** Enough requests to compile hot code and fill caches. */
const WARM_UP_REQUESTS = 100_000
/** Growth that counts as noise, caused by engine caches and timers. */
const HEAP_SLACK_BYTES = 1024 ** 2
const FILES_SLACK = 4
const SLICE_SECONDS = 5

interface Sample extends HeapSample {
  readonly requests: number
}

/**
 * Sends many requests over 64 connections. Compares the heap size after garbage collection and the number of open files
 * before and after.
 *
 * @returns true if neither grew.
 */
export async function runSoak(options: BenchOptions, backend: Backend): Promise<boolean> {
  const folder = createFolder()
  const probe = createHeapProbe(folder)
  const scenario = SCENARIOS[0]!
  const running = await startRival(mx, scenario, backend, { wrap: probe.wrap })
  try {
    let requests = 0
    const sendUntil = async (total: number) => {
      while (requests < total) {
        options.onStep(`soak: ${requests} of ${total} requests`)
        requests += (
          await runWrk(
            running.url,
            scenario,
            options.connections,
            SLICE_SECONDS,
            running.site.folder,
          )
        ).requests
      }
      return { requests, ...(await probe.sample(running.program)) }
    }
    const before = await sendUntil(WARM_UP_REQUESTS)
    const after = await sendUntil(requests + options.requests)
    return report(before, after, backend)
  } finally {
    await running.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

function report(before: Sample, after: Sample, backend: Backend): boolean {
  const passed =
    after.heapBytes <= before.heapBytes + HEAP_SLACK_BYTES &&
    after.files <= before.files + FILES_SLACK
  const toMiB = (bytes: number) => (bytes / 1024 ** 2).toFixed(2)
  const row = ({ requests, heapBytes, rssBytes, files }: Sample) =>
    `| ${requests} | ${toMiB(heapBytes)} | ${toMiB(rssBytes)} | ${files} |`
  const table = `${[
    '| after requests | heap after collection, MiB | resident, MiB | open files |',
    '|--:|--:|--:|--:|',
    row(before),
    row(after),
    '',
    passed ? 'Heap and open files did not grow.' : '**Heap or open files grew.**',
  ].join('\n')}\n`
  const title = 'Memory and open files over many requests'
  const path = writeResult(
    'soak',
    title,
    readOrigin('npm run bench --', backend.describe(SCENARIOS[0]!)),
    { before, after, passed },
    table,
  )
  process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
  return passed
}

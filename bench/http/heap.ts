import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { toNodeCommand } from '../rivals/rival.ts'
import { type Program, readUsage } from './servers/processes.ts'

/** Memory and open files of a Node.js program. */
export interface HeapSample {
  /** Memory after garbage collection, including memory outside the heap. */
  readonly heapBytes: number
  readonly rssBytes: number
  readonly files: number
}

/** Samples the heap of a Node.js program. */
export interface HeapProbe {
  /** Returns the command with the probe loaded (heap-probe.ts). */
  readonly wrap: (command: readonly string[]) => readonly string[]
  /** @throws {Error} if the program does not respond. */
  readonly sample: (program: Program) => Promise<HeapSample>
}

/** Longer than the keep-alive timeout of backend connections, 4 s. */
const SETTLE_MS = 5000

/** @param folder folder for the probe's files. */
export function createHeapProbe(folder: string): HeapProbe {
  const file = join(folder, 'heap.json')
  const probe = toNodeCommand('http/heap-probe').at(-1)!
  const loader = probe.endsWith('.ts') ? '--import tsx ' : ''
  return {
    wrap: (command) => [
      'env',
      `NODE_OPTIONS=${loader}--import ${probe}`,
      `BENCH_HEAP_FILE=${file}`,
      ...command,
    ],
    async sample(program) {
      await wait(SETTLE_MS)
      rmSync(file, { force: true })
      process.kill(program.pid, 'SIGUSR2')
      for (let tries = 0; !existsSync(file); tries++) {
        if (tries > 200) throw new Error(`no response from the heap probe: ${program.output()}`)
        await wait(50)
      }
      await wait(50)
      const { heapUsed, external } = JSON.parse(readFileSync(file, 'utf8')) as {
        heapUsed: number
        external: number
      }
      const { rssBytes, files } = readUsage(program.pid)
      return { heapBytes: heapUsed + external, rssBytes, files }
    },
  }
}
